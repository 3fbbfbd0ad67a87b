//! Shuffles and reductions of a warp.

use super::chunk::{CHUNKS, Chunk};
use super::narrow::binary;
use super::operand::BLEND;
use crate::asm::{V, at};
use crate::emit::collective::reduction;
use crate::emit::{Emitter, On};
use crate::frame::Frame;
use fast::code::{Collective, Dst, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::Ty;
use ir::mods::{AtomOp, Shuffle};

use Register::{EAX, EDX, R11, RBP};

const SAVE: Op = Op::VEX_Vmovdqa_ymmm256_ymm;

impl Chunk<'_, '_> {
    /// A constant vector of 32-bit words by lane.
    fn by_lane(&mut self, word: impl Fn(usize) -> u32) -> V {
        let word = |i: usize| u64::from(word(8 * self.c + i % 8));
        let words = std::array::from_fn(|i| word(2 * i) | word(2 * i + 1) << 32);
        V::M(R11, self.e.pool.vector(words))
    }
}

/// Each lane's value of the lane that it names, if that is on; else its own.
pub(super) fn shuffle(e: &mut Emitter<'_>, mode: Shuffle, what: &Collective, on: On) {
    let now = e.now as usize;
    let blend = e.blend;
    // All values in the frame first: the result may take the place of a row that they come from.
    let mut chunk = Chunk::new(e, on, now, now + 1);
    for c in 0..CHUNKS {
        chunk.c = c;
        let value = chunk.nz(what.src[0]);
        chunk.e.asm.mr(SAVE, at(RBP, Frame::LANE_ROOM + 32 * c as i64), value);
        chunk.cache.unpin();
        chunk.end_chunk();
    }
    if let Some((_, inside)) = what.pattern {
        chunk.e.asm.ri(Op::Mov_r32_imm32, EDX, inside as i32);
    }
    for c in 0..CHUNKS {
        chunk.c = c;
        chunk.blend = blend;
        let index = match what.pattern {
            Some((lanes, _)) => {
                let line = chunk.by_lane(|lane| lanes[lane].into());
                chunk.in_register(line)
            }
            None => chunk.sources(mode, what.src[1], what.src[2]),
        };
        if let Some(&Dst::Narrow(row)) = what.dst.first() {
            let value = chunk.of_lanes(index);
            chunk.put(row, value);
        }
        chunk.cache.unpin();
        chunk.end_chunk();
    }
    if let Some(&Dst::Pred(mask)) = what.dst.get(1) {
        e.asm.rr(Op::Mov_r32_rm32, EAX, EDX);
        e.put_predicate(mask, on);
    }
}

impl Chunk<'_, '_> {
    /// The values in the frame of the lanes that an index names, or a lane's own if that one is
    /// off.
    fn of_lanes(&mut self, index: Register) -> Register {
        let (to, mask) = (self.temp(), self.temp());
        self.e.asm.rr(Op::VEX_Vmovd_xmm_rm32, super::operand::xmm(mask), self.on.lanes);
        self.e.asm.rr(Op::VEX_Vpbroadcastd_ymm_xmmm32, mask, super::operand::xmm(mask));
        // The bit of the lane that is named becomes the highest.
        self.vvv(Op::VEX_Vpsrlvd_ymm_ymm_ymmm256, mask, mask, index);
        self.vi(Op::VEX_Vpslld_ymm_ymm_imm8, mask, mask, 31);
        let own = V::M(RBP, Frame::LANE_ROOM + 32 * self.c as i64);
        self.e.asm.v2(super::operand::COPY, to, own, None);
        let from = MemoryOperand::new(RBP, index, 4, 0, 1, false, Register::None);
        let from = MemoryOperand { displacement: Frame::LANE_ROOM, ..from };
        // Lanes whose mask is off keep what they have.
        self.e.asm.gather_by(Op::VEX_Vpgatherdd_ymm_vm32y_ymm, to, from, mask);
        to
    }

    /// Sources of a shuffle by a lane or distance and a constant segment; `edx` collects in which
    /// lanes they are inside of it.
    fn sources(&mut self, mode: Shuffle, by: Src, segment: Src) -> Register {
        let Src::Const(c) = segment else { return self.temp() };
        let (clamp, segment) = (c as u32 & 0x1f, c as u32 >> 8 & 0x1f);
        let lane = self.by_lane(|lane| lane as u32);
        let lane = self.in_register(lane);
        let most = self.by_lane(|l| l as u32 & segment | clamp & !segment);
        let most = self.in_register(most);
        let by = self.nz(by);
        let (to, inside) = (self.temp(), self.temp());
        self.vvc(Op::VEX_Vpand_ymm_ymm_ymmm256, to, by, 0x1f);
        match mode {
            Shuffle::Up => self.vvv(Op::VEX_Vpsubd_ymm_ymm_ymmm256, to, lane, to),
            Shuffle::Down => self.vvv(Op::VEX_Vpaddd_ymm_ymm_ymmm256, to, to, lane),
            Shuffle::Bfly => self.vvv(Op::VEX_Vpxor_ymm_ymm_ymmm256, to, to, lane),
            Shuffle::Idx => {
                self.vvc(Op::VEX_Vpand_ymm_ymm_ymmm256, to, to, !segment);
                let least = self.by_lane(|lane| lane as u32 & segment);
                self.e.asm.v3(Op::VEX_Vpor_ymm_ymm_ymmm256, to, to, least, None);
            }
        }
        // Outside if less than the bound, or greater; both as signed numbers.
        let greater = Op::VEX_Vpcmpgtd_ymm_ymm_ymmm256;
        if mode == Shuffle::Up {
            self.vvv(greater, inside, most, to);
        } else {
            self.vvv(greater, inside, to, most);
        }
        self.e.asm.v3r(BLEND, to, to, lane, inside);
        self.vvc(Op::VEX_Vpxor_ymm_ymm_ymmm256, inside, inside, u32::MAX);
        if self.c == 0 {
            self.e.asm.rr(Op::VEX_Vmovmskps_r32_ymm, EDX, inside);
        } else {
            self.e.asm.rr(Op::VEX_Vmovmskps_r32_ymm, EAX, inside);
            self.e.asm.ri(Op::Shl_rm32_imm8, EAX, 8 * self.c as i32);
            self.e.asm.rr(Op::Or_r32_rm32, EDX, EAX);
        }
        for register in [lane, most, inside] {
            self.free(register);
        }
        to
    }
}

/// All values of the lanes that are on as one.
pub(super) fn redux(e: &mut Emitter<'_>, op: AtomOp, ty: Ty, what: &Collective, on: On) {
    let Some((op, neutral)) = reduction(op, ty) else { return };
    let Some(op) = binary(op) else { return };
    let now = e.now as usize;
    let mut chunk = Chunk::new(e, on, now, now + 1);
    let sum = chunk.temp();
    for c in 0..CHUNKS {
        chunk.c = c;
        let (value, mask) = (chunk.nz(what.src[0]), chunk.on());
        let to = if c == 0 { sum } else { chunk.temp() };
        chunk.constant(to, neutral);
        chunk.e.asm.v3r(BLEND, to, to, value, mask);
        if c > 0 {
            chunk.vvv(op, sum, sum, to);
        }
        chunk.unpin_but(&[sum]);
        chunk.forget(&[sum]);
    }
    let other = chunk.temp();
    let halves = Op::VEX_Vpermq_ymm_ymmm256_imm8;
    let words = Op::VEX_Vpshufd_ymm_ymmm256_imm8;
    for (shuffle, how) in [(halves, 0x4e), (words, 0x4e), (words, 0xb1)] {
        chunk.vi(shuffle, other, sum, how);
        chunk.vvv(op, sum, sum, other);
    }
    e.asm.rr(Op::VEX_Vmovd_rm32_xmm, EAX, super::operand::xmm(sum));
    e.put_word(what.dst.first(), on);
}
