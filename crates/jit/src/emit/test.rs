//! Comparisons and logic on predicates.

use super::{Emitter, On, T};
use crate::asm::at;
use fast::code::Src;
use fast::ops::{Logic, Rel, Test};
use iced_x86::{Code as Op, Register};
use ir::mods::{BoolOp, Cmp};

use Register::{EAX, ECX, K5, K6, R14};

/// The number of a relation in integer comparisons.
fn relation(rel: Rel) -> i32 {
    match rel {
        Rel::Eq => 0,
        Rel::Lt => 1,
        Rel::Le => 2,
        Rel::Ne => 4,
        Rel::Ge => 5,
        Rel::Gt => 6,
    }
}

/// The number of a relation in comparisons of floats, without exceptions.
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
    pub(super) fn test(
        &mut self,
        test: Test,
        wide: bool,
        combine: Option<BoolOp>,
        dst: u32,
        src: &[Src; 3],
        on: On,
    ) -> bool {
        let (op, number) = match (test, wide) {
            (Test::U(rel), false) => (Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, relation(rel)),
            (Test::S(rel), false) => (Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, relation(rel)),
            (Test::U(rel), true) => (Op::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8, relation(rel)),
            (Test::S(rel), true) => (Op::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8, relation(rel)),
            (Test::F(cmp), false) => match float_relation(cmp) {
                Some(number) => (Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, number),
                None => return false,
            },
            (Test::F(_), true) => return false,
        };
        if wide {
            for (k, quarter) in [(K5, 0), (K6, 1)] {
                self.compare_wide(op, k, src, quarter, number);
            }
            self.asm.rrr(Op::VEX_Kunpckbw_kr_kr_kr, K5, K6, K5);
            self.compare_wide(op, K6, src, 2, number);
            self.asm.rr(Op::VEX_Kmovd_r32_kr, EAX, K5);
            self.compare_wide(op, K5, src, 3, number);
            self.asm.rrr(Op::VEX_Kunpckbw_kr_kr_kr, K6, K5, K6);
            self.asm.rr(Op::VEX_Kmovd_r32_kr, ECX, K6);
            self.asm.ri(Op::Shl_rm32_imm8, ECX, 16);
            self.asm.rr(Op::Or_r32_rm32, EAX, ECX);
        } else {
            for (half, k) in [K5, K6].into_iter().enumerate() {
                let a = self.nz(src[0], half, T[2]);
                let b = self.n(src[1], half, T[3]);
                self.asm.v3i(op, k, a, b, number, None);
            }
            self.asm.rrr(Op::VEX_Kunpckwd_kr_kr_kr, K5, K6, K5);
            self.asm.rr(Op::VEX_Kmovd_r32_kr, EAX, K5);
        }
        if let Some(how) = combine {
            self.predicate(src[2], ECX);
            let op = match how {
                BoolOp::And => Op::And_r32_rm32,
                BoolOp::Or => Op::Or_r32_rm32,
                BoolOp::Xor => Op::Xor_r32_rm32,
            };
            self.asm.rr(op, EAX, ECX);
        }
        self.put_predicate(dst, on);
        true
    }

    fn compare_wide(&mut self, op: Op, k: Register, src: &[Src; 3], quarter: usize, number: i32) {
        let a = self.wz(src[0], quarter, T[2]);
        let b = self.w(src[1], quarter, T[3]);
        self.asm.v3i(op, k, a, b, number, None);
    }

    /// A mask, in `eax`, for the lanes that are on.
    pub(super) fn put_predicate(&mut self, dst: u32, on: On) {
        let place = at(R14, 4 * i64::from(dst));
        if self.blend {
            self.asm.rm(Op::Mov_r32_rm32, ECX, place);
            self.asm.rr(Op::Xor_r32_rm32, EAX, ECX);
            self.asm.rr(Op::And_r32_rm32, EAX, on.lanes);
            self.asm.rr(Op::Xor_r32_rm32, EAX, ECX);
        }
        self.asm.mr(Op::Mov_rm32_r32, place, EAX);
    }

    /// A logical operation of EAX and ECX, into EAX; ECX is lost.
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
