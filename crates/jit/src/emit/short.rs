//! Accesses to words of less than 32 bits at arbitrary addresses. No instruction gathers or
//! scatters them, so code loops over the lanes, in increasing order.
//!
//! The first part of the frame's `lane_room` holds the lanes' checked offsets as 64-bit values, the
//! second one the words as 32-bit values. `rdi` is the base of the offsets.

use super::{Emitter, On};
use crate::frame::Frame;
use fast::code::{Dst, Memory};
use iced_x86::{Code as Op, MemoryOperand, Register};

use Register::{AL, AX, EAX, ECX, EDX, RBP, RDI, RDX, RSI};

/// The frame's offset of the words.
pub(super) const WORDS: i64 = Frame::LANE_ROOM + 256;

/// Returns whether words are shorter than 32 bits and their rows are 32-bit rows.
pub(super) fn is_short(memory: &Memory) -> bool {
    memory.word < 4
        && memory.dst.iter().all(|d| matches!(d, Dst::Narrow(_) | Dst::None))
        && memory.extend.is_none_or(|e| e.1 == 32)
}

/// Returns the operand for the value of the lane in `rdx`.
fn lane(scale: u32, displacement: i64) -> MemoryOperand {
    let operand = MemoryOperand::new(RBP, RDX, scale, 0, 1, false, Register::None);
    MemoryOperand { displacement, ..operand }
}

impl Emitter<'_> {
    fn each(&mut self, on: On, body: impl FnOnce(&mut Self)) {
        let again = self.asm.label();
        self.asm.rr(Op::Mov_r32_rm32, ECX, on.lanes);
        self.asm.bind(again);
        self.asm.rr(Op::Tzcnt_r32_rm32, EDX, ECX);
        self.asm.rm(Op::Mov_r64_rm64, RSI, lane(8, Frame::LANE_ROOM));
        body(self);
        self.asm.rr(Op::VEX_Blsr_r32_rm32, ECX, ECX);
        self.asm.jump(Op::Jne_rel32_64, again);
    }

    /// Loads words, `d` bytes from the offsets.
    pub(super) fn short_words_in(&mut self, memory: &Memory, d: i64, on: On) {
        let op = match (memory.word, memory.extend) {
            (1, None) => Op::Movzx_r32_rm8,
            (1, _) => Op::Movsx_r32_rm8,
            (_, None) => Op::Movzx_r32_rm16,
            _ => Op::Movsx_r32_rm16,
        };
        let from = MemoryOperand { displacement: d, ..crate::asm::indexed(RDI, RSI) };
        self.each(on, |e| {
            e.asm.rm(op, EAX, from);
            e.asm.mr(Op::Mov_rm32_r32, lane(4, WORDS), EAX);
        });
    }

    /// Stores words; where several lanes have one address, the greatest lane's value remains.
    pub(super) fn short_words_out(&mut self, memory: &Memory, d: i64, on: On) {
        let (op, value) =
            if memory.word == 1 { (Op::Mov_rm8_r8, AL) } else { (Op::Mov_rm16_r16, AX) };
        let to = MemoryOperand { displacement: d, ..crate::asm::indexed(RDI, RSI) };
        self.each(on, |e| {
            e.asm.rm(Op::Mov_r32_rm32, EAX, lane(4, WORDS));
            e.asm.mr(op, to, value);
        });
    }
}
