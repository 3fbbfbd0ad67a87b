//! Copies from global to shared memory.

use super::live::homes_of;
use super::memory::has_address;
use super::step::On;
use super::{Translator, Untranslated};
use crate::function::{Condition, Type, Value};
use crate::op::{Copy, Home, LaneOp, MaskOp, Op, Shape};
use fast::code::{self, Kind, Src};
use fast::ops::{Rel, Test};

/// Returns the row that the interpreter reads nothing but source addresses from.
fn source_row(copy: &code::Copy) -> Option<Home> {
    let Src::Wide(row) = copy.from.address else { return None };
    let mut is_other = false;
    for &src in std::iter::once(&copy.to.address).chain(&copy.bytes) {
        homes_of(src, &mut |home| is_other |= home == Home::Wide(row));
    }
    (!is_other).then_some(Home::Wide(row))
}

impl Translator<'_> {
    pub(super) fn copy(
        &mut self,
        copy: &code::Copy,
        kind: &Kind,
        on: On,
    ) -> Result<(), Untranslated> {
        if !has_address(self.code, self.detailed, &copy.from) {
            return self.interpret(kind, on);
        }
        let Some(bytes) = copy.bytes else {
            self.copy_of(copy, kind, on.lanes, on.lanes);
            return Ok(());
        };
        let (read, odd) = self.lanes_that_read(copy, bytes, on.lanes);
        let (slow, fast) = self.branch(Condition::Any(odd));
        let done = self.function.add_block();
        self.block = slow;
        self.interpret(kind, on)?;
        self.jump(done);
        self.block = fast;
        self.copy_of(copy, kind, on.lanes, read);
        self.jump(done);
        self.block = done;
        Ok(())
    }

    /// Returns the lanes that read as much as they write, and those that read some of it, or
    /// nothing from where no copy may begin: these are left to the interpreter.
    fn lanes_that_read(&mut self, copy: &code::Copy, bytes: Src, lanes: Value) -> (Value, Value) {
        const TY: Type = Type::Row32;
        let count = self.row32(bytes);
        let size = self.constant(copy.size.into(), TY);
        let zero = self.constant(0, TY);
        let all = self.one(Op::Test(Test::U(Rel::Ge)), &[count, size], Type::Mask);
        let read = self.one(Op::Mask(MaskOp::And), &[lanes, all], Type::Mask);
        let rest = self.one(Op::Mask(MaskOp::AndNot), &[lanes, all], Type::Mask);
        let some = self.one(Op::Test(Test::U(Rel::Ne)), &[count, zero], Type::Mask);
        let address = self.row32(copy.from.address);
        let offset = self.constant(copy.from.offset as u64 & 0xffff_ffff, TY);
        let address = self.lanes(LaneOp::Add, &[address, offset], TY);
        let low = self.constant(u64::from(copy.size) - 1, TY);
        let low = self.lanes(LaneOp::And, &[address, low], TY);
        let misaligned = self.one(Op::Test(Test::U(Rel::Ne)), &[low, zero], Type::Mask);
        let odd = self.one(Op::Mask(MaskOp::Or), &[some, misaligned], Type::Mask);
        let odd = self.one(Op::Mask(MaskOp::And), &[rest, odd], Type::Mask);
        (read, odd)
    }

    fn copy_of(&mut self, copy: &code::Copy, kind: &Kind, lanes: Value, read: Value) {
        let (mut step, mut operands) = self.interpreted(kind);
        let row = source_row(copy);
        if let Some(at) = step.operands.iter().position(|&home| Some(home) == row) {
            step.operands.remove(at);
            operands.remove(at);
        }
        let (from, to) = (self.row64(copy.from.address), self.shared_row(&copy.to));
        let source = (Shape::Any, copy.from.offset, row);
        let op = Op::Copy(Box::new(Copy::new(step, copy.size as u8, source, copy.to.offset)));
        let args: Vec<Value> = [lanes, read, from, to].into_iter().chain(operands).collect();
        self.effect(op, &args);
    }
}
