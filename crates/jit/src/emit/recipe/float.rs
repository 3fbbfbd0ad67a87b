//! Float arithmetic in all formats.
//!
//! Half precision is computed in single precision and rounded a second time. For sums and products
//! of 11 digits the double rounding is harmless, because 24 digits are at least twice as many plus
//! two. For a fused multiply-add the first rounding is to odd, after which any second rounding is
//! correct.

use super::{Arith, Build, Micro, Recipe, Say, Value};
use iced_x86::RoundingControl;
use ir::mods::Flag;
use ir::{Op, Ty};

use RoundingControl::RoundToNearest;

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
    pub(super) fn flushed(&self, b: &mut Build, value: Value, ftz: bool) -> Value {
        if !ftz {
            return value;
        }
        let (exponent, zero) = (b.with(Micro::And, value, self.exponent), b.c(0));
        let small = b.binary(Micro::Equal, exponent, zero);
        let sign = b.with(Micro::And, value, self.sign);
        b.choose(small, sign, value)
    }

    /// Converts a value's bits to a float of the lane: half precision becomes single.
    pub(super) fn raised(&self, b: &mut Build, bits: Value) -> Value {
        match self.ty {
            Ty::F16 => b.unary(Micro::OfHalf, bits),
            Ty::Bf16 => b.shl(bits, 16),
            _ => bits,
        }
    }

    pub(super) fn operand(&self, b: &mut Build, index: usize, ftz: bool) -> Value {
        let bits = b.arg(index);
        let bits = self.flushed(b, bits, ftz);
        self.raised(b, bits)
    }

    /// Rounds a float of the lane to the format and returns its bits; NaNs become the canonical
    /// one.
    pub(super) fn lowered(&self, b: &mut Build, value: Value, rounding: RoundingControl) -> Value {
        let bits = match self.ty {
            Ty::F16 => b.unary(Micro::HalfOf(rounding), value),
            Ty::Bf16 => upper_half(b, value, rounding),
            _ => value,
        };
        let (nan, canonical) = (b.nan(value), b.c(self.nan));
        b.choose(nan, canonical, bits)
    }
}

/// Rounds single-precision floats to their upper halves.
fn upper_half(b: &mut Build, value: Value, rounding: RoundingControl) -> Value {
    let more = match rounding {
        RoundingControl::RoundTowardZero => return b.shr(value, 16),
        RoundToNearest => {
            let odd = b.shr(value, 16);
            let odd = b.with(Micro::And, odd, 1);
            b.with(Micro::Add, odd, 0x7fff)
        }
        // Rounds away from zero for one sign, toward zero for the other.
        up => {
            let negative = b.negative(value);
            let side = if up == RoundingControl::RoundUp { b.not(negative) } else { negative };
            b.with(Micro::And, side, 0xffff)
        }
    };
    let sum = b.add(value, more);
    b.shr(sum, 16)
}

/// Applies `.sat` (clamp to `[+0, 1]`, NaN to `+0`) or `.relu` (clamp to at least 0, NaN unchanged)
/// to a result.
pub(super) fn clamped(say: &Say<'_>, b: &mut Build, value: Value) -> Value {
    let zero = b.c(0);
    if say.has(Flag::Sat) {
        let one = b.c(if b.wide { 1f64.to_bits() } else { 1f32.to_bits().into() });
        let value = b.binary(Micro::FMax, value, zero);
        b.binary(Micro::FMin, value, one)
    } else if say.has(Flag::Relu) {
        let nan = b.nan(value);
        let positive = b.binary(Micro::FMax, value, zero);
        b.choose(nan, value, positive)
    } else {
        value
    }
}

pub(super) fn recipe(say: &Say<'_>) -> Option<Recipe> {
    let approximate =
        matches!(say.inst.op, Op::Rsqrt | Op::Sin | Op::Cos | Op::Ex2 | Op::Lg2 | Op::Tanh);
    if say.inst.mods.precision.is_some() || approximate {
        return None;
    }
    let format = Format::of(say.ty)?;
    let count = say.inst.operands.len();
    if is_wide_fma(say) && say.rounding(RoundToNearest)? != RoundToNearest {
        return None;
    }
    match say.ty {
        Ty::F16 | Ty::Bf16 if is_wide_fma(say) => {
            let mut b = Build::new(say, true);
            b.wide = false;
            let args: Vec<Value> = (0..count).map(|i| b.operand(i)).collect();
            let value = brain_fma(say, &mut b, &args);
            b.word(value)
        }
        Ty::F16 | Ty::Bf16 => {
            let mut b = Build::new(say, false);
            let args: Vec<Value> = (0..count).map(|i| b.operand(i)).collect();
            let value = small(say, &mut b, format, &args)?;
            b.one(value)
        }
        Ty::F16x2 | Ty::Bf16x2 => pairs(say, format),
        Ty::F32 | Ty::F64 => {
            let mut b = Build::for_type(say);
            let args: Vec<Value> = (0..count).map(|i| b.operand(i)).collect();
            let value = lane(say, &mut b, format, &args)?;
            b.one(value)
        }
        Ty::F32x2 => {
            let mut b = Build::new(say, true);
            b.wide = false;
            let args: Vec<Value> = (0..count).map(|i| b.operand(i)).collect();
            let value = lane(say, &mut b, format, &args)?;
            b.one(value)
        }
        _ => None,
    }
}

/// Returns whether an operation needs more digits than single precision has.
fn is_wide_fma(say: &Say<'_>) -> bool {
    say.inst.op == Op::Fma && matches!(say.ty, Ty::Bf16 | Ty::Bf16x2)
}

/// Computes the two halves of words, one after the other.
fn pairs(say: &Say<'_>, format: Format) -> Option<Recipe> {
    let wide = is_wide_fma(say);
    let mut b = Build::new(say, wide);
    b.wide = false;
    let mut parts = Vec::new();
    for shift in [0, 16] {
        let args: Vec<Value> = (0..say.inst.operands.len())
            .map(|i| {
                // Bits above the low half do not matter.
                let word = if shift > 0 { b.again(i) } else { b.operand(i) };
                b.shr(word, shift)
            })
            .collect();
        let value =
            if wide { brain_fma(say, &mut b, &args) } else { small(say, &mut b, format, &args)? };
        parts.push(b.shl(value, shift));
    }
    let value = b.or(parts[0], parts[1]);
    b.word(value)
}

/// Computes an operation on half-precision floats in lanes of single precision.
fn small(say: &Say<'_>, b: &mut Build, format: Format, args: &[Value]) -> Option<Value> {
    let ftz = say.has(Flag::Ftz);
    if say.rounding(RoundToNearest)? != RoundToNearest {
        return None;
    }
    let args: Vec<Value> = args.iter().map(|&a| format.flushed(b, a, ftz)).collect();
    match say.inst.op {
        Op::Abs => return Some(b.with(Micro::And, args[0], 0x7fff)),
        Op::Neg => {
            let value = b.with(Micro::Xor, args[0], 0x8000);
            return Some(b.cut(value, 16));
        }
        _ => {}
    }
    let args: Vec<Value> = args.iter().map(|&a| format.raised(b, a)).collect();
    let arith = match say.inst.op {
        Op::Add => Some(Arith::Add),
        Op::Sub => Some(Arith::Sub),
        Op::Mul => Some(Arith::Mul),
        _ => None,
    };
    let value = match (arith, say.inst.op) {
        (Some(arith), _) => b.arith(arith, [args[0], args[1], args[1]]),
        (_, Op::Fma) => {
            // The product of two 11-digit significands is exact.
            let product = b.arith(Arith::Mul, [args[0], args[1], args[1]]);
            sum_to_odd(b, product, args[2])
        }
        (_, Op::Min | Op::Max) if !say.has(Flag::XorSignAbs) => extreme(say, b, &args)?,
        _ => return None,
    };
    let value = clamped(say, b, value);
    let bits = format.lowered(b, value, RoundToNearest);
    Some(format.flushed(b, bits, ftz))
}

/// Computes a sum rounded to odd: rounded to nearest and, if that is inexact and even, moved to the
/// odd neighbour on the error's side.
fn sum_to_odd(b: &mut Build, x: Value, y: Value) -> Value {
    let sum = b.arith(Arith::Add, [x, y, y]);
    let (error, step) = {
        let second = b.arith(Arith::Sub, [sum, x, x]);
        let lost = b.arith(Arith::Sub, [y, second, second]);
        let first = b.arith(Arith::Sub, [sum, second, second]);
        let first = b.arith(Arith::Sub, [x, first, first]);
        let error = b.arith(Arith::Add, [first, lost, lost]);
        // The step towards the error's side.
        let apart = b.xor(sum, error);
        let apart = b.negative(apart);
        (error, b.with(Micro::Or, apart, 1))
    };
    let zero = b.c(0);
    let inexact = b.compare(0x0c, error, zero);
    let step = b.and(step, inexact);
    let odd = b.with(Micro::And, sum, 1);
    let even = b.binary(Micro::Equal, odd, zero);
    let step = b.and(step, even);
    b.add(sum, step)
}

/// Converts double precision to single, rounded to odd, in the low words of 64-bit lanes.
pub(super) fn single_to_odd(b: &mut Build, value: Value) -> Value {
    let cut = b.unary(Micro::Single(RoundingControl::RoundTowardZero), value);
    let back = b.unary(Micro::Double, cut);
    let inexact = b.compare(0x0c, back, value);
    let odd = b.with(Micro::And, inexact, 1);
    b.or(cut, odd)
}

/// Computes `a * b + c` of bf16, which has the range of single precision, in 64-bit lanes: products
/// are exact in double precision.
fn brain_fma(say: &Say<'_>, b: &mut Build, args: &[Value]) -> Value {
    let ftz = say.has(Flag::Ftz);
    let format = Format::BF16;
    let mut raised = Vec::new();
    for &a in args {
        let a = format.flushed(b, a, ftz);
        let single = format.raised(b, a);
        b.wide = true;
        raised.push(b.unary(Micro::Double, single));
        b.wide = false;
    }
    b.wide = true;
    let product = b.arith(Arith::Mul, [raised[0], raised[1], raised[1]]);
    let sum = sum_to_odd(b, product, raised[2]);
    let single = single_to_odd(b, sum);
    b.wide = false;
    let value = clamped(say, b, single);
    let bits = format.lowered(b, value, RoundToNearest);
    let bits = format.flushed(b, bits, ftz);
    b.cut(bits, 16)
}

/// Computes the minimum or maximum of two or three values. A NaN loses against a number, or wins
/// with `.NaN`.
fn extreme(say: &Say<'_>, b: &mut Build, args: &[Value]) -> Option<Value> {
    let (&first, rest) = args.split_first()?;
    let mut value = first;
    for &other in rest {
        value = extreme_of(say, b, value, other);
        if rest.len() > 1 {
            value = clamped(say, b, value);
        }
    }
    Some(value)
}

fn extreme_of(say: &Say<'_>, b: &mut Build, x: Value, y: Value) -> Value {
    // For two zeros the instruction returns its second operand; joining both orders gives the right
    // sign.
    let (op, join) =
        if say.inst.op == Op::Max { (Micro::FMax, Micro::And) } else { (Micro::FMin, Micro::Or) };
    let (one, other) = (b.binary(op, x, y), b.binary(op, y, x));
    let value = b.binary(join, one, other);
    let (nan_x, nan_y) = (b.nan(x), b.nan(y));
    if say.has(Flag::Nan) {
        let value = b.choose(nan_x, x, value);
        return b.choose(nan_y, y, value);
    }
    let value = b.choose(nan_y, x, value);
    b.choose(nan_x, y, value)
}

/// Computes an operation on floats as wide as the lanes.
fn lane(say: &Say<'_>, b: &mut Build, format: Format, args: &[Value]) -> Option<Value> {
    let ftz = say.has(Flag::Ftz);
    let rounding = say.rounding(RoundToNearest)?;
    let magnitudes = say.has(Flag::XorSignAbs);
    let args: Vec<Value> = args.iter().map(|&a| format.flushed(b, a, ftz)).collect();
    let arith = |arith| Micro::Float(arith, rounding);
    let value = match say.inst.op {
        Op::Abs => return Some(b.with(Micro::And, args[0], !format.sign)),
        Op::Neg => return Some(b.with(Micro::Xor, args[0], format.sign)),
        Op::Add => b.binary(arith(Arith::Add), args[0], args[1]),
        Op::Sub => b.binary(arith(Arith::Sub), args[0], args[1]),
        Op::Mul => b.binary(arith(Arith::Mul), args[0], args[1]),
        Op::Div => b.binary(arith(Arith::Div), args[0], args[1]),
        Op::Fma => b.ternary(arith(Arith::Fma), args[0], args[1], args[2]),
        Op::Sqrt => b.unary(arith(Arith::Sqrt), args[0]),
        Op::Rcp => {
            let one = b.c(if b.wide { 1f64.to_bits() } else { 1f32.to_bits().into() });
            b.binary(arith(Arith::Div), one, args[0])
        }
        Op::Min | Op::Max if magnitudes => {
            if args.len() != 2 {
                return None;
            }
            let plain: Vec<Value> =
                args.iter().map(|&a| b.with(Micro::And, a, !format.sign)).collect();
            let value = extreme(say, b, &plain)?;
            let (x, y) = (b.again(0), b.again(1));
            let sign = b.xor(x, y);
            let sign = b.with(Micro::And, sign, format.sign);
            b.or(value, sign)
        }
        Op::Min | Op::Max => extreme(say, b, &args)?,
        _ => return None,
    };
    // `.ftz` applies to the result before it is clamped.
    let value = format.flushed(b, value, ftz);
    let value = clamped(say, b, value);
    Some(format.lowered(b, value, RoundToNearest))
}
