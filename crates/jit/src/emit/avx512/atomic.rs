//! Operands and results of atomic operations, lane by lane in the frame.

use super::T;
use super::operand::ymm;
use crate::asm::{Label, V, at};
use crate::emit::memory::{Access, Room};
use crate::emit::{Emitter, On};
use crate::frame::Frame;
use fast::code::Dst;
use iced_x86::{Code as Op, Register};

use Register::RBP;

impl Emitter<'_> {
    /// Offsets and operands by lane, as 64-bit values.
    pub(super) fn atomic_operands(&mut self, access: &Access<'_>, on: On, cold: Label) {
        let &Access { memory, room, .. } = access;
        self.offsets(memory, room, on, cold);
        self.put_offsets(room);
        for (i, &src) in memory.src.iter().enumerate() {
            for quarter in 0..4 {
                let value = self.wz(src, quarter, T[0]);
                self.put_lanes(1 + i as i64, quarter, value);
            }
        }
    }

    /// What was there before, by lane, as a row.
    pub(super) fn atomic_result(&mut self, dst: Dst, on: On) {
        match dst {
            Dst::Narrow(row) => {
                for half in 0..2 {
                    for part in 0..2 {
                        let from = Frame::LANE_ROOM + 3 * 256 + 64 * (2 * half + part) as i64;
                        let value = V::M(RBP, from);
                        self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[2 + part], value, None);
                    }
                    self.join(T[2], T[3]);
                    self.put(row, half, on, T[2]);
                }
            }
            Dst::Wide(row) => {
                for quarter in 0..4 {
                    let value = V::M(RBP, Frame::LANE_ROOM + 3 * 256 + 64 * quarter as i64);
                    self.asm.v2(Op::EVEX_Vmovdqa32_zmm_k1z_zmmm512, T[0], value, None);
                    self.put_wide(row, quarter, on, T[0]);
                }
            }
            _ => {}
        }
    }

    /// Checked offsets by lane, as 64-bit values.
    pub(super) fn put_offsets(&mut self, room: Room) {
        for quarter in 0..4 {
            let index = self.index64(room, quarter);
            self.put_lanes(0, quarter, index);
        }
    }

    fn put_lanes(&mut self, part: i64, quarter: usize, value: Register) {
        let to = at(RBP, Frame::LANE_ROOM + part * 256 + 64 * quarter as i64);
        self.asm.mr(Op::EVEX_Vmovdqa32_zmmm512_k1z_zmm, to, value);
    }

    /// The low words of two quarters, as half a row in the first.
    fn join(&mut self, low: Register, high: Register) {
        let narrow = Op::EVEX_Vpmovqd_ymmm256_k1z_zmm;
        self.asm.rr(narrow, ymm(low), low);
        self.asm.rr(narrow, ymm(high), high);
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        self.asm.v3i(insert, low, low, V::Z(ymm(high)), 1, None);
    }
}
