//! Comparisons of rows, and masks.
//!
//! A mask is bits of a general register: logic and counts are one instruction, and no vector
//! register is live. Where a selection reads a mask that was compared in the same block, it reads
//! the vectors of the comparison. The bits of others are shifted to the signs of lanes: a selection
//! looks at no other bit.

use super::Avx2;
use crate::Refused;
use crate::select::level::{Masks, To};
use crate::select::masks::float_relation;
use crate::select::{Mask, Place};
use crate::vcode::{Mem, Part, Source, VReg, View};
use fast::ops::{Rel, Test};
use iced_x86::Code as Op;
use smallvec::{SmallVec, smallvec};
use vector::{MaskOp, Value};

/// A vector with a mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    pub(super) vector: VReg,
    /// Whether all bits of a lane are the same; otherwise the sign is the mask.
    pub(super) exact: bool,
    /// Whether the mask is the complement.
    pub(super) inverted: bool,
}

/// The vectors of a mask, as far as they are selected.
#[derive(Debug, Default)]
pub(super) struct Vectors(SmallVec<[Option<Lanes>; 8]>);

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;
const SIGN: u64 = 1 << 63;

impl Masks for Avx2<'_, '_> {
    fn mask_of_bit(&mut self, scalar: VReg) -> Mask {
        let bit = self.f.alu(Op::And_rm32_imm8, View::R32, scalar, (1,));
        smallvec![self.f.alu(Op::Neg_rm32, View::R32, bit, ())]
    }

    fn mask_const(&mut self, bits: u32) -> Mask {
        smallvec![self.f.constant(bits.into())]
    }

    fn mask_of(&mut self, bits: VReg) -> Mask {
        smallvec![self.f.int(Op::Mov_r32_rm32, View::R32, (bits,))]
    }

    fn load_mask(&mut self, from: Mem) -> Mask {
        smallvec![self.f.int(Op::Mov_r32_rm32, View::R32, (from,))]
    }

    fn bits_of(&mut self, mask: Mask) -> VReg {
        mask[0]
    }

    fn mask_logic(&mut self, op: MaskOp, a: Mask, b: Mask) -> Mask {
        let (a, b) = (a[0], b[0]);
        let alu = |this: &mut Self, op| this.f.alu(op, View::R32, a, (b,));
        smallvec![match op {
            MaskOp::And => alu(self, Op::And_r32_rm32),
            MaskOp::Or => alu(self, Op::Or_r32_rm32),
            MaskOp::Xor => alu(self, Op::Xor_r32_rm32),
            // The second operand without the first.
            MaskOp::AndNot => self.f.int(Op::VEX_Andn_r32_r32_rm32, View::R32, (b, a)),
            MaskOp::Not => self.f.alu(Op::Not_rm32, View::R32, a, ()),
        }]
    }

    fn branch_on_any(&mut self, mask: Mask, yes: To<'_>, no: To<'_>) {
        let test = (Op::Test_rm32_r32, View::R32);
        self.f.branch(test, (mask[0], mask[0]), Op::Jne_rel32_64, yes, no);
    }

    fn scalar_float_test(&mut self, a: VReg, b: VReg, relation: i32) -> VReg {
        let compare = Op::VEX_Vcmpss_xmm_xmm_xmmm32_imm8;
        let all = self.f.def(compare, View::X, (a.x(), b.x(), relation));
        let bits = self.f.def(Op::VEX_Vmovd_rm32_xmm, View::R32, (all.x(),));
        self.f.alu(Op::And_rm32_imm8, View::R32, bits, (1,))
    }
}

impl Avx2<'_, '_> {
    pub(super) fn quarter_of_test(
        &mut self,
        test: Test,
        args: &[Value],
        to: Value,
        quarter: usize,
    ) {
        self.compare_quarter(to, args, quarter, |this, part, wide| {
            this.compare(test, args, part, wide)
        });
    }

    pub(super) fn quarter_unordered(&mut self, args: &[Value], to: Value, quarter: usize) {
        self.compare_quarter(to, args, quarter, |this, part, wide| {
            this.compare_floats(3, args, part, wide)
        });
    }

    /// Compares a quarter of the lanes, and adds it to the mask's bits if anything needs these.
    fn compare_quarter(
        &mut self,
        to: Value,
        args: &[Value],
        quarter: usize,
        compare: impl Fn(&mut Self, usize, bool) -> Lanes,
    ) {
        let wide = self.is_wide(args[0]);
        let parts = if wide { 2 } else { 1 };
        let mut inverted = false;
        let mut bits: Option<VReg> = None;
        for part in quarter * parts..(quarter + 1) * parts {
            let lanes = compare(self, part, wide);
            inverted = lanes.inverted;
            self.keep(to, wide, part, lanes);
            if self.waiting.needs_bits[to.index()] {
                let op = match wide {
                    true => Op::VEX_Vmovmskpd_r32_ymm,
                    false => Op::VEX_Vmovmskps_r32_ymm,
                };
                let more = self.f.def(op, View::R32, (lanes.vector.y(),));
                bits = Some(match bits {
                    None => more,
                    Some(bits) => {
                        let more = self.f.alu(Op::Shl_rm32_imm8, View::R32, more, (4,));
                        self.f.alu(Op::Or_r32_rm32, View::R32, bits, (more,))
                    }
                });
            }
        }
        let Some(mut bits) = bits else { return };
        if quarter > 0 {
            bits = self.f.alu(Op::Shl_rm32_imm8, View::R32, bits, (8 * quarter as i32,));
            if let Some(Place::Mask(before)) = &self.places[to.index()] {
                let before = before[0];
                bits = self.f.alu(Op::Or_r32_rm32, View::R32, bits, (before,));
            }
        }
        if quarter == 3 && inverted {
            bits = self.f.alu(Op::Not_rm32, View::R32, bits, ());
        }
        self.put(Some(to), Place::Mask(smallvec![bits]));
    }

    fn keep(&mut self, mask: Value, wide: bool, part: usize, lanes: Lanes) {
        let Vectors(list) = self.waiting.vectors.entry((mask, wide)).or_default();
        if list.is_empty() {
            list.resize(8, None);
        }
        list[part] = Some(lanes);
    }

    /// Compares a part of two rows.
    fn compare(&mut self, test: Test, args: &[Value], part: usize, wide: bool) -> Lanes {
        let exact = |vector, inverted| Lanes { vector, exact: true, inverted };
        if let Some((x, y, set)) = self.bit_test(test, args) {
            return self.test_bits(x, y, set, part, wide);
        }
        let (rel, signed) = match test {
            Test::F(cmp) => {
                let Some(number) = float_relation(cmp) else {
                    self.refuse(Refused::Unsound);
                    return exact(self.lacking(&test), false);
                };
                return self.compare_floats(number, args, part, wide);
            }
            Test::U(rel) => (rel, false),
            Test::S(rel) => (rel, true),
        };
        let (a, b) = (args[0], args[1]);
        if let Rel::Eq | Rel::Ne = rel {
            let op = match wide {
                true => Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256,
                false => Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
            };
            let (a, b) = if self.known(a).is_some() { (b, a) } else { (a, b) };
            let a = self.v(a, part);
            let b = self.operand(b, part);
            return exact(self.f.v3(op, a, b), rel == Rel::Ne);
        }
        match (signed, wide) {
            (false, false) => {
                // One of two is the greater of both.
                let (op, inverted) = match rel {
                    Rel::Ge | Rel::Lt => (Op::VEX_Vpmaxud_ymm_ymm_ymmm256, rel == Rel::Lt),
                    _ => (Op::VEX_Vpminud_ymm_ymm_ymmm256, rel == Rel::Gt),
                };
                let a = self.v(a, part);
                let b = self.operand(b, part);
                let one = self.f.v3(op, a, b);
                exact(self.f.v3(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, one, a), inverted)
            }
            (true, _) if rel == Rel::Lt && self.known(b) == Some(0) => {
                Lanes { vector: self.v(a, part), exact: false, inverted: false }
            }
            (true, _) if rel == Rel::Ge && self.known(b) == Some(0) => {
                Lanes { vector: self.v(a, part), exact: false, inverted: true }
            }
            _ => {
                // Greater, less and their complements.
                let swapped = matches!(rel, Rel::Lt | Rel::Ge);
                let inverted = matches!(rel, Rel::Le | Rel::Ge);
                let (a, b) = if swapped { (b, a) } else { (a, b) };
                let op = match wide {
                    true => Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256,
                    false => Op::VEX_Vpcmpgtd_ymm_ymm_ymmm256,
                };
                let a = if signed { self.v(a, part) } else { self.flipped(a, part) };
                let b = match (signed, self.known(b)) {
                    (true, _) => self.operand(b, part),
                    (false, Some(bits)) => self.constant(bits ^ SIGN, true).into(),
                    (false, None) => self.flipped(b, part).into(),
                };
                exact(self.f.v3(op, a, b), inverted)
            }
        }
    }

    /// A part of a row of 64-bit lanes with signs flipped: unsigned numbers compare as signed ones.
    pub(super) fn flipped(&mut self, row: Value, part: usize) -> VReg {
        let a = self.v(row, part);
        let sign = self.constant(SIGN, true);
        self.f.v3(XOR, a, sign)
    }

    pub(super) fn compare_floats(
        &mut self,
        relation: i32,
        args: &[Value],
        part: usize,
        wide: bool,
    ) -> Lanes {
        let op = match wide {
            true => Op::VEX_Vcmppd_ymm_ymm_ymmm256_imm8,
            false => Op::VEX_Vcmpps_ymm_ymm_ymmm256_imm8,
        };
        let a = self.v(args[0], part);
        let b = self.operand(args[1], part);
        Lanes { vector: self.f.v3i(op, a, b, relation), exact: true, inverted: false }
    }

    /// Whether a conjunction has a bit, or none if not `set`. A single bit is shifted to the sign.
    fn test_bits(&mut self, x: Value, y: Value, set: bool, part: usize, wide: bool) -> Lanes {
        let width = if wide { 64 } else { 32 };
        let a = self.v(x, part);
        match self.known(y) {
            Some(bit) if bit.is_power_of_two() => {
                let shift = match wide {
                    true => Op::VEX_Vpsllq_ymm_ymm_imm8,
                    false => Op::VEX_Vpslld_ymm_ymm_imm8,
                };
                let by = width - 1 - bit.trailing_zeros() as i32;
                let vector = if by == 0 { a } else { self.f.v2i(shift, a, by) };
                Lanes { vector, exact: false, inverted: !set }
            }
            _ => {
                let equal = match wide {
                    true => Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256,
                    false => Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
                };
                let y = self.operand(y, part);
                let both = self.f.v3(AND, a, y);
                let zero = self.constant(0, wide);
                Lanes { vector: self.f.v3(equal, both, zero), exact: true, inverted: set }
            }
        }
    }

    /// Returns a part of a mask as a vector of 32-bit or 64-bit lanes.
    pub(super) fn lanes_of(&mut self, mask: Value, part: usize, wide: bool) -> Lanes {
        if let Some(lanes) = self.kept(mask, part, wide) {
            return lanes;
        }
        let lanes = self.new_lanes(mask, part, wide);
        self.keep(mask, wide, part, lanes);
        lanes
    }

    fn kept(&self, mask: Value, part: usize, wide: bool) -> Option<Lanes> {
        let Vectors(list) = self.waiting.vectors.get(&(mask, wide))?;
        list.get(part).copied().flatten()
    }

    fn new_lanes(&mut self, mask: Value, part: usize, wide: bool) -> Lanes {
        let quarter = if wide { part / 2 } else { part };
        if wide && let Some(narrow) = self.kept(mask, quarter, false) {
            let mut half: Source = narrow.vector.x();
            if part % 2 == 1 {
                let extract = Op::VEX_Vextracti128_xmmm128_ymm_imm8;
                half = self.f.def(extract, View::X, (narrow.vector.y(), 1)).x();
            }
            let vector = self.f.v2(Op::VEX_Vpmovsxdq_ymm_xmmm128, half);
            return Lanes { vector, ..narrow };
        }
        if !wide
            && let Some(low) = self.kept(mask, 2 * quarter, true)
            && let Some(high) = self.kept(mask, 2 * quarter + 1, true)
        {
            // The high words, where the signs are.
            let words = Op::VEX_Vshufps_ymm_ymm_ymmm256_imm8;
            let mixed = self.f.v3i(words, low.vector, high.vector, 0xdd);
            let vector = self.f.v2i(Op::VEX_Vpermq_ymm_ymmm256_imm8, mixed, 0xd8);
            return Lanes { vector, ..low };
        }
        if self.places[mask.index()].is_none()
            && let Some(inst) = self.defined[mask.index()]
            && let vector::Op::Mask(op) = self.source.inst(inst).op
        {
            let args = self.source.inst(inst).args.clone();
            return self.logic_of_lanes(op, &args, part, wide);
        }
        self.lanes_of_bits(mask, part, wide)
    }

    fn logic_of_lanes(&mut self, op: MaskOp, args: &[Value], part: usize, wide: bool) -> Lanes {
        let a = self.lanes_of(args[0], part, wide);
        if op == MaskOp::Not {
            return Lanes { inverted: !a.inverted, ..a };
        }
        let b = self.lanes_of(args[1], part, wide);
        let b_inverted = b.inverted ^ (op == MaskOp::AndNot);
        let exact = a.exact && b.exact;
        let (code, x, y, inverted) = match (op, a.inverted, b_inverted) {
            (MaskOp::Xor, ..) => (XOR, a, b, a.inverted ^ b.inverted),
            // By De Morgan's laws all others are conjunctions.
            (MaskOp::Or, false, false) => (Op::VEX_Vpor_ymm_ymm_ymmm256, a, b, false),
            (MaskOp::Or, true, true) => (AND, a, b, true),
            (MaskOp::Or, false, true) => (Op::VEX_Vpandn_ymm_ymm_ymmm256, a, b, true),
            (MaskOp::Or, true, false) => (Op::VEX_Vpandn_ymm_ymm_ymmm256, b, a, true),
            (_, false, false) => (AND, a, b, false),
            (_, true, true) => (Op::VEX_Vpor_ymm_ymm_ymmm256, a, b, true),
            // The first operand is the one that is complemented.
            (_, true, false) => (Op::VEX_Vpandn_ymm_ymm_ymmm256, a, b, false),
            (_, false, true) => (Op::VEX_Vpandn_ymm_ymm_ymmm256, b, a, false),
        };
        Lanes { vector: self.f.v3(code, x.vector, y.vector), exact, inverted }
    }

    /// Shifts the bits of a mask to the signs of lanes.
    fn lanes_of_bits(&mut self, mask: Value, part: usize, wide: bool) -> Lanes {
        let spread = match self.waiting.spread.get(&mask) {
            Some(&spread) => spread,
            None => {
                let bits = self.mask_bits(mask);
                let spread = self.spread(bits);
                self.waiting.spread.insert(mask, spread);
                spread
            }
        };
        let shift = match wide {
            true => Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
            false => Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
        };
        let by = self.sign_shifts(part, wide);
        Lanes { vector: self.f.v3(shift, spread, by), exact: false, inverted: false }
    }

    /// Puts 32 bits into each word of a vector.
    pub(super) fn spread(&mut self, bits: VReg) -> VReg {
        let bits = self.f.def(Op::VEX_Vmovd_xmm_rm32, View::X, (bits.d(),));
        self.f.v2(Op::VEX_Vpbroadcastd_ymm_xmmm32, bits.x())
    }

    /// The amounts that shift the bits of a part's lanes to the signs of these.
    pub(super) fn sign_shifts(&mut self, part: usize, wide: bool) -> Mem {
        // A vector of the pool has twice as many lanes.
        let (half, at) = (part / 2, 32 * (part as i64 % 2));
        let vector = match wide {
            true => std::array::from_fn(|i| 63 - (8 * half + i) as u64),
            false => std::array::from_fn(|i| {
                let by = |lane: usize| 31 - lane as u64;
                by(16 * half + 2 * i) | by(16 * half + 2 * i + 1) << 32
            }),
        };
        Mem::pool(self.pool.vector(vector) + at)
    }
}
