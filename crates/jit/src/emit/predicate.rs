//! Predicates: masks in memory, and logic on them in general registers.

use super::{Emitter, Held, On};
use crate::asm::at;
use fast::code::Src;
use fast::ops::Logic;
use iced_x86::{Code as Op, Register};
use ir::mods::Cmp;

use Register::{EAX, ECX, R14, R15};

/// Returns the predicate immediate of a quiet float comparison (`vcmpss`).
pub(super) fn float_relation(cmp: Cmp) -> Option<i32> {
    Some(match cmp {
        Cmp::Eq => 0x00,
        Cmp::Ne => 0x0c,
        Cmp::Lt => 0x11,
        Cmp::Le => 0x12,
        Cmp::Gt => 0x1e,
        Cmp::Ge => 0x1d,
        Cmp::Num => 0x07,
        Cmp::Equ => 0x08,
        Cmp::Neu => 0x04,
        Cmp::Ltu => 0x19,
        Cmp::Leu => 0x1a,
        Cmp::Gtu => 0x16,
        Cmp::Geu => 0x15,
        Cmp::Nan => 0x03,
        _ => return None,
    })
}

impl Emitter<'_> {
    /// Loads a predicate as a mask.
    pub(super) fn predicate(&mut self, src: Src, to: Register) {
        match src {
            Src::Pred(i) if self.holds(Held::Pred(i)) => {
                if to != EAX {
                    self.asm.rr(Op::Mov_r32_rm32, to, EAX);
                }
            }
            Src::Pred(i) => {
                self.asm.rm(Op::Mov_r32_rm32, to, at(R14, 4 * i64::from(i)));
            }
            Src::Line(i, ..) => {
                self.asm.rm(Op::Mov_r32_rm32, to, at(R15, 8 * i64::from(i)));
                self.asm.ri(Op::And_rm32_imm8, to, 1);
                self.asm.r(Op::Neg_rm32, to);
            }
            Src::Const(bits) => {
                let all = if bits & 1 != 0 { -1 } else { 0 };
                self.asm.ri(Op::Mov_r32_imm32, to, all);
            }
            _ => self.asm.ri(Op::Mov_r32_imm32, to, 0),
        }
    }

    /// Stores the mask in `eax` for the active lanes.
    pub(super) fn put_predicate(&mut self, dst: u32, on: On) {
        let place = at(R14, 4 * i64::from(dst));
        if self.blend {
            self.asm.rm(Op::Mov_r32_rm32, ECX, place);
            self.asm.rr(Op::Xor_r32_rm32, EAX, ECX);
            self.asm.rr(Op::And_r32_rm32, EAX, on.lanes);
            self.asm.rr(Op::Xor_r32_rm32, EAX, ECX);
        }
        self.asm.mr(Op::Mov_rm32_r32, place, EAX);
        self.hold(Held::Pred(dst));
    }

    /// Computes a logical operation of `eax` and `ecx` into `eax`. Clobbers `ecx`.
    pub(super) fn combine(&mut self, op: Logic) {
        match op {
            Logic::Mov => {}
            Logic::And => self.asm.rr(Op::And_r32_rm32, EAX, ECX),
            Logic::Or => self.asm.rr(Op::Or_r32_rm32, EAX, ECX),
            Logic::Xor => self.asm.rr(Op::Xor_r32_rm32, EAX, ECX),
            Logic::Not => self.asm.r(Op::Not_rm32, EAX),
            Logic::AndNot => {
                self.asm.r(Op::Not_rm32, ECX);
                self.asm.rr(Op::And_r32_rm32, EAX, ECX);
            }
        }
    }

    pub(super) fn logic(&mut self, op: Logic, dst: u32, src: [Src; 2], on: On) -> bool {
        self.predicate(src[0], EAX);
        if !matches!(op, Logic::Mov | Logic::Not) {
            self.predicate(src[1], ECX);
        }
        self.combine(op);
        self.put_predicate(dst, on);
        true
    }
}
