//! Float arithmetic in all formats.
//!
//! Half precision is computed in single precision and rounded a second time. For sums and products
//! of 11 digits the double rounding is harmless, because 24 digits are at least twice as many plus
//! two. For a fused multiply-add the first rounding is to odd, after which any second rounding is
//! correct.
//!
//! Subnormals are flushed explicitly: the processor's own flushing looks at results before they are
//! rounded to the format's digits, PTX's after.

use super::approx;
use super::build::{Build, Results, one, row_of};
use crate::function::{Type, Value};
use crate::op::{Arith, Conversion, LaneOp, Rounding};
use ir::mods::{Cmp, Flag};
use ir::{Op, Ty};

use Rounding::Nearest;

/// A format, as bit patterns of its values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) ty: Ty,
    pub(super) sign: u64,
    pub(super) exponent: u64,
    pub(super) nan: u64,
}

impl Format {
    pub(super) const F16: Self = Self { ty: Ty::F16, sign: 0x8000, exponent: 0x7c00, nan: 0x7fff };
    pub(super) const BF16: Self =
        Self { ty: Ty::Bf16, sign: 0x8000, exponent: 0x7f80, nan: 0x7fff };
    pub(super) const F32: Self =
        Self { ty: Ty::F32, sign: 0x8000_0000, exponent: 0x7f80_0000, nan: 0x7fff_ffff };
    pub(super) const F64: Self = Self {
        ty: Ty::F64,
        sign: 1 << 63,
        exponent: 0x7ff0_0000_0000_0000,
        nan: 0x7fff_ffff_ffff_ffff,
    };

    /// Returns the format of a type's values, or of its parts.
    pub(super) fn of(ty: Ty) -> Option<Self> {
        Some(match ty {
            Ty::F16 | Ty::F16x2 => Self::F16,
            Ty::Bf16 | Ty::Bf16x2 => Self::BF16,
            Ty::F32 | Ty::F32x2 => Self::F32,
            Ty::F64 => Self::F64,
            _ => return None,
        })
    }

    /// Replaces subnormal numbers by zeros of their sign if `ftz`.
    pub(super) fn flushed(&self, b: &mut Build<'_>, value: Value, ftz: bool) -> Value {
        if !ftz {
            return value;
        }
        let exponent = b.with(LaneOp::And, value, self.exponent);
        let small = b.is_zero(exponent);
        let sign = b.with(LaneOp::And, value, self.sign);
        b.select(small, sign, value)
    }

    /// Converts a value's bits to a float of the lane: half precision becomes single. Bits above
    /// the format do not matter.
    pub(super) fn raised(&self, b: &mut Build<'_>, bits: Value) -> Value {
        match self.ty {
            Ty::F16 => b.unary(LaneOp::SingleOfHalf, bits),
            Ty::Bf16 => b.shl(bits, 16),
            _ => bits,
        }
    }

    pub(super) fn operand(&self, b: &mut Build<'_>, index: usize, ftz: bool) -> Value {
        let bits = b.arg(index, row_of(if self.ty == Ty::F64 { 64 } else { 32 }));
        let bits = self.flushed(b, bits, ftz);
        self.raised(b, bits)
    }

    /// Rounds a float of the lane to the format and returns its bits; NaNs become the canonical
    /// one.
    pub(super) fn lowered(&self, b: &mut Build<'_>, value: Value, rounding: Rounding) -> Value {
        let bits = match self.ty {
            Ty::F16 => b.unary(LaneOp::HalfOfSingle(rounding), value),
            Ty::Bf16 => upper_half(b, value, rounding),
            _ => value,
        };
        let nan = b.is_nan(value);
        b.select_bits(nan, self.nan, bits)
    }
}

/// Rounds single-precision floats to their upper halves.
fn upper_half(b: &mut Build<'_>, value: Value, rounding: Rounding) -> Value {
    let more = match rounding {
        Rounding::Zero => return b.shr(value, 16),
        Nearest => {
            let odd = b.shr(value, 16);
            let odd = b.with(LaneOp::And, odd, 1);
            b.with(LaneOp::Add, odd, 0x7fff)
        }
        // Rounds away from zero for one sign, toward zero for the other.
        up => {
            let side = b.with(LaneOp::Sar, value, 31);
            let side = if up == Rounding::Up { b.not(side) } else { side };
            b.with(LaneOp::And, side, 0xffff)
        }
    };
    let sum = b.sum(value, more);
    b.shr(sum, 16)
}

/// Returns 1 in the float format of a value's lanes.
fn unit(b: &mut Build<'_>, value: Value) -> Value {
    let bits = if b.bits(value) == 64 { 1f64.to_bits() } else { 1f32.to_bits().into() };
    b.like(value, bits)
}

/// Applies `.sat` (clamp to `[+0, 1]`, NaN to `+0`) or `.relu` (clamp to at least 0, NaN unchanged)
/// to a result.
pub(super) fn clamped(b: &mut Build<'_>, value: Value) -> Value {
    if b.has(Flag::Sat) {
        let value = b.with(LaneOp::FMax, value, 0);
        let one = unit(b, value);
        b.binary(LaneOp::FMin, value, one)
    } else if b.has(Flag::Relu) {
        let nan = b.is_nan(value);
        let positive = b.with(LaneOp::FMax, value, 0);
        b.select(nan, value, positive)
    } else {
        value
    }
}

pub(super) fn recipe(b: &mut Build<'_>) -> Option<Results> {
    if b.inst.mods.precision.is_some() || approx::is_function(b.inst.op) {
        return approx::recipe(b);
    }
    let format = Format::of(b.ty)?;
    match b.ty {
        Ty::F16 | Ty::Bf16 => {
            let args: Vec<Value> = (0..b.operands()).map(|i| b.word(i)).collect();
            one(small(b, format, &args)?)
        }
        Ty::F16x2 | Ty::Bf16x2 => halves(b, format),
        Ty::F32x2 => words(b, format),
        _ => {
            let args: Vec<Value> = (0..b.operands()).map(|i| b.lane(i)).collect();
            one(lane(b, format, &args)?)
        }
    }
}

/// Computes the two halves of words, one after the other.
fn halves(b: &mut Build<'_>, format: Format) -> Option<Results> {
    let words: Vec<Value> = (0..b.operands()).map(|i| b.word(i)).collect();
    // Signs alone change in both halves at once.
    if !b.has(Flag::Ftz) && matches!(b.inst.op, Op::Abs | Op::Neg) {
        let abs = b.inst.op == Op::Abs;
        let (op, bits) = if abs { (LaneOp::And, 0x7fff_7fff) } else { (LaneOp::Xor, 0x8000_8000) };
        return one(b.with(op, words[0], bits));
    }
    let mut parts = [words[0]; 2];
    for (part, shift) in parts.iter_mut().zip([0, 16]) {
        // Bits above the low half do not matter, but to what flushes.
        let args: Vec<Value> = words.iter().map(|&word| b.shr(word, shift)).collect();
        let value = small(b, format, &args)?;
        *part = b.shl(value, shift);
    }
    one(b.or(parts[0], parts[1]))
}

/// Computes the two words of 64-bit lanes, one after the other.
fn words(b: &mut Build<'_>, format: Format) -> Option<Results> {
    let wholes: Vec<Value> = (0..b.operands()).map(|i| b.lane(i)).collect();
    let mut parts = [wholes[0]; 2];
    for (part, shift) in parts.iter_mut().zip([0, 32]) {
        let args: Vec<Value> = wholes
            .iter()
            .map(|&whole| {
                let whole = b.shr(whole, shift);
                b.sized(whole, Type::Row32)
            })
            .collect();
        let value = lane(b, format, &args)?;
        let value = b.sized(value, Type::Row64);
        *part = b.shl(value, shift);
    }
    one(b.or(parts[0], parts[1]))
}

/// Computes an operation on half-precision floats in lanes of single precision. The result has no
/// bits above the format.
fn small(b: &mut Build<'_>, format: Format, args: &[Value]) -> Option<Value> {
    let ftz = b.has(Flag::Ftz);
    if b.rounding(Nearest)? != Nearest {
        return None;
    }
    let args: Vec<Value> = args.iter().map(|&a| format.flushed(b, a, ftz)).collect();
    match b.inst.op {
        Op::Abs => return Some(b.with(LaneOp::And, args[0], 0x7fff)),
        Op::Neg => {
            let value = b.with(LaneOp::Xor, args[0], 0x8000);
            return Some(b.cut(value, 16));
        }
        _ => {}
    }
    let args: Vec<Value> = args.iter().map(|&a| format.raised(b, a)).collect();
    let value = match b.inst.op {
        Op::Add => b.arith(Arith::Add, args[0], args[1]),
        Op::Sub => b.arith(Arith::Sub, args[0], args[1]),
        Op::Mul => b.arith(Arith::Mul, args[0], args[1]),
        Op::Fma if format.ty == Ty::F16 => {
            // The product of two 11-digit significands is exact.
            let product = b.arith(Arith::Mul, args[0], args[1]);
            sum_to_odd(b, product, args[2])
        }
        Op::Fma => {
            // Products of bf16, which has the range of single precision, are exact in double
            // precision.
            let [x, y, z] = [0, 1, 2].map(|i| b.convert(Conversion::DoubleOfSingle, args[i]));
            let product = b.arith(Arith::Mul, x, y);
            let sum = sum_to_odd(b, product, z);
            single_to_odd(b, sum)
        }
        Op::Min | Op::Max if !b.has(Flag::XorSignAbs) => extreme(b, &args)?,
        _ => return None,
    };
    let value = clamped(b, value);
    let bits = format.lowered(b, value, Nearest);
    Some(format.flushed(b, bits, ftz))
}

/// Computes a sum rounded to odd: rounded to nearest and, if that is inexact and even, moved to the
/// odd neighbour on the error's side.
fn sum_to_odd(b: &mut Build<'_>, x: Value, y: Value) -> Value {
    let sum = b.arith(Arith::Add, x, y);
    let second = b.arith(Arith::Sub, sum, x);
    let lost = b.arith(Arith::Sub, y, second);
    let first = b.arith(Arith::Sub, sum, second);
    let first = b.arith(Arith::Sub, x, first);
    let error = b.arith(Arith::Add, first, lost);
    // The step towards the error's side: 1 or -1.
    let apart = b.xor(sum, error);
    let top = u64::from(b.bits(sum)) - 1;
    let apart = b.with(LaneOp::Sar, apart, top);
    let step = b.with(LaneOp::Or, apart, 1);
    let moved = b.sum(sum, step);
    let zero = b.like(error, 0);
    let inexact = b.compare(Cmp::Ne, error, zero);
    let odd = b.with(LaneOp::And, sum, 1);
    let even = b.is_zero(odd);
    let moves = b.mask(crate::op::MaskOp::And, inexact, even);
    b.select(moves, moved, sum)
}

/// Converts double precision to single, rounded to odd.
pub(super) fn single_to_odd(b: &mut Build<'_>, value: Value) -> Value {
    let cut = b.convert(Conversion::SingleOfDouble(Rounding::Zero), value);
    let back = b.convert(Conversion::DoubleOfSingle, cut);
    let inexact = b.compare(Cmp::Ne, back, value);
    let odd = b.with(LaneOp::Or, cut, 1);
    b.select(inexact, odd, cut)
}

/// The minimum or maximum of two floats of single precision, without modifiers.
pub(super) fn lesser(b: &mut Build<'_>, max: bool) -> Value {
    let (x, y) = (b.word(0), b.word(1));
    let value = extreme_of(b, max, x, y);
    Format::F32.lowered(b, value, Nearest)
}

/// Computes the minimum or maximum of two or three values. A NaN loses against a number, or wins
/// with `.NaN`.
fn extreme(b: &mut Build<'_>, args: &[Value]) -> Option<Value> {
    let max = b.inst.op == Op::Max;
    let (&first, rest) = args.split_first()?;
    let mut value = first;
    for &other in rest {
        value = extreme_of(b, max, value, other);
        if rest.len() > 1 {
            value = clamped(b, value);
        }
    }
    Some(value)
}

fn extreme_of(b: &mut Build<'_>, max: bool, x: Value, y: Value) -> Value {
    let value = b.binary(if max { LaneOp::FGreatest } else { LaneOp::FLeast }, x, y);
    let (nan_x, nan_y) = (b.is_nan(x), b.is_nan(y));
    let (on_x, on_y) = if b.has(Flag::Nan) { (x, y) } else { (y, x) };
    let value = b.select(nan_y, on_y, value);
    b.select(nan_x, on_x, value)
}

/// Computes an operation on floats as wide as the lanes.
fn lane(b: &mut Build<'_>, format: Format, args: &[Value]) -> Option<Value> {
    let ftz = b.has(Flag::Ftz);
    let rounding = b.rounding(Nearest)?;
    let args: Vec<Value> = args.iter().map(|&a| format.flushed(b, a, ftz)).collect();
    let arith = |arith| LaneOp::Float(arith, rounding);
    let value = match b.inst.op {
        Op::Abs => return Some(b.with(LaneOp::And, args[0], !format.sign)),
        Op::Neg => return Some(b.with(LaneOp::Xor, args[0], format.sign)),
        Op::Add => b.binary(arith(Arith::Add), args[0], args[1]),
        Op::Sub => b.binary(arith(Arith::Sub), args[0], args[1]),
        Op::Mul => b.binary(arith(Arith::Mul), args[0], args[1]),
        Op::Div => b.binary(arith(Arith::Div), args[0], args[1]),
        Op::Fma => b.ternary(arith(Arith::Fma), args[0], args[1], args[2]),
        Op::Sqrt => b.unary(arith(Arith::Sqrt), args[0]),
        Op::Rcp => {
            let one = unit(b, args[0]);
            b.binary(arith(Arith::Div), one, args[0])
        }
        Op::Min | Op::Max if b.has(Flag::XorSignAbs) => {
            if args.len() != 2 {
                return None;
            }
            let plain: Vec<Value> =
                args.iter().map(|&a| b.with(LaneOp::And, a, !format.sign)).collect();
            let value = extreme(b, &plain)?;
            let sign = b.xor(args[0], args[1]);
            let sign = b.with(LaneOp::And, sign, format.sign);
            b.or(value, sign)
        }
        Op::Min | Op::Max => extreme(b, &args)?,
        _ => return None,
    };
    // `.ftz` applies to the result before it is clamped.
    let value = format.flushed(b, value, ftz);
    let value = clamped(b, value);
    // Saturated values are no NaNs.
    Some(if b.has(Flag::Sat) { value } else { format.lowered(b, value, Nearest) })
}
