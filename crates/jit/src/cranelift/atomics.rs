//! Atomic operations and copies, which the interpreter executes.

use super::Lowering;
use vector::{Atomic, Copy, Value};

impl Lowering<'_> {
    /// An atomic operation of each lane.
    pub(super) fn atomic(&mut self, atomic: &Atomic, args: &[Value], results: &[Value]) {
        self.only_interpreted(&atomic.access, args, results);
    }

    /// What atomic operations of all lanes on one word amount to: they are executed one by one.
    pub(super) fn atomic_total(&mut self, atomic: &Atomic, args: &[Value]) {
        self.only_interpreted(&atomic.access, args, &[]);
    }

    /// A copy from global to shared memory.
    pub(super) fn copy(&mut self, copy: &Copy, args: &[Value]) {
        self.lowered.left.push(copy.from.step.step);
        let lanes = self.mask(args[0]);
        // The mask of the lanes that read, the addresses, and the operands of the step.
        self.store_operands(&copy.from, &args[1..]);
        self.call_step(copy.from.step.step, 0, lanes);
    }
}
