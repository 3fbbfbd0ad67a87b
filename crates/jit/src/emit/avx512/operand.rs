//! Operands as vectors, and results on their way to rows.

use super::T;
use crate::asm::{V, at};
use crate::emit::{Emitter, On};
use fast::code::Src;
use iced_x86::{Code as Op, Register};

use Register::{K7, R11, R12, R13, R14, R15};

impl Emitter<'_> {
    /// Half of an operand of 32-bit values; `room` may be used.
    pub(super) fn n(&mut self, src: Src, half: usize, room: Register) -> V {
        match src {
            Src::Narrow(i) => match self.assignment.narrow(i, half) {
                Some(register) => V::Z(register),
                None => V::M(R12, i64::from(i) * 128 + half as i64 * 64),
            },
            Src::Line(i, 0, _) => V::B(R15, 8 * i64::from(i)),
            Src::Line(i, stride, mask) => {
                let line = self.pool.line32(16 * half as u32, stride as u32);
                self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, room, V::M(R11, line), None);
                let base = V::B(R15, 8 * i64::from(i));
                self.asm.v3(Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, room, room, base, None);
                if mask as u32 != u32::MAX {
                    let mask = self.bits32(mask as u32);
                    self.asm.v3(Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, room, room, mask, None);
                }
                V::Z(room)
            }
            Src::Const(bits) | Src::ConstPair(bits, _) => self.bits32(bits as u32),
            Src::Wide(i) | Src::Pair(i, _) => {
                let row = Src::Wide(i);
                let low = self.wz(row, 2 * half, room);
                let (low_half, high_half) = (ymm(room), ymm(T[7]));
                self.asm.rr(Op::EVEX_Vpmovqd_ymmm256_k1z_zmm, low_half, low);
                let high = self.wz(row, 2 * half + 1, T[7]);
                self.asm.rr(Op::EVEX_Vpmovqd_ymmm256_k1z_zmm, high_half, high);
                let high = V::Z(high_half);
                let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
                self.asm.v3i(insert, room, room, high, 1, None);
                V::Z(room)
            }
            Src::Pred(i) => {
                let from = at(R14, 4 * i64::from(i) + 2 * half as i64);
                self.asm.rm(Op::VEX_Kmovw_kr_km16, K7, from);
                let one = at(R11, self.pool.word(1));
                self.asm.v2z(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, room, one, K7);
                V::Z(room)
            }
        }
    }

    /// The same in a register: `room`, or where it is.
    pub(super) fn nz(&mut self, src: Src, half: usize, room: Register) -> Register {
        let value = self.n(src, half, room);
        self.in_register(value, room, false)
    }

    /// The same in `room`, to be changed.
    pub(super) fn nc(&mut self, src: Src, half: usize, room: Register) {
        let value = self.nz(src, half, room);
        if value != room {
            self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, room, V::Z(value), None);
        }
    }

    pub(super) fn in_register(&mut self, value: V, room: Register, wide: bool) -> Register {
        match value {
            V::Z(register) => return register,
            V::M(..) => self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, room, value, None),
            V::B(base, d) => {
                let op = match wide {
                    true => Op::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
                    false => Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                };
                self.asm.rm(op, room, at(base, d));
            }
        }
        room
    }

    /// A quarter of an operand of 64-bit values, narrower ones widened with zeros; `room` may be
    /// used.
    pub(super) fn w(&mut self, src: Src, quarter: usize, room: Register) -> V {
        match src {
            Src::Wide(i) | Src::Pair(i, _) => match self.assignment.wide(i, quarter) {
                Some(register) => V::Z(register),
                None => V::M(R13, i64::from(i) * 256 + quarter as i64 * 64),
            },
            Src::Line(i, 0, _) => V::B(R15, 8 * i64::from(i)),
            Src::Line(i, stride, mask) => {
                let line = self.pool.line64(8 * quarter as u64, stride as u64);
                self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, room, V::M(R11, line), None);
                let base = V::B(R15, 8 * i64::from(i));
                self.asm.v3(Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, room, room, base, None);
                if mask != u64::MAX {
                    let mask = self.bits64(mask);
                    self.asm.v3(Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, room, room, mask, None);
                }
                V::Z(room)
            }
            Src::Const(bits) | Src::ConstPair(bits, _) => self.bits64(bits),
            Src::Narrow(_) | Src::Pred(_) => {
                self.widened(src, quarter, room, Op::EVEX_Vpmovzxdq_zmm_k1z_ymmm256);
                V::Z(room)
            }
        }
    }

    /// A quarter of 32-bit values, widened.
    pub(super) fn widened(&mut self, src: Src, quarter: usize, room: Register, op: Op) {
        let half = self.n(src, quarter / 2, room);
        match (half, quarter % 2) {
            (V::Z(register), 0) => self.asm.rr(op, room, ymm(register)),
            (V::Z(register), _) => {
                let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
                self.asm.v2i(extract, ymm(room), register, 1);
                self.asm.rr(op, room, ymm(room));
            }
            (V::M(base, d), part) => self.asm.rm(op, room, at(base, d + 32 * part as i64)),
            (V::B(base, d), _) => {
                self.asm.rm(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, room, at(base, d));
                self.asm.rr(op, room, ymm(room));
            }
        }
    }

    /// The same in a register: `room`, or where it is.
    pub(super) fn wz(&mut self, src: Src, quarter: usize, room: Register) -> Register {
        let value = self.w(src, quarter, room);
        self.in_register(value, room, true)
    }

    /// The same in `room`, to be changed.
    pub(super) fn wc(&mut self, src: Src, quarter: usize, room: Register) {
        let value = self.wz(src, quarter, room);
        if value != room {
            self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, room, V::Z(value), None);
        }
    }

    /// Where one instruction can put half of a result, with which mask: the row's register, or
    /// scratch. [`Self::close`] follows.
    pub(super) fn open(&self, dst: u32, half: usize, on: On) -> (Register, Option<Register>) {
        match self.assignment.narrow(dst, half) {
            Some(register) => (register, self.blend.then_some(on.halves()[half])),
            None => (T[0], None),
        }
    }

    /// Half of a result that [`Self::open`] gave a place is there.
    pub(super) fn close(&mut self, dst: u32, half: usize, on: On) {
        if self.assignment.narrow(dst, half).is_none() {
            self.put(dst, half, on, T[0]);
        }
    }

    /// Half of a result, in scratch. Uses `T[1]`.
    pub(super) fn put(&mut self, dst: u32, half: usize, on: On, value: Register) {
        let mask = self.blend.then_some(on.halves()[half]);
        match self.assignment.narrow(dst, half) {
            Some(register) => {
                let op = Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
                self.asm.v2(op, register, V::Z(value), mask);
            }
            None => {
                let place = (R12, i64::from(dst) * 128 + half as i64 * 64);
                self.write_row(place, value, mask, Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512);
            }
        }
    }

    /// The whole vector is written, so that the next load finds it in one piece.
    fn write_row(
        &mut self,
        (base, d): (Register, i64),
        value: Register,
        mask: Option<Register>,
        op: Op,
    ) {
        let mut value = value;
        if let Some(mask) = mask {
            self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[1], V::M(base, d), None);
            self.asm.v2(op, T[1], V::Z(value), Some(mask));
            value = T[1];
        }
        self.asm.mr(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, at(base, d), value);
    }

    /// The mask of a quarter of the lanes: [`K7`], or where it is.
    pub(super) fn quarter(&mut self, on: On, quarter: usize) -> Register {
        let half = on.halves()[quarter / 2];
        if quarter.is_multiple_of(2) {
            return half;
        }
        self.asm.rri(Op::VEX_Kshiftrw_kr_kr_imm8, K7, half, 8);
        K7
    }

    /// A quarter of a result, in scratch. Uses `T[1]` and [`K7`].
    pub(super) fn put_wide(&mut self, dst: u32, quarter: usize, on: On, value: Register) {
        let mask = if self.blend { Some(self.quarter(on, quarter)) } else { None };
        let op = Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512;
        match self.assignment.wide(dst, quarter) {
            Some(register) => self.asm.v2(op, register, V::Z(value), mask),
            None => {
                let place = (R13, i64::from(dst) * 256 + quarter as i64 * 64);
                self.write_row(place, value, mask, op);
            }
        }
    }
}

/// The low half of a vector register.
pub(super) fn ymm(zmm: Register) -> Register {
    Register::YMM0 + (zmm as u32 - Register::ZMM0 as u32)
}
