//! Comparisons of rows, and masks.

use super::Avx512;
use crate::Refused;
use crate::select::level::{Masks, To};
use crate::select::masks::float_relation;
use crate::select::{Mask, Place};
use crate::vcode::{Mem, Part, VReg, View};
use fast::ops::{Rel, Test};
use iced_x86::Code as Op;
use smallvec::smallvec;
use vector::{MaskOp, Value};

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

impl Masks for Avx512<'_, '_> {
    fn mask_of_bit(&mut self, scalar: VReg) -> Mask {
        let bit = self.f.alu(Op::And_rm32_imm8, View::R32, scalar, (1,));
        let all = self.f.alu(Op::Neg_rm32, View::R32, bit, ());
        let mask = self.f.k2(Op::VEX_Kmovd_kr_r32, all.d());
        smallvec![mask, mask]
    }

    fn mask_const(&mut self, bits: u32) -> Mask {
        let low = self.half_const(bits as u16);
        if bits as u16 == (bits >> 16) as u16 {
            return smallvec![low, low];
        }
        smallvec![low, self.half_const((bits >> 16) as u16)]
    }

    fn mask_of(&mut self, bits: VReg) -> Mask {
        let low = self.f.k2(Op::VEX_Kmovd_kr_r32, bits.d());
        let high = self.f.alu(Op::Shr_rm32_imm8, View::R32, bits, (16,));
        smallvec![low, self.f.k2(Op::VEX_Kmovd_kr_r32, high.d())]
    }

    fn load_mask(&mut self, from: Mem) -> Mask {
        let half = |this: &mut Self, from| this.f.k2(Op::VEX_Kmovw_kr_km16, from);
        smallvec![half(self, from), half(self, from.offset(2))]
    }

    fn bits_of(&mut self, mask: Mask) -> VReg {
        let both = self.f.k3(Op::VEX_Kunpckwd_kr_kr_kr, mask[1], mask[0]);
        self.f.def(Op::VEX_Kmovd_r32_kr, View::R32, (both,))
    }

    fn mask_logic(&mut self, op: MaskOp, a: Mask, b: Mask) -> Mask {
        a.into_iter().zip(b).map(|(a, b)| self.mask_op(op, a, b)).collect()
    }

    fn branch_on_any(&mut self, mask: Mask, yes: To<'_>, no: To<'_>) {
        let test = (Op::VEX_Kortestw_kr_kr, View::K);
        self.f.branch(test, (mask[0], mask[1]), Op::Jne_rel32_64, yes, no);
    }

    fn scalar_float_test(&mut self, a: VReg, b: VReg, relation: i32) -> VReg {
        let compare = Op::EVEX_Vcmpss_kr_k1_xmm_xmmm32_imm8_sae;
        let mask = self.f.def(compare, View::K, (a.x(), b.x(), relation));
        let bits = self.f.def(Op::VEX_Kmovd_r32_kr, View::R32, (mask,));
        self.f.alu(Op::And_rm32_imm8, View::R32, bits, (1,))
    }
}

impl Avx512<'_, '_> {
    /// A comparison of rows.
    pub(super) fn row_test(&mut self, test: Test, args: &[Value], result: Option<Value>) {
        let wide = self.is_wide(args[0]);
        let (op, number) = match (test, wide) {
            (Test::U(rel), false) => (Op::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, relation(rel)),
            (Test::S(rel), false) => (Op::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, relation(rel)),
            (Test::U(rel), true) => (Op::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8, relation(rel)),
            (Test::S(rel), true) => (Op::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8, relation(rel)),
            (Test::F(cmp), _) => {
                let Some(number) = float_relation(cmp) else {
                    return self.refuse(Refused::Unsound);
                };
                let op = match wide {
                    true => Op::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
                    false => Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
                };
                (op, number)
            }
        };
        if let Some((x, y, set)) = self.bit_test(test, args) {
            let op = match (set, wide) {
                (true, false) => Op::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32,
                (true, true) => Op::EVEX_Vptestmq_kr_k1_zmm_zmmm512b64,
                (false, false) => Op::EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32,
                (false, true) => Op::EVEX_Vptestnmq_kr_k1_zmm_zmmm512b64,
            };
            return self.put_mask(wide, result, |this, part| {
                let x = this.v(x, part);
                let y = this.operand(y, part);
                this.f.test(op, x, y)
            });
        }
        self.compare_rows(op, args, number, result);
    }

    /// The lanes in which one of two floats is a NaN.
    pub(super) fn unordered(&mut self, args: &[Value], result: Option<Value>) {
        let op = match self.is_wide(args[0]) {
            true => Op::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae,
            false => Op::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae,
        };
        self.compare_rows(op, args, 3, result);
    }

    /// 1 where the mask is set, else 0.
    pub(super) fn row_of_mask(&mut self, mask: Value, result: Option<Value>) {
        let one = Mem::pool(self.pool.word(1));
        let halves = self
            .m(mask)
            .map(|half| self.f.zero(half).v2(Op::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, one));
        self.put_row(result, halves);
    }

    /// Returns the halves of a mask in registers.
    pub(super) fn m(&mut self, value: Value) -> [VReg; 2] {
        let mask = self.mask(value);
        [mask[0], mask[1]]
    }

    fn half_const(&mut self, bits: u16) -> VReg {
        match bits {
            0 => self.f.same(Op::VEX_Kxorw_kr_kr_kr, View::K, 2),
            u16::MAX => self.f.same(Op::VEX_Kxnorw_kr_kr_kr, View::K, 2),
            _ => {
                let bits = self.f.constant(bits.into());
                self.f.k2(Op::VEX_Kmovd_kr_r32, bits.d())
            }
        }
    }

    fn compare_rows(&mut self, op: Op, args: &[Value], number: i32, result: Option<Value>) {
        self.put_mask(self.is_wide(args[0]), result, |this, part| {
            let a = this.v(args[0], part);
            let b = this.operand(args[1], part);
            this.f.compare(op, a, b, number)
        });
    }

    /// Puts the mask that a comparison of each part yields. Quarters become halves at once: mask
    /// registers are few.
    fn put_mask(
        &mut self,
        wide: bool,
        result: Option<Value>,
        mut part: impl FnMut(&mut Self, usize) -> VReg,
    ) {
        let unpack = Op::VEX_Kunpckbw_kr_kr_kr;
        if result.is_some_and(|r| self.is_uniform(r)) {
            let mut half = part(self, 0);
            if wide {
                half = self.f.k3(unpack, half, half);
            }
            return self.put(result, Place::Mask(smallvec![half; 2]));
        }
        let halves = [0, 1].map(|half| {
            if !wide {
                return part(self, half);
            }
            let [low, high] = [0, 1].map(|quarter| part(self, 2 * half + quarter));
            self.f.k3(unpack, high, low)
        });
        self.put(result, Place::Mask(halves.into_iter().collect()));
    }

    /// Returns the quarters of a mask.
    pub(super) fn quarters(&mut self, mask: Value) -> [VReg; 4] {
        if let Some(&quarters) = self.quarters.get(&mask) {
            return quarters;
        }
        let [low, high] = self.m(mask);
        let shift = Op::VEX_Kshiftrw_kr_kr_imm8;
        let quarters = [low, self.f.k2i(shift, low, 8), high, self.f.k2i(shift, high, 8)];
        self.quarters.insert(mask, quarters);
        quarters
    }

    fn mask_op(&mut self, op: MaskOp, a: VReg, b: VReg) -> VReg {
        match op {
            MaskOp::And => self.f.k3(Op::VEX_Kandw_kr_kr_kr, a, b),
            MaskOp::Or => self.f.k3(Op::VEX_Korw_kr_kr_kr, a, b),
            MaskOp::Xor => self.f.k3(Op::VEX_Kxorw_kr_kr_kr, a, b),
            // The second operand without the first.
            MaskOp::AndNot => self.f.k3(Op::VEX_Kandnw_kr_kr_kr, b, a),
            MaskOp::Not => self.f.k2(Op::VEX_Knotw_kr_kr, a),
        }
    }
}
