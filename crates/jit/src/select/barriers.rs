//! Barriers of all threads of the CTA.

use super::Selector;
use crate::frame::Frame;
use crate::vcode::{Mem, Part, StubArgument, VReg, View};
use crate::warp_context::{BarrierState, WarpContext};
use iced_x86::Code as Op;
use ir::mods;
use vector::{Barrier, Value};

impl Selector<'_> {
    /// The lanes of the second argument arrive at the barrier with the number of the third. The
    /// warp waits, unless it is the last one.
    pub(super) fn barrier(&mut self, barrier: &Barrier, args: &[Value], result: Option<Value>) {
        let (point, recorded) = self.point(&barrier.standing, &args[4..]);
        let running = self.mask_bits(args[0]);
        let lanes = if args[1] == args[0] { running } else { self.mask_bits(args[1]) };
        let known = self.known(args[2]);
        let number = known.is_none().then(|| self.s(args[2]));
        // The barrier's number, counted from 1.
        let name = match (known, number) {
            (Some(id), _) => StubArgument::Imm(id as u32 + 1),
            (None, Some(id)) => StubArgument::Reg(self.f.lea(Mem::at(id, 1))),
            (None, None) => StubArgument::Imm(0),
        };
        let holding = match self.known(args[3]) {
            Some(0) => None,
            _ => Some(self.holding(args[3], lanes)),
        };
        let of = |state: VReg, field: i64| match (known, number) {
            (Some(id), _) => Mem::at(state, field + 4 * id as i64),
            (None, Some(id)) => Mem::at(state, field).index(id, 4),
            (None, None) => Mem::at(state, field),
        };
        let (barrier_wait, release) = (self.outside.barrier_wait, self.outside.release);
        let mut p = self.f.pseudo();
        let (complete, back) = (p.label(), p.label());
        let state = p.temp(View::R64);
        let count = p.temp(View::R64);
        let (context, sum) = (p.temp(View::R64), p.temp(View::R64));
        p.op(Op::Mov_r64_rm64, (state, Mem::frame(Frame::BARRIER_STATE)));
        p.op(Op::Inc_rm64, (Mem::frame(Frame::ARRIVALS),));
        p.op(Op::Popcnt_r32_rm32, (count.d(), lanes.d()));
        p.op(Op::Add_r32_rm32, (count.d(), of(state, BarrierState::ARRIVED)));
        if let Some(holding) = holding {
            p.op(Op::Add_rm32_r32, (of(state, BarrierState::HOLDING), holding.d()));
        }
        p.op(Op::Cmp_r32_rm32, (count.d(), Mem::at(state, BarrierState::LIVE)));
        p.jump(Op::Jae_rel32_64, complete);
        p.op(Op::Mov_rm32_r32, (of(state, BarrierState::ARRIVED), count.d()));
        p.op(Op::Inc_rm32, (Mem::at(state, BarrierState::WAITING),));
        let block = StubArgument::Imm(barrier.standing.block);
        let arguments = [block, StubArgument::Reg(running), StubArgument::Imm(point), name];
        p.switch(barrier_wait, &arguments, point, &recorded);
        p.bind(back);
        p.out_of_line();
        p.bind(complete);
        p.op(Op::Mov_r32_rm32, (sum.d(), of(state, BarrierState::HOLDING)));
        p.op(Op::Mov_rm32_imm32, (of(state, BarrierState::ARRIVED), 0));
        p.op(Op::Mov_rm32_imm32, (of(state, BarrierState::HOLDING), 0));
        if result.is_some() {
            p.op(Op::Mov_r64_rm64, (context, Mem::frame(Frame::WARP)));
            p.op(Op::Mov_rm32_r32, (Mem::at(context, WarpContext::BARRIER_LANES), count.d()));
            p.op(Op::Mov_rm32_r32, (Mem::at(context, WarpContext::BARRIER_HOLDING), sum.d()));
        }
        p.call(release, &[name, StubArgument::Reg(count), StubArgument::Reg(sum)], &[]);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        if result.is_some() {
            let value = self.barrier_result(barrier.kind);
            self.put_scalar(result, value);
        }
    }

    /// Returns the number of arriving lanes in which a predicate holds.
    fn holding(&mut self, predicate: Value, lanes: VReg) -> VReg {
        let bits = self.mask_bits(predicate);
        let bits = self.f.alu(Op::And_r32_rm32, View::R32, bits, (lanes,));
        self.f.int(Op::Popcnt_r32_rm32, View::R32, (bits,))
    }

    /// Returns the result of the barrier that has been completed.
    fn barrier_result(&mut self, kind: mods::Barrier) -> VReg {
        let context = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),));
        let holding = Mem::at(context, WarpContext::BARRIER_HOLDING);
        let holding = self.f.int(Op::Mov_r32_rm32, View::R32, (holding,));
        let lanes = Mem::at(context, WarpContext::BARRIER_LANES);
        let (set, than) = match kind {
            mods::Barrier::RedPopc => return holding,
            mods::Barrier::RedAnd => {
                let lanes = self.f.int(Op::Mov_r32_rm32, View::R32, (lanes,));
                (Op::Sete_rm8, lanes)
            }
            _ => (Op::Setne_rm8, self.f.constant(0)),
        };
        let mut p = self.f.pseudo();
        let to = p.output(View::R32);
        p.op(Op::Cmp_r32_rm32, (holding.d(), than.d()));
        p.op(set, (to.b(),));
        p.op(Op::Movzx_r32_rm8, (to.d(), to.b()));
        p.end();
        to
    }
}
