//! Copies from global to shared memory, lane by lane in increasing order.
//!
//! Both places of all lanes are checked before any byte is written. Shared memory is where it is:
//! if a check there fails, the interpreter does not allow the access either.

use super::atomics::Places;
use super::{call_step, each_lane};
use crate::frame::Frame;
use crate::select::Selector;
use crate::vcode::{Mem, Part, Pseudo, VReg, View};
use fast::Level;
use iced_x86::Code as Op;
use vector::{Copy, Value};

use View::R64;

impl Selector<'_> {
    /// Selects a copy.
    pub(in crate::select) fn copy(&mut self, copy: &Copy, args: &[Value]) {
        let (lanes, read) = (args[0], args[1]);
        let (source, rest) = args[2..].split_at(copy.from.shape.operands());
        let (target, operands) = rest.split_at(copy.to.shape.operands());
        let of = |mask: Value, address: &[Value]| [&[mask][..], address, operands].concat();
        let (from_args, to_args) = (of(read, source), of(lanes, target));
        if self.detailed || self.code.screened.is_some() {
            return self.copy_by_interpreter(copy, &from_args, lanes);
        }
        let mut fallback = self.fallback(&copy.from, &from_args);
        fallback.lanes = self.mask(lanes);
        let Some(from) = self.level(|l| l.places(&copy.from, &from_args, fallback, 0)) else {
            return;
        };
        let fallback = self.fallback(&copy.to, &to_args);
        let Some(to) = self.level(|l| l.places(&copy.to, &to_args, fallback, 1)) else { return };
        let reads = (read != lanes).then(|| self.mask_bits(read));
        let zero = Mem::pool(self.pool.vector([0; 8]));
        let moves = self.moves(copy.from.word);
        let mut p = self.f.pseudo();
        let [left, lane, place] = [(); 3].map(|()| p.temp(R64));
        let zero_at = reads.map(|_| p.temp(R64));
        let word = p.temp(if copy.from.word == 16 { View::V } else { R64 });
        // None if the interpreter has executed the step.
        p.op(Op::Xor_r32_rm32, (left.d(), left.d()));
        p.op(Op::Test_rm32_r32, (from.interpreted.d(), from.interpreted.d()));
        p.op(Op::Cmove_r32_rm32, (left.d(), to.lanes.d()));
        p.op(Op::Mov_rm32_imm32, (Mem::frame(Frame::PROGRESS), 1));
        if let Some(zero_at) = zero_at {
            p.op(Op::Lea_r64_m, (zero_at, zero));
        }
        each_lane(&mut p, left, lane, |p| {
            let at = |p: &mut Pseudo<'_>, places: &Places| {
                places.take(p, place, |room, bytes| room.index(lane, bytes));
                Mem::at(places.from, 0).index(place, places.scale)
            };
            let mut source = at(p, &from);
            if let (Some(reads), Some(zero_at)) = (reads, zero_at) {
                p.op(Op::Lea_r64_m, (place, source));
                p.op(Op::Bt_rm32_r32, (reads.d(), lane.d()));
                p.op(Op::Cmovae_r64_rm64, (place, zero_at));
                source = Mem::at(place, 0);
            }
            moves.load(p, word, source);
            let target = at(p, &to);
            moves.store(p, target, word);
        });
        p.end();
    }

    /// Leaves a copy to the interpreter, which reports both accesses of launches in detail.
    fn copy_by_interpreter(&mut self, copy: &Copy, args: &[Value], lanes: Value) {
        let mut fallback = self.fallback(&copy.from, args);
        fallback.lanes = self.mask(lanes);
        fallback.noted = false;
        let source = copy.from.row.filter(|_| self.has_numbers(&copy.from, args));
        let source = source.map(|home| (home, self.numbers(&copy.from, args)));
        let mut p = self.f.pseudo();
        let temps = [(); 2].map(|()| p.temp(R64));
        if let Some((home, offsets)) = source {
            let vectors = [(); 2].map(|()| p.temp(View::V));
            for &row in &offsets.rows {
                p.any(row);
            }
            offsets.store_at(&mut p, fallback.codes, home, (temps[0], vectors));
        }
        call_step(&mut p, &fallback, temps, &[]);
        p.end();
    }

    /// Returns how words of 4, 8 or 16 bytes are moved.
    fn moves(&self, bytes: u8) -> Moves {
        let (load, store) = match (bytes, self.codes.level) {
            (4, _) => (Op::Mov_r32_rm32, Op::Mov_rm32_r32),
            (8, _) => (Op::Mov_r64_rm64, Op::Mov_rm64_r64),
            (_, Level::Avx512) => {
                (Op::EVEX_Vmovdqu32_xmm_k1z_xmmm128, Op::EVEX_Vmovdqu32_xmmm128_k1z_xmm)
            }
            _ => (Op::VEX_Vmovdqu_xmm_xmmm128, Op::VEX_Vmovdqu_xmmm128_xmm),
        };
        Moves { bytes, load, store }
    }
}

/// Instructions that move a word.
struct Moves {
    bytes: u8,
    load: Op,
    store: Op,
}

impl Moves {
    fn load(&self, p: &mut Pseudo<'_>, to: VReg, from: Mem) {
        match self.bytes {
            4 => p.op(self.load, (to.d(), from)),
            8 => p.op(self.load, (to, from)),
            _ => p.op(self.load, (to.x(), from)),
        };
    }

    fn store(&self, p: &mut Pseudo<'_>, to: Mem, from: VReg) {
        match self.bytes {
            4 => p.op(self.store, (to, from.d())),
            8 => p.op(self.store, (to, from)),
            _ => p.op(self.store, (to, from.x())),
        };
    }
}
