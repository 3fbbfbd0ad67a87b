//! Counters.

use super::{Lowering, Val};
use crate::frame::{BLOCK_COUNTERS, Frame};
use crate::warp_context::WarpContext;
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use vector::{BlockCounts, Counter, Value};

impl Lowering<'_> {
    pub(super) fn add_constant_to(&mut self, counter: Counter, by: u32) {
        let by = self.iconst(by.into());
        self.add_to(by, self.frame, Frame::of(counter));
    }

    pub(super) fn add_scalar(&mut self, counter: Counter, by: Value) {
        if self.known(by) != Some(0) {
            let by = self.s(by);
            self.add_to(by, self.frame, Frame::of(counter));
        }
    }

    /// Counts a block: one addition for its executions and lanes.
    pub(super) fn count(&mut self, counts: BlockCounts, args: &[Value]) {
        let BlockCounts { block, first, depth, .. } = counts;
        if counts == (BlockCounts { block, first, depth, ..BlockCounts::default() }) {
            return;
        }
        let index = self.lowered.counts.len();
        self.lowered.counts.push(counts);
        let population = self.s(args[0]);
        match index.checked_sub(BLOCK_COUNTERS) {
            None => self.add_to(population, self.frame, Frame::BLOCK_COUNTERS + 8 * index as i64),
            Some(index) => {
                let more = self.field64(Frame::MORE_BLOCK_COUNTERS);
                self.add_to(population, more, 8 * index as i64);
            }
        }
        if self.reads_clock && counts.issues > 0 {
            let times = self.b.ins().ushr_imm_u(population, 32);
            let issues = self.b.ins().imul_imm_u(times, i64::from(counts.issues));
            self.add_to(issues, self.frame, Frame::CLOCK);
        }
    }

    /// The issues of the CTA, less those that have been counted in advance.
    pub(super) fn clock(&mut self, ahead: u32, result: Option<Value>) {
        let counted = self.field64(Frame::CLOCK);
        let clock = self.b.ins().iadd_imm_s(counted, -i64::from(ahead));
        self.put_scalar(result, clock);
    }

    pub(super) fn count_off(&mut self, args: &[Value]) {
        let (all, on) = (self.s(args[0]), self.s(args[1]));
        let off = self.b.ins().isub(all, on);
        self.add_to(off, self.frame, Frame::OFF);
    }

    pub(super) fn population(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s32(bits);
        let count = self.b.ins().popcnt(bits);
        let count = self.widened(count);
        let one = self.iconst(1 << 32);
        let count = self.b.ins().bor(count, one);
        self.put_scalar(result, count);
    }

    pub(super) fn population_if_any(&mut self, bits: Value, result: Option<Value>) {
        let whole = self.s(bits);
        let bits = self.low_word(whole);
        let count = self.b.ins().popcnt(bits);
        let count = self.widened(count);
        let any = self.b.ins().icmp_imm_s(IntCC::NotEqual, whole, 0);
        let any = self.widened(any);
        let any = self.b.ins().ishl_imm_u(any, 32);
        let sum = self.b.ins().bor(count, any);
        self.put_scalar(result, sum);
    }

    pub(super) fn lowest_bit(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s32(bits);
        let lane = self.b.ins().ctz(bits);
        self.put_scalar(result, lane);
    }

    /// The lanes of the warp that have not ended.
    pub(super) fn live(&mut self, result: Option<Value>) {
        let live = self.load32(self.context, WarpContext::LIVE);
        self.put_scalar(result, live);
    }

    pub(super) fn is_nonzero(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s(bits);
        let any = self.b.ins().icmp_imm_s(IntCC::NotEqual, bits, 0);
        self.put_scalar(result, any);
    }

    /// Raises a counter of the frame to a number plus a sum.
    pub(super) fn raise(&mut self, counter: i64, known: u32, values: &[Value]) {
        let mut sum: Val = self.iconst(known.into());
        for &value in values {
            let value = self.s(value);
            sum = self.b.ins().iadd(sum, value);
        }
        let old = self.field64(counter);
        let most = self.b.ins().umax(old, sum);
        self.put_at(most, self.frame, counter);
    }
}
