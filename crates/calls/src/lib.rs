//! The calls that a program is in, on machines whose programs keep return addresses themselves.
//!
//! Such machines have no frames: a call is a jump that leaves an address behind, and a return is a
//! jump to it. A machine reports both here, so that a debugger can step over calls and out of them.
//! Nothing that a program does depends on it, so two states that differ here alone are equal.

use std::collections::VecDeque;

use simt::Pc;

/// Calls that are remembered; of deeper recursion the outermost ones are forgotten.
const MOST: usize = 4096;

/// Return addresses of the calls that have not returned, the outermost first.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    back: VecDeque<u64>,
}

impl PartialEq for Calls {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Calls {}

impl Calls {
    /// A call that returns to `back`.
    pub fn enter(&mut self, back: u64) {
        if self.back.len() == MOST {
            self.back.pop_front();
        }
        self.back.push_back(back);
    }

    /// A jump that may be a return: it ends the innermost call that returns to `target`, and those
    /// inside it, whose functions were left otherwise. Changes nothing if there is none.
    pub fn leave(&mut self, target: u64) {
        if let Some(index) = self.back.iter().rposition(|&back| back == target) {
            self.back.truncate(index);
        }
    }

    /// The places of the frames, the innermost first: `pc`, then those to which calls return.
    #[must_use]
    pub fn frames(&self, pc: u64) -> Vec<Pc> {
        std::iter::once(pc).chain(self.back.iter().rev().copied()).map(Pc).collect()
    }

    /// Bytes that a copy takes, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self) + self.back.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(calls: &Calls) -> Vec<u64> {
        calls.frames(0).iter().skip(1).map(|pc| pc.0).collect()
    }

    #[test]
    fn a_return_ends_the_innermost_call_to_its_target() {
        let mut calls = Calls::default();
        for back in [8, 16, 16, 24] {
            calls.enter(back);
        }
        calls.leave(24);
        assert_eq!(frames(&calls), [16, 16, 8]);
        calls.leave(16);
        assert_eq!(frames(&calls), [16, 8]);
        // A jump elsewhere is no return; one to an outer call leaves those inside it.
        calls.leave(32);
        assert_eq!(frames(&calls), [16, 8]);
        calls.leave(8);
        assert!(frames(&calls).is_empty());
    }

    #[test]
    fn endless_recursion_forgets_the_outermost_calls() {
        let mut calls = Calls::default();
        for back in 0..MOST as u64 + 5 {
            calls.enter(back);
        }
        assert_eq!(frames(&calls).len(), MOST);
        assert_eq!(frames(&calls).last(), Some(&5));
        assert!(calls == Calls::default());
    }
}
