//! Operations on scalars: uniform values and the bases of affine ones.

use super::forms::{NAN32, NAN64, makes_nan};
use super::predicate::float_relation;
use super::{Emitter, Held, On};
use crate::asm::{V, at};
use crate::frame::Frame;
use crate::warp_context::WarpContext;
use fast::code::Src;
use fast::ops::{Logic, Native, Op32, Op64, Rel, Test};
use iced_x86::{Code as Op, Register};
use ir::Sreg;
use ir::mods::BoolOp;

use Register::{CL, EAX, ECX, EDX, R8, R15, RAX, RCX, RDX, XMM0, XMM1, XMM2};

impl Emitter<'_> {
    /// Loads a scalar operand.
    pub(super) fn s(&mut self, src: Src, to: Register) {
        match src {
            Src::Line(i, ..) if self.holds(Held::Scalar(i)) => {
                if to != RAX {
                    self.asm.rr(Op::Mov_r64_rm64, to, RAX);
                }
            }
            Src::Line(i, ..) => self.asm.rm(Op::Mov_r64_rm64, to, at(R15, 8 * i64::from(i))),
            Src::Const(bits) | Src::ConstPair(bits, _) => self.asm.ri64(to, bits),
            _ => self.asm.ri64(to, 0),
        }
    }

    /// Stores `rax` to a scalar.
    pub(super) fn put_scalar(&mut self, dst: u32) {
        self.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(dst)), RAX);
        self.hold(Held::Scalar(dst));
    }

    pub(super) fn scalar(&mut self, native: Native, dst: u32, src: &[Src; 3]) -> bool {
        let done = match native {
            Native::Narrow(op) => self.scalar32(op, src),
            Native::Wide(op) => self.scalar64(op, src),
            Native::Low => {
                self.s(src[0], RAX);
                self.asm.rr(Op::Mov_r32_rm32, EAX, EAX);
                true
            }
            Native::Test { test, wide, combine } => self.scalar_test(test, wide, combine, src),
            Native::Select { .. } => {
                self.s(src[1], RAX);
                self.s(src[0], RCX);
                self.s(src[2], RDX);
                self.asm.ri(Op::Test_rm32_imm32, EDX, 1);
                self.asm.rr(Op::Cmovne_r64_rm64, RAX, RCX);
                true
            }
            Native::Logic(op) => {
                self.scalar_logic(op, src);
                true
            }
        };
        if done {
            self.put_scalar(dst);
        }
        done
    }

    fn scalar_logic(&mut self, op: Logic, src: &[Src; 3]) {
        self.s(src[0], RAX);
        self.s(src[1], RCX);
        self.combine(op);
        self.asm.ri(Op::And_rm32_imm8, EAX, 1);
    }

    fn scalar_test(
        &mut self,
        test: Test,
        wide: bool,
        combine: Option<BoolOp>,
        src: &[Src; 3],
    ) -> bool {
        self.s(src[0], RAX);
        self.s(src[1], RCX);
        match test {
            Test::F(cmp) => {
                let (Some(number), false) = (float_relation(cmp), wide) else { return false };
                self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM0, EAX);
                self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM1, ECX);
                let compare = Op::VEX_Vcmpss_xmm_xmm_xmmm32_imm8;
                self.asm.v3i(compare, XMM0, XMM0, V::Z(XMM1), number, None);
                self.asm.rr(Op::VEX_Vmovd_rm32_xmm, EAX, XMM0);
            }
            Test::U(rel) | Test::S(rel) => {
                let op = if wide { Op::Cmp_r64_rm64 } else { Op::Cmp_r32_rm32 };
                let (a, b) = if wide { (RAX, RCX) } else { (EAX, ECX) };
                self.asm.rr(op, a, b);
                let signed = matches!(test, Test::S(_));
                let set = match (rel, signed) {
                    (Rel::Eq, _) => Op::Sete_rm8,
                    (Rel::Ne, _) => Op::Setne_rm8,
                    (Rel::Lt, true) => Op::Setl_rm8,
                    (Rel::Le, true) => Op::Setle_rm8,
                    (Rel::Gt, true) => Op::Setg_rm8,
                    (Rel::Ge, true) => Op::Setge_rm8,
                    (Rel::Lt, false) => Op::Setb_rm8,
                    (Rel::Le, false) => Op::Setbe_rm8,
                    (Rel::Gt, false) => Op::Seta_rm8,
                    (Rel::Ge, false) => Op::Setae_rm8,
                };
                self.asm.r(set, Register::AL);
                self.asm.rr(Op::Movzx_r32_rm8, EAX, Register::AL);
            }
        }
        if let Some(how) = combine {
            self.s(src[2], RCX);
            let op = match how {
                BoolOp::And => Op::And_r32_rm32,
                BoolOp::Or => Op::Or_r32_rm32,
                BoolOp::Xor => Op::Xor_r32_rm32,
            };
            self.asm.rr(op, EAX, ECX);
        }
        self.asm.ri(Op::And_rm32_imm8, EAX, 1);
        true
    }

    /// Computes a 32-bit operation into `rax`.
    fn scalar32(&mut self, op: Op32, src: &[Src; 3]) -> bool {
        self.s(src[0], RAX);
        if makes_nan(op) || matches!(op, Op32::FFromU | Op32::FFromS) {
            return self.scalar_float(op, src);
        }
        self.s(src[1], RCX);
        let two = |op| (op, EAX, ECX);
        let (op, a, b) = match op {
            Op32::Mov => (Op::Mov_r32_rm32, EAX, EAX),
            Op32::Add => two(Op::Add_r32_rm32),
            Op32::Sub => two(Op::Sub_r32_rm32),
            Op32::Mul | Op32::Mad => two(Op::Imul_r32_rm32),
            Op32::And => two(Op::And_r32_rm32),
            Op32::Or => two(Op::Or_r32_rm32),
            Op32::Xor => two(Op::Xor_r32_rm32),
            Op32::Not => {
                self.asm.r(Op::Not_rm32, EAX);
                return true;
            }
            Op32::Neg => {
                self.asm.r(Op::Neg_rm32, EAX);
                return true;
            }
            Op32::MulHiU | Op32::MulHiS => {
                let widen = match op {
                    Op32::MulHiU => Op::Mov_r32_rm32,
                    _ => Op::Movsxd_r64_rm32,
                };
                for (wide, word) in [(RAX, EAX), (RCX, ECX)] {
                    let to = if widen == Op::Mov_r32_rm32 { word } else { wide };
                    self.asm.rr(widen, to, word);
                }
                self.asm.rr(Op::Imul_r64_rm64, RAX, RCX);
                self.asm.ri(Op::Shr_rm64_imm8, RAX, 32);
                return true;
            }
            Op32::Shl | Op32::ShrU => {
                let shift = if op == Op32::Shl { Op::Shl_rm32_CL } else { Op::Shr_rm32_CL };
                self.asm.rr(Op::Xor_r32_rm32, EDX, EDX);
                self.asm.rr(shift, EAX, CL);
                self.asm.ri(Op::Cmp_rm32_imm8, ECX, 31);
                (Op::Cmova_r32_rm32, EAX, EDX)
            }
            Op32::ShrS => {
                self.asm.ri64(RDX, 31);
                self.asm.ri(Op::Cmp_rm32_imm8, ECX, 31);
                self.asm.rr(Op::Cmova_r32_rm32, ECX, EDX);
                (Op::Sar_rm32_CL, EAX, CL)
            }
            Op32::MinU | Op32::MaxU | Op32::MinS | Op32::MaxS => {
                self.asm.rr(Op::Cmp_r32_rm32, ECX, EAX);
                let take = match op {
                    Op32::MinU => Op::Cmovb_r32_rm32,
                    Op32::MaxU => Op::Cmova_r32_rm32,
                    Op32::MinS => Op::Cmovl_r32_rm32,
                    _ => Op::Cmovg_r32_rm32,
                };
                (take, EAX, ECX)
            }
            Op32::AbsS => {
                self.asm.rr(Op::Mov_r32_rm32, ECX, EAX);
                self.asm.r(Op::Neg_rm32, EAX);
                (Op::Cmovs_r32_rm32, EAX, ECX)
            }
            Op32::Popc => (Op::Popcnt_r32_rm32, EAX, EAX),
            Op32::Clz => (Op::Lzcnt_r32_rm32, EAX, EAX),
            Op32::FAbs => {
                self.asm.ri(Op::And_rm32_imm32, EAX, 0x7fff_ffff);
                return true;
            }
            Op32::FNeg => {
                self.asm.ri(Op::Xor_rm32_imm32, EAX, i32::MIN);
                return true;
            }
            _ => return false,
        };
        self.asm.rr(op, a, b);
        if let (Op::Imul_r32_rm32, false) = (op, matches!(src[2], Src::Const(0))) {
            // The addend of a multiply-add; 0 for plain products.
            self.s(src[2], RCX);
            self.asm.rr(Op::Add_r32_rm32, EAX, ECX);
        }
        true
    }

    /// Computes a float operation on `eax` and further operands.
    fn scalar_float(&mut self, op: Op32, src: &[Src; 3]) -> bool {
        match op {
            // Only 64-bit signed integers cover all unsigned words.
            Op32::FFromU => {
                self.asm.rr(Op::Mov_r32_rm32, EAX, EAX);
                self.asm.rrr(Op::VEX_Vcvtsi2ss_xmm_xmm_rm64, XMM0, XMM1, RAX);
            }
            Op32::FFromS => self.asm.rrr(Op::VEX_Vcvtsi2ss_xmm_xmm_rm32, XMM0, XMM1, EAX),
            _ => {
                self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM0, EAX);
                self.s(src[1], RCX);
                self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM1, ECX);
            }
        }
        let two = |op| Some((op, XMM0, XMM1));
        let last = match op {
            Op32::FAdd => two(Op::VEX_Vaddss_xmm_xmm_xmmm32),
            Op32::FSub => two(Op::VEX_Vsubss_xmm_xmm_xmmm32),
            Op32::FMul => two(Op::VEX_Vmulss_xmm_xmm_xmmm32),
            Op32::FDiv => two(Op::VEX_Vdivss_xmm_xmm_xmmm32),
            Op32::FSqrt => Some((Op::VEX_Vsqrtss_xmm_xmm_xmmm32, XMM0, XMM0)),
            Op32::FRcp => {
                self.asm.ri64(RCX, 1f32.to_bits().into());
                self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM2, ECX);
                Some((Op::VEX_Vdivss_xmm_xmm_xmmm32, XMM2, XMM0))
            }
            Op32::FFma => {
                self.s(src[2], RCX);
                self.asm.rr(Op::VEX_Vmovd_xmm_rm32, XMM2, ECX);
                let op = Op::VEX_Vfmadd213ss_xmm_xmm_xmmm32;
                self.asm.rrr(op, XMM0, XMM1, XMM2);
                None
            }
            Op32::FFromU | Op32::FFromS => None,
            _ => return false,
        };
        if let Some((op, a, b)) = last {
            self.asm.rrr(op, XMM0, a, b);
        }
        self.asm.rr(Op::VEX_Vmovd_rm32_xmm, EAX, XMM0);
        self.asm.ri64(RCX, NAN32.into());
        self.asm.rr(Op::VEX_Vucomiss_xmm_xmmm32, XMM0, XMM0);
        self.asm.rr(Op::Cmovp_r32_rm32, EAX, ECX);
        true
    }

    /// Computes a 64-bit operation into `rax`.
    fn scalar64(&mut self, op: Op64, src: &[Src; 3]) -> bool {
        self.s(src[0], RAX);
        self.s(src[1], RCX);
        match op {
            Op64::Mov => {}
            Op64::Add => self.asm.rr(Op::Add_r64_rm64, RAX, RCX),
            Op64::Sub => self.asm.rr(Op::Sub_r64_rm64, RAX, RCX),
            Op64::And => self.asm.rr(Op::And_r64_rm64, RAX, RCX),
            Op64::Or => self.asm.rr(Op::Or_r64_rm64, RAX, RCX),
            Op64::Xor => self.asm.rr(Op::Xor_r64_rm64, RAX, RCX),
            Op64::Not => self.asm.r(Op::Not_rm64, RAX),
            Op64::Neg => self.asm.r(Op::Neg_rm64, RAX),
            Op64::Zext32 => self.asm.rr(Op::Mov_r32_rm32, EAX, EAX),
            Op64::Sext32 => self.asm.rr(Op::Movsxd_r64_rm32, RAX, EAX),
            Op64::Mul | Op64::MulWideU => self.asm.rr(Op::Imul_r64_rm64, RAX, RCX),
            Op64::Mad | Op64::MadWideU => {
                self.asm.rr(Op::Imul_r64_rm64, RAX, RCX);
                self.s(src[2], RCX);
                self.asm.rr(Op::Add_r64_rm64, RAX, RCX);
            }
            Op64::MulWideS | Op64::MadWideS => {
                self.asm.rr(Op::Movsxd_r64_rm32, RAX, EAX);
                self.asm.rr(Op::Movsxd_r64_rm32, RCX, ECX);
                self.asm.rr(Op::Imul_r64_rm64, RAX, RCX);
                if op == Op64::MadWideS {
                    self.s(src[2], RCX);
                    self.asm.rr(Op::Add_r64_rm64, RAX, RCX);
                }
            }
            Op64::Shl | Op64::ShrU => {
                let shift = if op == Op64::Shl { Op::Shl_rm64_CL } else { Op::Shr_rm64_CL };
                self.asm.rr(Op::Xor_r32_rm32, EDX, EDX);
                self.asm.rr(shift, RAX, CL);
                self.asm.ri(Op::Cmp_rm64_imm8, RCX, 63);
                self.asm.rr(Op::Cmova_r64_rm64, RAX, RDX);
            }
            Op64::ShrS => {
                self.asm.ri64(RDX, 63);
                self.asm.ri(Op::Cmp_rm64_imm8, RCX, 63);
                self.asm.rr(Op::Cmova_r64_rm64, RCX, RDX);
                self.asm.rr(Op::Sar_rm64_CL, RAX, CL);
            }
            Op64::MinU | Op64::MaxU | Op64::MinS | Op64::MaxS => {
                self.asm.rr(Op::Cmp_r64_rm64, RCX, RAX);
                let take = match op {
                    Op64::MinU => Op::Cmovb_r64_rm64,
                    Op64::MaxU => Op::Cmova_r64_rm64,
                    Op64::MinS => Op::Cmovl_r64_rm64,
                    _ => Op::Cmovg_r64_rm64,
                };
                self.asm.rr(take, RAX, RCX);
            }
            Op64::DAdd | Op64::DSub | Op64::DMul | Op64::DFma | Op64::DDiv => {
                self.scalar_double(op, src[2]);
            }
        }
        true
    }

    /// Computes a 64-bit float operation on `rax`, `rcx` and perhaps a third operand.
    fn scalar_double(&mut self, op: Op64, third: Src) {
        self.asm.rr(Op::VEX_Vmovq_xmm_rm64, XMM0, RAX);
        self.asm.rr(Op::VEX_Vmovq_xmm_rm64, XMM1, RCX);
        let (op, b, c) = match op {
            Op64::DAdd => (Op::VEX_Vaddsd_xmm_xmm_xmmm64, XMM0, XMM1),
            Op64::DSub => (Op::VEX_Vsubsd_xmm_xmm_xmmm64, XMM0, XMM1),
            Op64::DMul => (Op::VEX_Vmulsd_xmm_xmm_xmmm64, XMM0, XMM1),
            Op64::DDiv => (Op::VEX_Vdivsd_xmm_xmm_xmmm64, XMM0, XMM1),
            _ => {
                self.s(third, RCX);
                self.asm.rr(Op::VEX_Vmovq_xmm_rm64, XMM2, RCX);
                (Op::VEX_Vfmadd213sd_xmm_xmm_xmmm64, XMM1, XMM2)
            }
        };
        self.asm.rrr(op, XMM0, b, c);
        self.asm.rr(Op::VEX_Vmovq_rm64_xmm, RAX, XMM0);
        self.asm.ri64(RCX, NAN64);
        self.asm.rr(Op::VEX_Vucomisd_xmm_xmmm64, XMM0, XMM0);
        self.asm.rr(Op::Cmovp_r64_rm64, RAX, RCX);
    }

    /// Reads a special register from the warp context's list or the CTA's.
    pub(super) fn sreg(&mut self, reg: Sreg, dst: u32) {
        let index = self.sregs.len() as i64;
        self.sregs.push(self.now);
        let list = if is_by_warp(reg) { Frame::SREGS } else { Frame::CTA_SREGS };
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(Register::RBP, list));
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(RAX, 8 * index));
        self.put_scalar(dst);
    }

    /// Reads a special register that differs by lane and is the same in all CTAs, from the warp
    /// context's rows.
    pub(super) fn sreg_row(&mut self, reg: Sreg, row: u32, on: On) -> bool {
        if !is_by_warp(reg) {
            return false;
        }
        let index = self.sreg_rows.len() as i64;
        self.sreg_rows.push(self.now);
        self.asm.rm(Op::Mov_r64_rm64, RAX, at(Register::RBP, Frame::WARP));
        self.asm.rm(Op::Mov_r64_rm64, Register::RDI, at(RAX, WarpContext::SREG_ROWS));
        self.asm.ri(Op::Add_rm64_imm32, Register::RDI, (128 * index) as i32);
        self.vectors.copy_row(self, row, on);
        true
    }

    /// Widens an affine 32-bit value. If it may wrap around, the interpreter decides for the active
    /// lanes.
    pub(super) fn widen(
        &mut self,
        (signed, dst, base): (bool, u32, u32),
        stride: i64,
        factor: u64,
        addend: Src,
        on: On,
    ) -> bool {
        let Some(reach) = stride.checked_mul(31).and_then(|r| i32::try_from(r).ok()) else {
            return false;
        };
        let (cold, back) = self.cold(on);
        // The check covers all lanes, active or not, so it may fail although no active lane wraps
        // around.
        self.s(Src::Line(base, 0, u64::MAX), RAX);
        if signed {
            self.asm.rr(Op::Movsxd_r64_rm32, RAX, EAX);
        } else {
            self.asm.rr(Op::Mov_r32_rm32, EAX, EAX);
        }
        self.asm.rm(Op::Lea_r64_m, RDX, at(RAX, reach.into()));
        if signed {
            self.asm.rr(Op::Movsxd_r64_rm32, RCX, EDX);
            self.asm.rr(Op::Cmp_r64_rm64, RCX, RDX);
        } else {
            self.asm.ri(Op::Shr_rm64_imm8, RDX, 32);
        }
        self.asm.jump(Op::Jne_rel32_64, cold);
        match i32::try_from(factor as i64) {
            Ok(1) => {}
            Ok(_) if factor.is_power_of_two() => {
                self.asm.ri(Op::Shl_rm64_imm8, RAX, factor.trailing_zeros() as i32);
            }
            Ok(factor) => self.asm.rri(Op::Imul_r64_rm64_imm32, RAX, RAX, factor),
            Err(_) => {
                self.asm.ri64(R8, factor);
                self.asm.rr(Op::Imul_r64_rm64, RAX, R8);
            }
        }
        if addend != Src::Const(0) {
            self.s(addend, RCX);
            self.asm.rr(Op::Add_r64_rm64, RAX, RCX);
        }
        self.put_scalar(dst);
        self.asm.bind(back);
        true
    }
}

/// Returns whether a special register differs by warp of a CTA and is the same in all CTAs.
pub(crate) fn is_by_warp(reg: Sreg) -> bool {
    matches!(
        reg,
        Sreg::TidX
            | Sreg::TidY
            | Sreg::TidZ
            | Sreg::LaneId
            | Sreg::WarpId
            | Sreg::LaneMaskEq
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskGe
            | Sreg::LaneMaskGt
    )
}
