//! Operations on lanes: one instruction each, or a few.

use super::Avx512;
use crate::Refused;
use crate::select::level::Rows;
use crate::select::rows::rounding_bits;
use crate::vcode::{Mem, Part, Source, VReg, View};
use iced_x86::{Code as Op, RoundingControl};
use vector::{Arith, Conversion, LaneOp, Rounding, Type, Value};

/// Returns the encoding's rounding mode.
fn control(rounding: Rounding) -> RoundingControl {
    match rounding {
        Rounding::Nearest => RoundingControl::RoundToNearest,
        Rounding::Zero => RoundingControl::RoundTowardZero,
        Rounding::Down => RoundingControl::RoundDown,
        Rounding::Up => RoundingControl::RoundUp,
    }
}

/// Operations that are one instruction on two operands.
fn binary(op: LaneOp, wide: bool) -> Option<Op> {
    use LaneOp as L;
    Some(match (op, wide) {
        (L::And, false) => Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
        (L::And, true) => Op::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64,
        (L::Or, false) => Op::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
        (L::Or, true) => Op::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64,
        (L::Xor, false) => Op::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32,
        (L::Xor, true) => Op::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
        (L::AndNot, false) => Op::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32,
        (L::AndNot, true) => Op::EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64,
        (L::Add, false) => Op::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
        (L::Add, true) => Op::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
        (L::Sub, false) => Op::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32,
        (L::Sub, true) => Op::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64,
        (L::Mul, false) => Op::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32,
        (L::Mul, true) => Op::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64,
        (L::MulLowU, true) => Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
        (L::MulLowS, true) => Op::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
        // Amounts beyond the width yield 0, or copies of the sign.
        (L::Shl, false) => Op::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
        (L::Shl, true) => Op::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64,
        (L::Shr, false) => Op::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32,
        (L::Shr, true) => Op::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64,
        (L::Sar, false) => Op::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32,
        (L::Sar, true) => Op::EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64,
        (L::MinU, false) => Op::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32,
        (L::MinU, true) => Op::EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64,
        (L::MaxU, false) => Op::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32,
        (L::MaxU, true) => Op::EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64,
        (L::MinS, false) => Op::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32,
        (L::MinS, true) => Op::EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64,
        (L::MaxS, false) => Op::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32,
        (L::MaxS, true) => Op::EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64,
        (L::Rotl, false) => Op::EVEX_Vprolvd_zmm_k1z_zmm_zmmm512b32,
        (L::Rotl, true) => Op::EVEX_Vprolvq_zmm_k1z_zmm_zmmm512b64,
        (L::FMin, false) => Op::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
        (L::FMin, true) => Op::EVEX_Vminpd_zmm_k1z_zmm_zmmm512b64_sae,
        (L::FMax, false) => Op::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
        (L::FMax, true) => Op::EVEX_Vmaxpd_zmm_k1z_zmm_zmmm512b64_sae,
        _ => return None,
    })
}

/// Shifts by an immediate.
fn shift_by(op: LaneOp, wide: bool) -> Option<Op> {
    Some(match (op, wide) {
        (LaneOp::Shl, false) => Op::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8,
        (LaneOp::Shl, true) => Op::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8,
        (LaneOp::Shr, false) => Op::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8,
        (LaneOp::Shr, true) => Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8,
        (LaneOp::Sar, false) => Op::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8,
        (LaneOp::Sar, true) => Op::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8,
        (LaneOp::Rotl, false) => Op::EVEX_Vprold_zmm_k1z_zmmm512b32_imm8,
        (LaneOp::Rotl, true) => Op::EVEX_Vprolq_zmm_k1z_zmmm512b64_imm8,
        _ => return None,
    })
}

/// Operations on parts of lanes that are one instruction on two operands, without constants that
/// are broadcast from memory.
fn parts_of_lanes(op: LaneOp) -> Option<Op> {
    use LaneOp as L;
    Some(match op {
        L::Add16 => Op::EVEX_Vpaddw_zmm_k1z_zmm_zmmm512,
        L::MinS16 => Op::EVEX_Vpminsw_zmm_k1z_zmm_zmmm512,
        L::MaxS16 => Op::EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512,
        L::MinU16 => Op::EVEX_Vpminuw_zmm_k1z_zmm_zmmm512,
        L::MaxU16 => Op::EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512,
        L::Dot16 => Op::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512,
        _ => return None,
    })
}

/// Operations that are one instruction on one operand, and their rounding.
fn unary(op: LaneOp, wide: bool) -> Option<(Op, Rounding)> {
    use LaneOp as L;
    use Rounding::Nearest;
    Some(match (op, wide) {
        (L::Float(Arith::Sqrt, r), false) => (Op::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, r),
        (L::Float(Arith::Sqrt, r), true) => (Op::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, r),
        (L::FloatOfS(r), false) => (Op::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, r),
        (L::FloatOfS(r), true) => (Op::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er, r),
        (L::FloatOfU(r), false) => (Op::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, r),
        (L::FloatOfU(r), true) => (Op::EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er, r),
        (L::SignedOf(r), false) => (Op::EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er, r),
        (L::SignedOf(r), true) => (Op::EVEX_Vcvtpd2qq_zmm_k1z_zmmm512b64_er, r),
        (L::UnsignedOf(r), false) => (Op::EVEX_Vcvtps2udq_zmm_k1z_zmmm512b32_er, r),
        (L::UnsignedOf(r), true) => (Op::EVEX_Vcvtpd2uqq_zmm_k1z_zmmm512b64_er, r),
        (L::Popc, false) => (Op::EVEX_Vpopcntd_zmm_k1z_zmmm512b32, Nearest),
        (L::Popc, true) => (Op::EVEX_Vpopcntq_zmm_k1z_zmmm512b64, Nearest),
        (L::Clz, false) => (Op::EVEX_Vplzcntd_zmm_k1z_zmmm512b32, Nearest),
        (L::Clz, true) => (Op::EVEX_Vplzcntq_zmm_k1z_zmmm512b64, Nearest),
        _ => return None,
    })
}

/// Returns the table of the same function with its first and third operands exchanged.
fn exchanged(table: u8) -> u8 {
    (0..8).fold(0, |all, i| {
        let from = (i & 1) << 2 | i & 2 | i >> 2;
        all | (table >> from & 1) << i
    })
}

/// Float arithmetic on two operands.
fn float(arith: Arith, wide: bool) -> Op {
    match (arith, wide) {
        (Arith::Add, false) => Op::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Add, true) => Op::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Sub, false) => Op::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Sub, true) => Op::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Mul, false) => Op::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Mul, true) => Op::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Div, false) => Op::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Div, true) => Op::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Fma, false) => Op::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er,
        (Arith::Fma, true) => Op::EVEX_Vfmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
        (Arith::Sqrt, false) => Op::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er,
        (Arith::Sqrt, true) => Op::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er,
    }
}

impl Avx512<'_, '_> {
    /// Returns a part of a row as the last operand of an instruction that can broadcast.
    pub(super) fn operand(&mut self, value: Value, part: usize) -> Source {
        match self.known(value) {
            Some(bits) => Mem::pool(self.pool.word(bits)).broadcast().into(),
            None => self.v(value, part).into(),
        }
    }

    /// Population counts without AVX512_VPOPCNTDQ: those of nibbles, by a table, added up.
    fn population(&mut self, a: Value, part: usize, wide: bool) -> VReg {
        let a = self.v(a, part);
        let counts = [0x0302_0201_0201_0100, 0x0403_0302_0302_0201];
        let table = Mem::pool(self.pool.vector(std::array::from_fn(|i| counts[i % 2])));
        let table = self.f.v2(Op::EVEX_Vmovdqa64_zmm_k1z_zmmm512, table);
        let nibbles = self.row_const(0x0f0f_0f0f, false);
        let and = Op::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
        let low = self.f.v3(and, a, nibbles);
        let high = self.f.v2i(Op::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, a, 4);
        let high = self.f.v3(and, high, nibbles);
        let look_up = Op::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512;
        let [low, high] = [low, high].map(|half| self.f.v3(look_up, table, half));
        let bytes = self.f.v3(Op::EVEX_Vpaddb_zmm_k1z_zmm_zmmm512, low, high);
        if wide {
            let zero = self.row_const(0, true);
            return self.f.v3(Op::EVEX_Vpsadbw_zmm_zmm_zmmm512, bytes, zero);
        }
        let ones = self.row_const(0x0101_0101, false);
        let pairs = self.f.v3(Op::EVEX_Vpmaddubsw_zmm_k1z_zmm_zmmm512, bytes, ones);
        let ones = self.row_const(0x0001_0001, false);
        self.f.v3(Op::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512, pairs, ones)
    }

    /// Returns a part of the result of an operation.
    pub(super) fn lanes_of(&mut self, op: LaneOp, args: &[Value], part: usize, wide: bool) -> VReg {
        if let (LaneOp::Popc, [a], false) = (op, args, self.features.popcnt) {
            return self.population(*a, part, wide);
        }
        if let (Some((one, rounding)), [a]) = (unary(op, wide), args) {
            let a = self.v(*a, part);
            return self.rounded(rounding).v2(one, a);
        }
        if let (Some(two), [a, b]) = (parts_of_lanes(op), args) {
            let (a, b) = (self.v(*a, part), self.v(*b, part));
            return self.f.v3(two, a, b);
        }
        if let (Some(two), [a, b]) = (binary(op, wide), args) {
            let width = if wide { 64 } else { 32 };
            if let (Some(shift), Some(by)) = (shift_by(op, wide), self.known(*b)) {
                let by = match op {
                    LaneOp::Rotl => by % width,
                    LaneOp::Sar => by.min(width - 1),
                    _ => by.min(width),
                };
                let a = self.v(*a, part);
                return self.masked().v2i(shift, a, by as i32);
            }
            if let (LaneOp::Mul, Some(by)) = (op, self.known(*b))
                && let Some(product) = self.product_by(*a, by, part, wide)
            {
                return product;
            }
            let commutes =
                matches!(op, LaneOp::And | LaneOp::Or | LaneOp::Xor | LaneOp::Add | LaneOp::Mul);
            let (a, b) = if commutes && self.known(*a).is_some() { (*b, *a) } else { (*a, *b) };
            let a = self.v(a, part);
            let b = self.operand(b, part);
            return self.masked().v3(two, a, b);
        }
        match (op, args) {
            (LaneOp::Float(Arith::Fma, rounding), [a, b, c]) => {
                let (a, b) = (self.v(*a, part), self.v(*b, part));
                let c = match rounding {
                    Rounding::Nearest => self.operand(*c, part),
                    _ => self.v(*c, part).into(),
                };
                self.rounded(rounding).v4(float(Arith::Fma, wide), a, b, c)
            }
            (LaneOp::Float(arith, rounding), [a, b]) => {
                let a = self.v(*a, part);
                let b = match rounding {
                    Rounding::Nearest => self.operand(*b, part),
                    _ => self.v(*b, part).into(),
                };
                self.rounded(rounding).v3(float(arith, wide), a, b)
            }
            (LaneOp::FLeast | LaneOp::FGreatest, [a, b]) => {
                let range = match wide {
                    true => Op::EVEX_Vrangepd_zmm_k1z_zmm_zmmm512b64_imm8_sae,
                    false => Op::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae,
                };
                let (a, b) = (self.v(*a, part), self.operand(*b, part));
                // The sign of the result as compared: minus zero is less.
                self.f.v3i(range, a, b, 4 | i32::from(op == LaneOp::FGreatest))
            }
            (LaneOp::Table(table), [a, b, c]) => self.table(table, [*a, *b, *c], part),
            (LaneOp::Bytes, [a, b]) => self.bytes(*a, *b, part, wide),
            (LaneOp::Reverse, [a]) => {
                let a = self.v(*a, part);
                self.reversed(a, wide)
            }
            (LaneOp::Integral(rounding), [a]) => {
                let scale = match wide {
                    true => Op::EVEX_Vrndscalepd_zmm_k1z_zmmm512b64_imm8_sae,
                    false => Op::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae,
                };
                let a = self.v(*a, part);
                // Without the exception for inexact results.
                self.f.v2i(scale, a, 8 | rounding_bits(rounding))
            }
            (LaneOp::SingleOfHalf, [a]) => {
                let a = self.v(*a, part);
                let half = self.f.def(Op::EVEX_Vpmovdw_ymmm256_k1z_zmm, View::Y, (a,));
                self.f.v2(Op::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae, half.y())
            }
            (LaneOp::HalfOfSingle(rounding), [a]) => {
                let a = self.v(*a, part);
                let op = Op::EVEX_Vcvtps2ph_ymmm256_k1z_zmm_imm8_sae;
                let half = self.f.def(op, View::Y, (a, rounding_bits(rounding)));
                self.f.v2(Op::EVEX_Vpmovzxwd_zmm_k1z_ymmm256, half.y())
            }
            (LaneOp::MulHighU | LaneOp::MulHighS, [a, b]) if !wide => {
                let (a, b) = (self.v(*a, part), self.v(*b, part));
                self.high_product(op == LaneOp::MulHighS, a, b)
            }
            _ => {
                self.refuse(Refused::Form(format!("{op:?} has no pattern")));
                self.row_const(0, wide)
            }
        }
    }

    /// The next instruction is carried out under the mask of a selection, if there is one.
    fn masked(&mut self) -> &mut crate::vcode::Function {
        match self.under.take() {
            Some((mask, Some(old))) => self.f.merge(mask, old),
            Some((mask, None)) => self.f.zero(mask),
            None => &mut self.f,
        }
    }

    /// Returns an operation of two vectors of 32-bit lanes.
    pub(super) fn two_vectors(&mut self, op: LaneOp, a: VReg, b: VReg) -> VReg {
        let Some(two) = binary(op, false) else {
            self.refuse(Refused::Form(format!("{op:?} of two vectors has no pattern")));
            return a;
        };
        self.f.v3(two, a, b)
    }

    fn table(&mut self, table: u8, [a, b, c]: [Value; 3], part: usize) -> VReg {
        // Only the last operand may be in memory.
        let swap = self.known(a).is_some() && self.known(c).is_none();
        let (a, c, table) = if swap { (c, a, exchanged(table)) } else { (a, c, table) };
        let op = match self.is_wide(a) {
            true => Op::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8,
            false => Op::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
        };
        let (a, b, c) = (self.v(a, part), self.v(b, part), self.operand(c, part));
        self.f.v4i(op, a, b, c, table.into())
    }

    /// Puts the low words of 64-bit lanes that are made of each part of a row: half a vector.
    pub(super) fn narrow(
        &mut self,
        row: Value,
        result: Option<Value>,
        mut part: impl FnMut(&mut Self, VReg) -> VReg,
    ) {
        let insert = Op::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8;
        if self.is_uniform(row) {
            let row = self.v(row, 0);
            let low = part(self, row);
            let both = self.f.def(insert, View::V, (low, low.y(), 1));
            return self.put_row(result, [both; 2]);
        }
        let halves = [0, 2].map(|first| {
            let [low, high] = [first, first + 1].map(|index| {
                let row = self.v(row, index);
                part(self, row)
            });
            self.f.def(insert, View::V, (low, high.y(), 1))
        });
        self.put_row(result, halves);
    }

    /// Puts the 64-bit lanes that are made of each half of the vectors of a row.
    pub(super) fn widen(
        &mut self,
        row: Value,
        result: Option<Value>,
        mut part: impl FnMut(&mut Self, VReg) -> VReg,
    ) {
        if self.is_uniform(row) {
            let row = self.v(row, 0);
            let value = part(self, row);
            return self.put_row(result, [value; 4]);
        }
        let mut list = Vec::with_capacity(4);
        for half in 0..2 {
            let half = self.v(row, half);
            list.push(part(self, half));
            let extract = Op::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8;
            let high = self.f.def(extract, View::Y, (half, 1));
            list.push(part(self, high));
        }
        self.put_row(result, list);
    }

    pub(super) fn convert_lanes(
        &mut self,
        conversion: Conversion,
        row: Value,
        result: Option<Value>,
    ) {
        use Conversion as C;
        use Rounding::Nearest;
        let (op, rounding) = match conversion {
            C::DoubleOfSingle => (Op::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, Nearest),
            C::DoubleOfS => (Op::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er, Nearest),
            C::DoubleOfU => (Op::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er, Nearest),
            C::SingleOfDouble(r) => (Op::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, r),
            C::SingleOfS(r) => (Op::EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er, r),
            C::SingleOfU(r) => (Op::EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er, r),
            C::SignedOfDouble => (Op::EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae, Nearest),
            C::UnsignedOfDouble => (Op::EVEX_Vcvttpd2udq_ymm_k1z_zmmm512b64_sae, Nearest),
        };
        if conversion.types()[0] == Type::Row32 {
            return self.widen(row, result, |this, half| this.f.v2(op, half.y()));
        }
        self.narrow(row, result, |this, part| this.rounded(rounding).def(op, View::Y, (part,)));
    }

    /// The next instruction rounds in a way other than the usual one.
    fn rounded(&mut self, rounding: Rounding) -> &mut crate::vcode::Function {
        if rounding != Rounding::Nearest {
            self.f.round(control(rounding));
        }
        &mut self.f
    }

    /// High words of products of 32-bit lanes: of even lanes, then of odd ones.
    fn high_product(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        let multiply = match signed {
            true => Op::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
            false => Op::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
        };
        let shift = Op::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8;
        let even = self.f.v3(multiply, a, b);
        let even = self.f.v2i(shift, even, 32);
        let (a, b) = (self.f.v2i(shift, a, 32), self.f.v2i(shift, b, 32));
        let odd = self.f.v3(multiply, a, b);
        // The high words of the second operand where the third is set, else those of the first.
        let high = self.row_const(0xffff_ffff_0000_0000, true);
        self.f.v4i(Op::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, odd, even, high, 0xe4)
    }
}
