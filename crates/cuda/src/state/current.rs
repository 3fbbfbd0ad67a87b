//! The stack of contexts of each thread.

use std::cell::RefCell;
use std::mem::{ManuallyDrop, take};

/// A stack of contexts; 0 stands for none. It is never destroyed: destructors of a C++ program call
/// this library when the thread's variables are gone. A thread that ends with one context leaks
/// nothing.
struct Stack {
    top: Option<u64>,
    below: ManuallyDrop<Vec<u64>>,
}

impl Stack {
    fn push(&mut self, context: u64) {
        self.below.extend(self.top.replace(context));
    }

    fn pop(&mut self) -> Option<u64> {
        let top = self.top.take();
        self.top = self.below.pop();
        if self.below.is_empty() {
            drop(take(&mut *self.below));
        }
        top
    }
}

thread_local! {
    /// This thread's stack of contexts; the last one is current.
    static CURRENT: RefCell<Stack> =
        const { RefCell::new(Stack { top: None, below: ManuallyDrop::new(Vec::new()) }) };
}

/// Returns the handle of this thread's context, or 0 for none.
pub(crate) fn top() -> u64 {
    CURRENT.with_borrow(|stack| stack.top.unwrap_or(0))
}

/// Pushes a context on this thread's stack.
pub(crate) fn push(context: u64) {
    CURRENT.with_borrow_mut(|stack| stack.push(context));
}

/// Pops this thread's context; returns 0 if there is none.
pub(crate) fn pop() -> u64 {
    CURRENT.with_borrow_mut(Stack::pop).unwrap_or(0)
}

/// Replaces this thread's context; 0 only removes it.
pub(crate) fn set_top(context: u64) {
    pop();
    if context != 0 {
        push(context);
    }
}
