//! Operations on integer lanes.

use super::Avx2;
use crate::select::level::Rows;
use crate::vcode::{Mem, Source, VReg, View};
use iced_x86::Code as Op;
use vector::{LaneOp, Rounding, Value};

const AND: Op = Op::VEX_Vpand_ymm_ymm_ymmm256;
const XOR: Op = Op::VEX_Vpxor_ymm_ymm_ymmm256;
const GREATER: Op = Op::VEX_Vpcmpgtq_ymm_ymm_ymmm256;
const PRODUCT: Op = Op::VEX_Vpmuludq_ymm_ymm_ymmm256;

/// Operations that are one instruction on two operands.
pub(super) fn binary(op: LaneOp, wide: bool) -> Option<Op> {
    use LaneOp as L;
    Some(match (op, wide) {
        (L::And, _) => AND,
        (L::Or, _) => Op::VEX_Vpor_ymm_ymm_ymmm256,
        (L::Xor, _) => XOR,
        (L::AndNot, _) => Op::VEX_Vpandn_ymm_ymm_ymmm256,
        (L::Add, false) => Op::VEX_Vpaddd_ymm_ymm_ymmm256,
        (L::Add, true) => Op::VEX_Vpaddq_ymm_ymm_ymmm256,
        (L::Sub, false) => Op::VEX_Vpsubd_ymm_ymm_ymmm256,
        (L::Sub, true) => Op::VEX_Vpsubq_ymm_ymm_ymmm256,
        (L::Mul, false) => Op::VEX_Vpmulld_ymm_ymm_ymmm256,
        (L::MulLowU, true) => PRODUCT,
        (L::MulLowS, true) => Op::VEX_Vpmuldq_ymm_ymm_ymmm256,
        // Amounts beyond the width yield 0, or copies of the sign.
        (L::Shl, false) => Op::VEX_Vpsllvd_ymm_ymm_ymmm256,
        (L::Shl, true) => Op::VEX_Vpsllvq_ymm_ymm_ymmm256,
        (L::Shr, false) => Op::VEX_Vpsrlvd_ymm_ymm_ymmm256,
        (L::Shr, true) => Op::VEX_Vpsrlvq_ymm_ymm_ymmm256,
        (L::Sar, false) => Op::VEX_Vpsravd_ymm_ymm_ymmm256,
        (L::MinU, false) => Op::VEX_Vpminud_ymm_ymm_ymmm256,
        (L::MaxU, false) => Op::VEX_Vpmaxud_ymm_ymm_ymmm256,
        (L::MinS, false) => Op::VEX_Vpminsd_ymm_ymm_ymmm256,
        (L::MaxS, false) => Op::VEX_Vpmaxsd_ymm_ymm_ymmm256,
        (L::Add16, _) => Op::VEX_Vpaddw_ymm_ymm_ymmm256,
        (L::MinS16, _) => Op::VEX_Vpminsw_ymm_ymm_ymmm256,
        (L::MaxS16, _) => Op::VEX_Vpmaxsw_ymm_ymm_ymmm256,
        (L::MinU16, _) => Op::VEX_Vpminuw_ymm_ymm_ymmm256,
        (L::MaxU16, _) => Op::VEX_Vpmaxuw_ymm_ymm_ymmm256,
        (L::Dot16, false) => Op::VEX_Vpmaddwd_ymm_ymm_ymmm256,
        (L::FMin, false) => Op::VEX_Vminps_ymm_ymm_ymmm256,
        (L::FMin, true) => Op::VEX_Vminpd_ymm_ymm_ymmm256,
        (L::FMax, false) => Op::VEX_Vmaxps_ymm_ymm_ymmm256,
        (L::FMax, true) => Op::VEX_Vmaxpd_ymm_ymm_ymmm256,
        _ => return None,
    })
}

/// Shifts by an immediate.
fn shift_by(op: LaneOp, wide: bool) -> Option<Op> {
    Some(match (op, wide) {
        (LaneOp::Shl, false) => Op::VEX_Vpslld_ymm_ymm_imm8,
        (LaneOp::Shl, true) => Op::VEX_Vpsllq_ymm_ymm_imm8,
        (LaneOp::Shr, false) => Op::VEX_Vpsrld_ymm_ymm_imm8,
        (LaneOp::Shr, true) => Op::VEX_Vpsrlq_ymm_ymm_imm8,
        (LaneOp::Sar, false) => Op::VEX_Vpsrad_ymm_ymm_imm8,
        _ => return None,
    })
}

impl Avx2<'_, '_> {
    pub(super) fn part_of_lanes(
        &mut self,
        op: LaneOp,
        args: &[Value],
        part: usize,
        wide: bool,
    ) -> VReg {
        let width = if wide { 64 } else { 32 };
        if let (Some(shift), [a, b]) = (shift_by(op, wide), args)
            && let Some(by) = self.known(*b)
        {
            let most = if op == LaneOp::Sar { width - 1 } else { width };
            let a = self.v(*a, part);
            return self.f.v2i(shift, a, by.min(most) as i32);
        }
        if let (LaneOp::Mul, [a, b]) = (op, args)
            && let Some(by) = self.known(*b)
            && let Some(product) = self.product_by(*a, by, part, wide)
        {
            return product;
        }
        if let (Some(two), [a, b]) = (binary(op, wide), args) {
            let commutes =
                matches!(op, LaneOp::And | LaneOp::Or | LaneOp::Xor | LaneOp::Add | LaneOp::Mul);
            let (a, b) = if commutes { self.commuted(*a, *b) } else { (*a, *b) };
            let a = self.v(a, part);
            let b = self.operand(b, part);
            return self.f.v3(two, a, b);
        }
        match (op, args) {
            (LaneOp::Float(arith, rounding), _) => self.float(arith, rounding, args, part, wide),
            (LaneOp::FloatOfS(rounding) | LaneOp::FloatOfU(rounding), [a]) if wide => {
                let a = self.v(*a, part);
                self.doubles_of_longs(a, rounding, matches!(op, LaneOp::FloatOfS(_)))
            }
            (LaneOp::FloatOfS(rounding), [a]) => {
                let a = self.v(*a, part);
                self.under(rounding, Op::VEX_Vcvtdq2ps_ymm_ymmm256, View::V, &[a])
            }
            (LaneOp::FloatOfU(rounding), [a]) => self.float_of_unsigned(rounding, *a, part),
            (LaneOp::SignedOf(rounding) | LaneOp::UnsignedOf(rounding), [a]) => {
                let a = self.v(*a, part);
                match (op, wide) {
                    (LaneOp::SignedOf(_), false) => self.signed_words(a, rounding),
                    (_, false) => self.unsigned_words(a, rounding),
                    (_, true) => self.longs(a, rounding, matches!(op, LaneOp::SignedOf(_))),
                }
            }
            (LaneOp::FLeast | LaneOp::FGreatest, [a, b]) => {
                let (a, b) = (self.v(*a, part), self.v(*b, part));
                self.ordered(op == LaneOp::FLeast, a, b, wide)
            }
            (LaneOp::Integral(rounding), [a]) => {
                let a = self.v(*a, part);
                self.integral(a, rounding, wide)
            }
            (LaneOp::SingleOfHalf, [a]) => {
                let a = self.v(*a, part);
                self.singles_of_halves(a)
            }
            (LaneOp::HalfOfSingle(rounding), [a]) => {
                let a = self.v(*a, part);
                self.halves_of_singles(a, rounding)
            }
            (LaneOp::Table(table), [a, b, c]) => self.table(table, [*a, *b, *c], part),
            (LaneOp::Rotl, [a, b]) => self.rotated(*a, *b, part, wide),
            (LaneOp::Bytes, [a, b]) => self.bytes(*a, *b, part, wide),
            (LaneOp::Reverse, [a]) => {
                let a = self.v(*a, part);
                self.reversed(a, wide)
            }
            (LaneOp::Mul, [a, b]) => {
                let (a, b) = (self.v(*a, part), self.v(*b, part));
                self.long_product(a, b)
            }
            (LaneOp::MulHighU | LaneOp::MulHighS, [a, b]) if !wide => {
                let (a, b) = (self.v(*a, part), self.v(*b, part));
                self.high_product(op == LaneOp::MulHighS, a, b)
            }
            (LaneOp::Sar, [a, b]) => self.long_signed_shift(*a, *b, part),
            (LaneOp::MinU | LaneOp::MaxU | LaneOp::MinS | LaneOp::MaxS, [a, b]) => {
                self.extreme(op, *a, *b, part)
            }
            (LaneOp::Popc, [a]) => self.population_of_lanes(*a, part, wide),
            (LaneOp::Clz, [a]) if !wide => {
                let a = self.v(*a, part);
                self.leading_zeros(a)
            }
            (LaneOp::Clz, [a]) => self.long_leading_zeros(*a, part),
            _ => self.lacking(&op),
        }
    }

    /// The low words of 64-bit products, from those of the halves.
    fn long_product(&mut self, a: VReg, b: VReg) -> VReg {
        let (right, add) = (Op::VEX_Vpsrlq_ymm_ymm_imm8, Op::VEX_Vpaddq_ymm_ymm_ymmm256);
        let high = self.f.v2i(right, a, 32);
        let cross = self.f.v3(PRODUCT, high, b);
        let high = self.f.v2i(right, b, 32);
        let other = self.f.v3(PRODUCT, high, a);
        let cross = self.f.v3(add, cross, other);
        let cross = self.f.v2i(Op::VEX_Vpsllq_ymm_ymm_imm8, cross, 32);
        let low = self.f.v3(PRODUCT, a, b);
        self.f.v3(add, low, cross)
    }

    /// High words of products of 32-bit lanes: of even lanes, then of odd ones.
    fn high_product(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        let multiply = if signed { Op::VEX_Vpmuldq_ymm_ymm_ymmm256 } else { PRODUCT };
        let shift = Op::VEX_Vpsrlq_ymm_ymm_imm8;
        let even = self.f.v3(multiply, a, b);
        let even = self.f.v2i(shift, even, 32);
        let (a, b) = (self.f.v2i(shift, a, 32), self.f.v2i(shift, b, 32));
        let odd = self.f.v3(multiply, a, b);
        self.f.v3i(Op::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, even, odd, 0xaa)
    }

    /// There is no shift of 64-bit lanes that copies the sign: negative values are inverted before
    /// and after.
    fn long_signed_shift(&mut self, a: Value, by: Value, part: usize) -> VReg {
        let a = self.v(a, part);
        let zero = self.row_const(0, true);
        let sign = self.f.v3(GREATER, zero, a);
        let positive = self.f.v3(XOR, a, sign);
        let shifted = match self.known(by) {
            Some(by) => self.f.v2i(Op::VEX_Vpsrlq_ymm_ymm_imm8, positive, by.min(64) as i32),
            None => {
                let by = self.operand(by, part);
                self.f.v3(Op::VEX_Vpsrlvq_ymm_ymm_ymmm256, positive, by)
            }
        };
        self.f.v3(XOR, shifted, sign)
    }

    /// The smaller or the greater of 64-bit lanes.
    fn extreme(&mut self, op: LaneOp, a: Value, b: Value, part: usize) -> VReg {
        let (x, y) = (self.v(a, part), self.v(b, part));
        let greater = match op {
            LaneOp::MinS | LaneOp::MaxS => self.f.v3(GREATER, x, y),
            _ => {
                let (x, y) = (self.flipped(a, part), self.flipped(b, part));
                self.f.v3(GREATER, x, y)
            }
        };
        let (yes, no) = match op {
            LaneOp::MaxU | LaneOp::MaxS => (x, y),
            _ => (y, x),
        };
        self.blend(no, yes, greater, true)
    }

    /// Of both halves of each word the exact float; their sum is rounded once.
    fn float_of_unsigned(&mut self, rounding: Rounding, a: Value, part: usize) -> VReg {
        let a = self.v(a, part);
        let mask = self.constant(0xffff, false);
        let low = self.f.v3(AND, a, mask);
        let high = self.f.v2i(Op::VEX_Vpsrld_ymm_ymm_imm8, a, 16);
        let [low, high] = [low, high].map(|half| self.f.v2(Op::VEX_Vcvtdq2ps_ymm_ymmm256, half));
        let scale = self.constant(65_536f32.to_bits().into(), false);
        let multiply_add = Op::VEX_Vfmadd132ps_ymm_ymm_ymmm256;
        match rounding {
            Rounding::Nearest => self.f.v4(multiply_add, high, low, scale),
            _ => {
                let scale = self.row_const(65_536f32.to_bits().into(), false);
                self.under(rounding, multiply_add, View::V, &[high, low, scale])
            }
        }
    }

    /// Bits that are set: of each four by a table, then summed.
    fn population_of_lanes(&mut self, a: Value, part: usize, wide: bool) -> VReg {
        let a = self.v(a, part);
        let counts = [0x0302_0201_0201_0100, 0x0403_0302_0302_0201];
        let table = self.pool.vector(std::array::from_fn(|i| counts[i % 2]));
        let table = self.f.v2(Op::VEX_Vmovdqa_ymm_ymmm256, Mem::pool(table));
        let nibbles = self.constant(0x0f0f_0f0f, false);
        let low = self.f.v3(AND, a, nibbles);
        let high = self.f.v2i(Op::VEX_Vpsrld_ymm_ymm_imm8, a, 4);
        let high = self.f.v3(AND, high, nibbles);
        let look_up = Op::VEX_Vpshufb_ymm_ymm_ymmm256;
        let [low, high] = [low, high].map(|half| self.f.v3(look_up, table, half));
        let bytes = self.f.v3(Op::VEX_Vpaddb_ymm_ymm_ymmm256, low, high);
        if wide {
            let zero = self.row_const(0, true);
            return self.f.v3(Op::VEX_Vpsadbw_ymm_ymm_ymmm256, bytes, zero);
        }
        let ones = self.constant(0x0101_0101, false);
        let pairs = self.f.v3(Op::VEX_Vpmaddubsw_ymm_ymm_ymmm256, bytes, ones);
        let ones = self.constant(0x0001_0001, false);
        self.f.v3(Op::VEX_Vpmaddwd_ymm_ymm_ymmm256, pairs, ones)
    }

    /// From the exponent of the value as a float, of which no more than the highest bit may count.
    fn leading_zeros(&mut self, a: VReg) -> VReg {
        let shift = Op::VEX_Vpsrld_ymm_ymm_imm8;
        let half = self.f.v2i(shift, a, 1);
        let highest = self.f.v3(Op::VEX_Vpandn_ymm_ymm_ymmm256, half, a);
        let float = self.f.v2(Op::VEX_Vcvtdq2ps_ymm_ymmm256, highest);
        let exponent = self.f.v2i(shift, float, 23);
        let bias = self.row_const(158, false);
        // Not below 0, where the sign bit is set; 158, and so 32, for 0.
        let zeros = self.f.v3(Op::VEX_Vpsubusw_ymm_ymm_ymmm256, bias, exponent);
        let most = self.constant(32, false);
        self.f.v3(Op::VEX_Vpminud_ymm_ymm_ymmm256, zeros, most)
    }

    /// The zeros of the high word, and those of the low word if there are 32.
    fn long_leading_zeros(&mut self, a: Value, part: usize) -> VReg {
        let a = self.v(a, part);
        let words = self.leading_zeros(a);
        let high = self.f.v2i(Op::VEX_Vpsrlq_ymm_ymm_imm8, words, 32);
        let whole = self.constant(32, true);
        let whole = self.f.v3(Op::VEX_Vpcmpeqq_ymm_ymm_ymmm256, high, whole);
        let low = self.constant(0xffff_ffff, true);
        let low = self.f.v3(AND, words, low);
        let low = self.f.v3(AND, whole, low);
        self.f.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, high, Source::from(low))
    }
}
