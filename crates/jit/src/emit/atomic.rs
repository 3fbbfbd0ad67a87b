//! Atomic operations on 32-bit and 64-bit integers, and float additions, in global and shared
//! memory, lane by lane in increasing order.
//!
//! Only one host thread accesses these words: where several threads run a launch, code gets no
//! region for an atomic, and the interpreter executes those on global memory.

use super::forms::{NAN32, NAN64};
use super::memory::{Access, Pattern};
use super::{Emitter, On};
use crate::asm::at;
use crate::frame::Frame;
use fast::code::{Atomic, Dst, Src};
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::Ty;
use ir::mods::{AtomOp, Space};

use Register::{EBX, ECX, EDX, ESI, R8, R8D, R9, R9D, RAX, RBP, RDI, RDX, RSI, XMM0, XMM1};

/// Returns whether there is code for an operation.
fn can(atomic: &Atomic) -> bool {
    let integer = matches!(atomic.ty, Ty::U32 | Ty::S32 | Ty::B32 | Ty::U64 | Ty::S64 | Ty::B64);
    let operands = if atomic.op == AtomOp::Cas { 2 } else { 1 };
    let word = atomic.memory.word;
    let dst = matches!(
        (atomic.memory.dst.as_slice(), word),
        ([] | [Dst::None], _) | ([Dst::Narrow(_)], 4) | ([Dst::Wide(_)], 8)
    );
    let whole = |s: &Src| !matches!(s, Src::Pair(..) | Src::ConstPair(..));
    let float = atomic.op == AtomOp::Add && matches!(atomic.ty, Ty::F32 | Ty::F64);
    let counts = matches!(atomic.op, AtomOp::Inc | AtomOp::Dec);
    let known = matches!(
        atomic.op,
        AtomOp::Add
            | AtomOp::Min
            | AtomOp::Max
            | AtomOp::And
            | AtomOp::Or
            | AtomOp::Xor
            | AtomOp::Exch
            | AtomOp::Cas
    );
    (integer && (known || counts && word == 4) || float)
        && dst
        && matches!(word, 4 | 8)
        && atomic.memory.src.len() == operands
        && atomic.memory.src.iter().all(whole)
}

/// Returns whether an operation adds integers without returning the old value.
fn is_integer_sum(atomic: &Atomic) -> bool {
    atomic.op == AtomOp::Add
        && !atomic.ty.is_float()
        && matches!(atomic.memory.dst.as_slice(), [] | [Dst::None])
}

/// Returns the operand in part `part` of the frame's `lane_room` for the lane in `rdx`.
fn lane(part: i64) -> MemoryOperand {
    let to = Frame::LANE_ROOM + part * 256;
    MemoryOperand {
        displacement: to,
        ..MemoryOperand::new(RBP, RDX, 8, 0, 1, false, Register::None)
    }
}

impl Emitter<'_> {
    pub(super) fn atomic(&mut self, atomic: &Atomic, on: On) -> bool {
        let memory = &atomic.memory;
        if !can(atomic) || memory.space == Space::Local {
            return false;
        }
        let Some(room) = self.room(memory) else { return false };
        self.announce_any(memory, on);
        let (cold, back) = self.cold(on);
        let access = Access { memory, room, pattern: Pattern::Any };
        self.vectors.atomic_operands(self, &access, on, cold);
        self.each_lane(atomic, on);
        self.count_memory(on);
        if let Some(&dst) = memory.dst.first() {
            self.vectors.atomic_result(self, dst, on);
        }
        self.asm.bind(back);
        true
    }

    /// Loops over the lanes: `rdi` is the base of the offsets, `rcx` holds the lanes that are left,
    /// `r9` whether memory has changed.
    fn each_lane(&mut self, atomic: &Atomic, on: On) {
        let wide = atomic.memory.word == 8;
        let (load, store) = match wide {
            true => (Op::Mov_r64_rm64, Op::Mov_rm64_r64),
            false => (Op::Mov_r32_rm32, Op::Mov_rm32_r32),
        };
        let place = MemoryOperand::new(RDI, RAX, 1, 0, 1, false, Register::None);
        let (old, new) = if wide { (R8, RSI) } else { (R8D, ESI) };
        let (again, done) = (self.asm.label(), self.asm.label());
        self.asm.rr(Op::Mov_r32_rm32, ECX, on.lanes);
        self.asm.rr(Op::Xor_r32_rm32, R9D, R9D);
        if is_integer_sum(atomic) {
            self.asm.ri(Op::Cmp_rm32_imm8, ECX, -1);
            self.asm.jump(Op::Jne_rel32_64, again);
            self.sums(wide);
            self.asm.jump(Op::Jmp_rel32_64, done);
        }
        self.asm.bind(again);
        self.asm.rr(Op::Tzcnt_r32_rm32, EDX, ECX);
        self.asm.rm(Op::Mov_r64_rm64, RAX, lane(0));
        self.asm.rm(Op::Mov_r64_rm64, RSI, lane(1));
        self.asm.rm(load, old, place);
        if !matches!(atomic.memory.dst.as_slice(), [] | [Dst::None]) {
            self.asm.mr(Op::Mov_rm64_r64, lane(3), R8);
        }
        self.combine_word(atomic, wide);
        self.asm.mr(store, place, new);
        self.asm.rr(Op::Xor_r64_rm64, R8, RSI);
        self.asm.rr(Op::Or_r64_rm64, R9, R8);
        self.asm.rr(Op::VEX_Blsr_r32_rm32, ECX, ECX);
        self.asm.jump(Op::Jne_rel32_64, again);
        self.asm.bind(done);
        self.asm.mr(Op::Or_rm64_r64, at(RBP, Frame::PROGRESS), R9);
        self.asm.rr(Op::Popcnt_r32_rm32, R9D, EBX);
    }

    /// Adds the integers of all lanes; memory has changed if one of them is not zero.
    fn sums(&mut self, wide: bool) {
        let (load, add, operand) = match wide {
            true => (Op::Mov_r64_rm64, Op::Add_rm64_r64, RSI),
            false => (Op::Mov_r32_rm32, Op::Add_rm32_r32, ESI),
        };
        let place = MemoryOperand::new(RDI, RAX, 1, 0, 1, false, Register::None);
        for lane in 0..32 {
            let part = |part: i64| at(RBP, Frame::LANE_ROOM + part * 256 + lane * 8);
            self.asm.rm(Op::Mov_r64_rm64, RAX, part(0));
            self.asm.rm(load, operand, part(1));
            self.asm.mr(add, place, operand);
            self.asm.rr(Op::Or_r64_rm64, R9, RSI);
        }
    }

    /// Adds floats, rounded to nearest; a NaN becomes the canonical one.
    fn sum_floats(&mut self, wide: bool) {
        let number = self.asm.label();
        if wide {
            self.asm.rr(Op::VEX_Vmovq_xmm_rm64, XMM0, R8);
            self.asm.rr(Op::VEX_Vmovq_xmm_rm64, XMM1, RSI);
            self.asm.rrr(Op::VEX_Vaddsd_xmm_xmm_xmmm64, XMM0, XMM0, XMM1);
            self.asm.rr(Op::VEX_Vmovq_rm64_xmm, RSI, XMM0);
            self.asm.rr(Op::VEX_Vucomisd_xmm_xmmm64, XMM0, XMM0);
        } else {
            self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM0, R8D);
            self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM1, ESI);
            self.asm.rrr(Op::VEX_Vaddss_xmm_xmm_xmmm32, XMM0, XMM0, XMM1);
            self.asm.rr(Op::VEX_Vmovd_rm32_xmm, ESI, XMM0);
            self.asm.rr(Op::VEX_Vucomiss_xmm_xmmm32, XMM0, XMM0);
        }
        self.asm.jump(Op::Jnp_rel32_64, number);
        self.asm.ri64(RSI, if wide { NAN64 } else { NAN32.into() });
        self.asm.bind(number);
    }

    /// Increments up to a bound and wraps to 0, or decrements to 0 and wraps to the bound.
    fn count_word(&mut self, op: AtomOp) {
        let done = self.asm.label();
        if op == AtomOp::Inc {
            self.asm.rr(Op::Cmp_r32_rm32, R8D, ESI);
            self.asm.rm(Op::Lea_r32_m, ESI, at(R8, 1));
            self.asm.jump(Op::Jb_rel32_64, done);
            self.asm.rr(Op::Xor_r32_rm32, ESI, ESI);
        } else {
            self.asm.rr(Op::Test_rm32_r32, R8D, R8D);
            self.asm.jump(Op::Je_rel32_64, done);
            self.asm.rr(Op::Cmp_r32_rm32, R8D, ESI);
            self.asm.jump(Op::Ja_rel32_64, done);
            self.asm.rm(Op::Lea_r32_m, ESI, at(R8, -1));
        }
        self.asm.bind(done);
    }

    /// Computes the new value into `rsi` from the old one in `r8` and the operand in `rsi`.
    fn combine_word(&mut self, atomic: &Atomic, wide: bool) {
        match atomic.op {
            AtomOp::Add if atomic.ty.is_float() => return self.sum_floats(wide),
            AtomOp::Inc | AtomOp::Dec => return self.count_word(atomic.op),
            _ => {}
        }
        let signed = atomic.ty.is_signed();
        let (old, new) = if wide { (R8, RSI) } else { (R8D, ESI) };
        let pick = |a, b| if wide { a } else { b };
        let op = match atomic.op {
            AtomOp::Add => pick(Op::Add_r64_rm64, Op::Add_r32_rm32),
            AtomOp::And => pick(Op::And_r64_rm64, Op::And_r32_rm32),
            AtomOp::Or => pick(Op::Or_r64_rm64, Op::Or_r32_rm32),
            AtomOp::Xor => pick(Op::Xor_r64_rm64, Op::Xor_r32_rm32),
            AtomOp::Min | AtomOp::Max => {
                self.asm.rr(pick(Op::Cmp_r64_rm64, Op::Cmp_r32_rm32), old, new);
                match (atomic.op, signed) {
                    (AtomOp::Min, true) => pick(Op::Cmovl_r64_rm64, Op::Cmovl_r32_rm32),
                    (AtomOp::Min, false) => pick(Op::Cmovb_r64_rm64, Op::Cmovb_r32_rm32),
                    (_, true) => pick(Op::Cmovg_r64_rm64, Op::Cmovg_r32_rm32),
                    (_, false) => pick(Op::Cmova_r64_rm64, Op::Cmova_r32_rm32),
                }
            }
            AtomOp::Cas => {
                // The new value is the second operand if the old value equals the first one, else
                // the old value.
                self.asm.rr(pick(Op::Cmp_r64_rm64, Op::Cmp_r32_rm32), old, new);
                self.asm.rm(Op::Mov_r64_rm64, RSI, lane(2));
                pick(Op::Cmovne_r64_rm64, Op::Cmovne_r32_rm32)
            }
            // The new value is the operand.
            _ => pick(Op::Mov_r64_rm64, Op::Mov_r32_rm32),
        };
        if atomic.op == AtomOp::Exch {
            self.asm.rr(op, new, new);
        } else {
            self.asm.rr(op, new, old);
        }
    }
}
