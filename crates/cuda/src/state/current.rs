//! The stack of contexts of each thread.

use std::cell::RefCell;

thread_local! {
    /// This thread's stack of contexts; the last one is current, and 0 stands for none.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Returns the handle of this thread's context, or 0 for none.
pub(crate) fn top() -> u64 {
    CURRENT.with_borrow(|stack| stack.last().copied().unwrap_or(0))
}

/// Pushes a context on this thread's stack.
pub(crate) fn push(context: u64) {
    CURRENT.with_borrow_mut(|stack| stack.push(context));
}

/// Pops this thread's context; returns 0 if there is none.
pub(crate) fn pop() -> u64 {
    CURRENT.with_borrow_mut(Vec::pop).unwrap_or(0)
}

/// Replaces this thread's context; 0 only removes it.
pub(crate) fn set_top(context: u64) {
    pop();
    if context != 0 {
        push(context);
    }
}
