//! Counters.

use super::Selector;
use crate::counters::IssueSpan;
use crate::frame::{BLOCK_COUNTERS, Frame};
use crate::histograms::{CELLS, IssueCells, LEVELS};
use crate::vcode::{Mem, Part, VReg, View};
use iced_x86::Code as Op;
use vector::{BlockCounts, Counter, Value};

impl Selector<'_> {
    fn add_constant(&mut self, to: Mem, by: u32) {
        if by == 1 {
            self.f.effect(Op::Inc_rm64, (to,));
        } else {
            self.f.effect(Op::Add_rm64_imm32, (to, by as i32));
        }
    }

    pub(super) fn add_constant_to(&mut self, counter: Counter, by: u32) {
        self.add_constant(Mem::frame(Frame::of(counter)), by);
    }

    pub(super) fn add_scalar(&mut self, counter: Counter, by: Value) {
        match self.known(by) {
            Some(0) => {}
            Some(by) => self.add_constant(Mem::frame(Frame::of(counter)), by as u32),
            None => {
                let by = self.s(by);
                self.f.effect(Op::Add_rm64_r64, (Mem::frame(Frame::of(counter)), by));
            }
        }
    }

    /// Counts a block: one addition for its executions and lanes.
    pub(super) fn count(&mut self, counts: BlockCounts, args: &[Value]) {
        let BlockCounts { block, first, depth, .. } = counts;
        if counts == (BlockCounts { block, first, depth, ..BlockCounts::default() }) {
            return;
        }
        let index = self.counts.len();
        self.counts.push(counts);
        let population = self.s(args[0]);
        let cell = match index.checked_sub(BLOCK_COUNTERS) {
            None => Mem::frame(Frame::BLOCK_COUNTERS + 8 * index as i64),
            Some(index) => {
                let more = Mem::frame(Frame::MORE_BLOCK_COUNTERS);
                let more = self.f.def(Op::Mov_r64_rm64, View::R64, (more,));
                Mem::at(more, 8 * index as i64)
            }
        };
        self.f.effect(Op::Add_rm64_r64, (cell, population));
        if self.reads_clock && counts.issues > 0 {
            let times = self.f.alu(Op::Shr_rm64_imm8, View::R64, population, (32,));
            let each = self.f.constant(counts.issues.into());
            let issues = self.f.alu(Op::Imul_r64_rm64, View::R64, times, (each,));
            self.f.effect(Op::Add_rm64_r64, (Mem::frame(Frame::CLOCK), issues));
        }
        if self.detailed && counts.issues > 0 {
            self.count_issues(counts, population, &args[1..]);
        }
    }

    /// The issues of the CTA, less those that have been counted in advance.
    pub(super) fn clock(&mut self, ahead: u32, result: Option<Value>) {
        let counted = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::CLOCK),));
        let clock = self.f.alu(Op::Sub_rm64_imm32, View::R64, counted, (ahead as i32,));
        self.put_scalar(result, clock);
    }

    /// Counts an execution by its number of active lanes, for launches in detail.
    fn count_issues(&mut self, counts: BlockCounts, population: VReg, depths: &[Value]) {
        let (levels, depths) = self.sum_of(counts.depth, depths);
        let BlockCounts { block, first, issues, .. } = counts;
        let (first, issues) = (first as usize, issues as usize);
        let cells = 8 * (CELLS * self.issue_cells.len()) as i64;
        self.issue_cells.push(IssueCells { span: IssueSpan { block, first, issues }, levels });
        let histograms = Mem::frame(Frame::HISTOGRAMS);
        let histograms = self.f.def(Op::Mov_r64_rm64, View::R64, (histograms,));
        let lanes = self.f.int(Op::Mov_r32_rm32, View::R32, (population.d(),));
        self.f.effect(Op::Inc_rm64, (Mem::at(histograms, cells).index(lanes, 8),));
        if let Some(depths) = depths {
            let sum = Mem::at(histograms, cells + 8 * LEVELS as i64);
            self.f.effect(Op::Add_rm64_r64, (sum, depths));
        }
    }

    pub(super) fn count_off(&mut self, step: u32, args: &[Value]) {
        let off = self.difference(args);
        self.f.effect(Op::Add_rm64_r64, (Mem::frame(Frame::OFF), off));
        if self.detailed {
            self.count_off_at(step, off);
        }
    }

    pub(super) fn count_end_off(&mut self, steps: u32, args: &[Value]) {
        if self.detailed {
            let off = self.difference(args);
            self.count_off_at(steps, off);
        }
    }

    fn difference(&mut self, args: &[Value]) -> VReg {
        let (all, on) = (self.s(args[0]), self.s(args[1]));
        self.f.alu(Op::Sub_r64_rm64, View::R64, all, (on,))
    }

    fn count_off_at(&mut self, index: u32, off: VReg) {
        let list = Mem::frame(Frame::GUARDED_OFF);
        let list = self.f.def(Op::Mov_r64_rm64, View::R64, (list,));
        self.f.effect(Op::Add_rm64_r64, (Mem::at(list, 8 * i64::from(index)), off));
    }

    pub(super) fn population(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s(bits);
        let count = self.f.int(Op::Popcnt_r32_rm32, View::R32, (bits,));
        let count = self.f.alu(Op::Bts_rm64_imm8, View::R64, count, (32,));
        self.put_scalar(result, count);
    }

    pub(super) fn population_if_any(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s(bits);
        let count = self.f.int(Op::Popcnt_r32_rm32, View::R32, (bits,));
        let any = self.nonzero(bits);
        let any = self.f.alu(Op::Shl_rm64_imm8, View::R64, any, (32,));
        let sum = self.f.alu(Op::Or_r64_rm64, View::R64, count, (any,));
        self.put_scalar(result, sum);
    }

    pub(super) fn lowest_bit(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s(bits);
        let lane = self.f.int(Op::Tzcnt_r32_rm32, View::R32, (bits,));
        self.put_scalar(result, lane);
    }

    /// The lanes of the warp that have not ended.
    pub(super) fn live(&mut self, result: Option<Value>) {
        let context = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),));
        let live = Mem::at(context, crate::warp_context::WarpContext::LIVE);
        let live = self.f.def(Op::Mov_r32_rm32, View::R32, (live,));
        self.put_scalar(result, live);
    }

    pub(super) fn is_nonzero(&mut self, bits: Value, result: Option<Value>) {
        let bits = self.s(bits);
        let any = self.nonzero(bits);
        self.put_scalar(result, any);
    }

    pub(super) fn nonzero(&mut self, bits: VReg) -> VReg {
        let mut p = self.f.pseudo();
        let to = p.output(View::R32);
        p.op(Op::Test_rm64_r64, (bits, bits));
        p.op(Op::Setne_rm8, (to.b(),));
        p.op(Op::Movzx_r32_rm8, (to.d(), to.b()));
        p.end();
        to
    }

    /// Returns a sum as its constant part and the sum of its other parts, if there are any.
    fn sum_of(&mut self, known: u32, values: &[Value]) -> (u32, Option<VReg>) {
        let (mut known, mut sum) = (known, None);
        for &value in values {
            if let Some(bits) = self.known(value) {
                known += bits as u32;
                continue;
            }
            let value = self.s(value);
            sum = Some(match sum {
                Some(sum) => self.f.alu(Op::Add_r64_rm64, View::R64, sum, (value,)),
                None => value,
            });
        }
        (known, sum)
    }

    /// Raises a counter of the frame to a sum.
    pub(super) fn raise(&mut self, counter: i64, known: u32, values: &[Value]) {
        let (known, sum) = self.sum_of(known, values);
        let height = match sum {
            Some(sum) if known == 0 => sum,
            Some(sum) => self.f.lea(Mem::at(sum, known.into())),
            None => self.f.constant(known.into()),
        };
        let place = Mem::frame(counter);
        let mut p = self.f.pseudo();
        let done = p.label();
        p.int(Op::Cmp_rm64_r64, View::R64, (place, height));
        p.jump(Op::Jae_rel32_64, done);
        p.int(Op::Mov_rm64_r64, View::R64, (place, height));
        p.bind(done);
        p.end();
    }
}
