//! Comparisons.

use super::T;
use crate::emit::predicate::float_relation;
use crate::emit::{Emitter, On};
use fast::code::Src;
use fast::ops::{Rel, Test};
use iced_x86::{Code as Op, Register};
use ir::mods::BoolOp;

use Register::{EAX, ECX, K5, K6};

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
}
