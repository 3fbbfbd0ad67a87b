//! Values: integers, bit fields, floats and converts on one lane. The operations themselves are
//! [`simt::arith`]'s.

use simt::arith::int::{self, DivByZero};
use simt::arith::soft::{self, IntConversion, MinMax};
use simt::arith::{
    BF16, Cmp, E4M3, E5M2, F16, F32, F64, Flags, Format, FpEnv, Rounding, TF32, approx, float,
};

use crate::action::{Alu, Bits, Float, Rmw, Test};

/// All bits of a width of 1 to 64.
pub(crate) fn ones(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits.min(64)) }
}

/// The low bits, extended by sign or zero.
pub(crate) fn extend(value: u64, bits: u32, signed: bool) -> u64 {
    let unused = 64 - bits.clamp(1, 64);
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value << unused >> unused }
}

/// Two-operand arithmetic in 64 bits on extended operands; shifts and extremes by the width `bits`
/// of the left one.
pub(crate) fn alu(op: Alu, l: u64, r: u64, bits: u32, unsigned: bool) -> u64 {
    let amount = (r % u64::from(bits)) as u32;
    match op {
        Alu::Add => int::add::<u64>(l, r),
        Alu::Sub => int::sub::<u64>(l, r),
        Alu::And => l & r,
        Alu::Or => l | r,
        Alu::Xor => l ^ r,
        Alu::Sll => l << amount,
        Alu::Srl => (l & ones(bits)) >> amount,
        Alu::Sra => (extend(l, bits, true) as i64 >> amount) as u64,
        Alu::Mul => int::mul_lo::<u64>(l, r),
        Alu::Max if unsigned => int::max::<u64>(l, r),
        Alu::Max => int::max::<i64>(l, r),
        Alu::Min if unsigned => int::min::<u64>(l, r),
        Alu::Min => int::min::<i64>(l, r),
    }
}

/// Quotient and remainder toward zero: x/0 is 0 and x, MIN/-1 is MIN and 0. Operands are extended.
pub(crate) fn divide(l: u64, r: u64, bits: u32, signed: bool) -> (u64, u64) {
    let rule = DivByZero::Zero;
    match (bits, signed) {
        (64, true) => (int::div::<i64>(l, r, rule), int::rem::<i64>(l, r)),
        (_, false) => (int::div::<u64>(l, r, rule), int::rem::<u64>(l, r)),
        // Sign-extended operands of less than 64 bits cannot overflow; the quotient is cut to the
        // width later.
        (_, true) => (int::div::<i64>(l, r, rule), int::rem::<i64>(l, r)),
    }
}

/// Compares; with `bitwise`, "both" means a common bit rather than both not zero.
pub(crate) fn test(op: Test, l: u64, r: u64, bitwise: bool) -> bool {
    match op {
        Test::Order(cmp, true) => int::holds::<i64>(cmp, l, r),
        Test::Order(cmp, false) => int::holds::<u64>(cmp, l, r),
        Test::And if bitwise => l & r != 0,
        Test::And => l != 0 && r != 0,
        Test::Or => l | r != 0,
    }
}

/// A bit field of `n` bits from position `m` in a ring of `bits` bits.
pub(crate) fn bit_field(op: Bits, value: u64, m: u32, n: u32, bits: u32) -> u64 {
    let (m, n) = (m % bits, n.clamp(1, bits));
    let value = value & ones(bits);
    let rotate = |v: u64, by: u32| {
        if by == 0 { v } else { (v >> by | v << (bits - by)) & ones(bits) }
    };
    let field = rotate(value, m) & ones(n);
    let mask = rotate(ones(n), (bits - m) % bits);
    match op {
        Bits::Bxu => field,
        Bits::Bxs => extend(field, n, true),
        Bits::Bic => value & !mask,
        Bits::Bis => value | mask,
        Bits::Bcnt => u64::from(field.count_ones()),
        Bits::Clz => u64::from(n - (64 - field.leading_zeros())),
        Bits::Ctz => u64::from(field.trailing_zeros().min(n)),
        Bits::Rev if n % 8 == 0 => field.swap_bytes() >> (64 - n),
        Bits::Rev => 0,
    }
}

/// Puts the low bits of `insert` in place of the bits `from` to `to` of a ring of 64 bits.
pub(crate) fn bit_insert(value: u64, insert: u64, from: u32, to: u32) -> u64 {
    let (from, to) = (from % 64, to % 64);
    let count = if to >= from { to - from + 1 } else { to + 64 - from + 1 };
    let kept = value.rotate_right(from) & !ones(count);
    (kept | insert & ones(count)).rotate_left(from)
}

/// The pair of `high` and `low`, of 64 or 32 bits each, shifted right; its low and high halves.
pub(crate) fn concat(high: u64, low: u64, shift: u32, narrow: bool) -> (u64, u64) {
    if narrow {
        let pair = (high & ones(32)) << 32 | low & ones(32);
        let moved = pair.checked_shr(shift).unwrap_or(0);
        return (extend(moved, 32, true), extend(moved >> 32, 32, true));
    }
    let pair = u128::from(high) << 64 | u128::from(low);
    let moved = pair.checked_shr(shift).unwrap_or(0);
    (moved as u64, (moved >> 64) as u64)
}

/// The new value of a read-modify-write.
pub(crate) fn rmw(op: Rmw, old: u64, operand: u64, log2: u8) -> u64 {
    let bits = 8u32 << log2;
    let (so, sr) = (extend(old, bits, true), extend(operand, bits, true));
    let (uo, ur) = (extend(old, bits, false), extend(operand, bits, false));
    match op {
        Rmw::Add => uo.wrapping_add(ur),
        Rmw::And => uo & ur,
        Rmw::Or => uo | ur,
        Rmw::Xor => uo ^ ur,
        Rmw::Max => int::max::<i64>(so, sr),
        Rmw::Min => int::min::<i64>(so, sr),
        Rmw::MaxU => uo.max(ur),
        Rmw::MinU => uo.min(ur),
        Rmw::Swap => ur,
    }
}

/// A float operation in the format of a width of 64, 32 or 16 bits; flags accumulate. A comparison
/// gives 0 or 1.
pub(crate) fn float_op(
    op: Float,
    bits: u32,
    l: u64,
    r: u64,
    a: u64,
    env: FpEnv,
    flags: &mut Flags,
) -> u64 {
    match bits {
        64 => in_format::<F64>(op, l, r, a, env, flags),
        32 => in_format::<F32>(op, l, r, a, env, flags),
        _ => in_format::<F16>(op, l, r, a, env, flags),
    }
}

fn in_format<F: Format>(op: Float, l: u64, r: u64, a: u64, env: FpEnv, flags: &mut Flags) -> u64 {
    let negative = |v: u64| float::neg::<F>(v, false);
    let (value, raised) = match op {
        Float::Add => soft::add::<F>(l, r, env),
        Float::Sub => soft::sub::<F>(l, r, env),
        Float::Mul => soft::mul::<F>(l, r, env),
        Float::Div => soft::div::<F>(l, r, env),
        Float::Madd => soft::fma::<F>(l, r, a, env),
        Float::Msub => soft::fma::<F>(l, r, negative(a), env),
        Float::Nmadd => soft::fma::<F>(negative(l), r, negative(a), env),
        Float::Nmsub => soft::fma::<F>(negative(l), r, a, env),
        Float::Sqrt => soft::sqrt::<F>(l, env),
        Float::Recip => soft::div::<F>(F::ONE, l, env),
        Float::Exp => exponential::<F>(l, env),
        Float::Abs => (float::abs::<F>(l, false), Flags::NONE),
        Float::Class => (float::classify::<F>(l), Flags::NONE),
        Float::Max => zeros::<F>(soft::max::<F>(l, r, MinMax::Number, env), l, r, false),
        Float::Min => zeros::<F>(soft::min::<F>(l, r, MinMax::Number, env), l, r, true),
        Float::Compare(cmp, signalling) => {
            let (relation, raised) = if signalling {
                soft::compare_signalling::<F>(l, r, env)
            } else {
                soft::compare::<F>(l, r, env)
            };
            (u64::from(cmp.holds(relation)), raised)
        }
    };
    *flags |= raised;
    value
}

/// Corrects the sign of a result for two zeros: a maximum is +0, a minimum is -0 if either is.
fn zeros<F: Format>((value, flags): (u64, Flags), l: u64, r: u64, min: bool) -> (u64, Flags) {
    if F::is_zero(l) && F::is_zero(r) {
        let sign = if min { (l | r) & F::SIGN } else { 0 };
        return (sign, flags);
    }
    (value, flags)
}

/// e^x: within 1 ulp. Binary64 by libm, the narrower formats by the published sequence of
/// `simt::arith::approx`.
fn exponential<F: Format>(x: u64, env: FpEnv) -> (u64, Flags) {
    let env = env.with_rounding(Rounding::NearestEven);
    if F::is_nan(x) {
        return soft::add::<F>(x, x, env);
    }
    let value = if F::BITS == 64 {
        libm::exp(float::f64_value(x)).to_bits()
    } else {
        let single = soft::convert::<F, F32>(x, env).0;
        soft::convert::<F32, F>(approx::exp::<F32>(single, env), env).0
    };
    let exact = F::is_zero(x) || F::is_infinite(x);
    let overflow = Flags::OF.when(F::is_infinite(value));
    let underflow = Flags::UF.when(F::is_subnormal(value) || F::is_zero(value));
    (value, if exact { Flags::NONE } else { Flags::NX | overflow | underflow })
}

/// Float formats of converts that are specified well enough; the value's container in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatType {
    Fp64,
    Fp32,
    Tf32,
    Fp16,
    Bf16,
    E4m3,
    E5m2,
}

impl FloatType {
    pub(crate) fn of(code: i64) -> Option<Self> {
        Some(match code {
            0 => Self::Fp64,
            1 => Self::Fp32,
            2 => Self::Tf32,
            4 => Self::Fp16,
            5 => Self::Bf16,
            7 => Self::E4m3,
            8 => Self::E5m2,
            _ => return None,
        })
    }
}

macro_rules! with_format {
    ($ty:expr, $f:ident => $body:expr) => {
        match $ty {
            FloatType::Fp64 => {
                type $f = F64;
                $body
            }
            FloatType::Fp32 => {
                type $f = F32;
                $body
            }
            FloatType::Tf32 => {
                type $f = TF32;
                $body
            }
            FloatType::Fp16 => {
                type $f = F16;
                $body
            }
            FloatType::Bf16 => {
                type $f = BF16;
                $body
            }
            FloatType::E4m3 => {
                type $f = E4M3;
                $body
            }
            FloatType::E5m2 => {
                type $f = E5M2;
                $body
            }
        }
    };
}

impl FloatType {
    pub(crate) fn is_nan(self, value: u64) -> bool {
        with_format!(self, F => F::is_nan(value))
    }
}

/// Returns width and sign of an integer type of converts; `None` for the one-bit `bool`.
pub(crate) fn int_type(code: i64) -> Option<(u32, bool)> {
    let widths = [64, 32, 16, 8, 4, 2, 1];
    match code {
        0..=6 => Some((widths[code as usize], false)),
        7 => Some((1, false)),
        8..=14 => Some((widths[code as usize - 8], true)),
        _ => None,
    }
}

pub(crate) fn float_to_float(
    v: u64,
    from: FloatType,
    to: FloatType,
    env: FpEnv,
    flags: &mut Flags,
) -> u64 {
    let (value, raised) =
        with_format!(from, S => with_format!(to, D => soft::convert::<S, D>(v, env)));
    *flags |= raised;
    value
}

/// Saturates; a NaN gives 0.
pub(crate) fn float_to_int(
    v: u64,
    from: FloatType,
    bits: u32,
    signed: bool,
    env: FpEnv,
    flags: &mut Flags,
) -> u64 {
    let rule = IntConversion::NanZero;
    let (value, raised) = if signed {
        with_format!(from, S => soft::to_int::<S, i64>(v, rule, env))
    } else {
        with_format!(from, S => soft::to_int::<S, u64>(v, rule, env))
    };
    let (clamped, out) = if signed {
        let (low, high) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
        let number = value as i64;
        (number.clamp(low, high) as u64, number < low || number > high)
    } else {
        (value.min(ones(bits)), value > ones(bits))
    };
    *flags |= if out { Flags::NV } else { raised };
    clamped
}

pub(crate) fn int_to_float(
    v: u64,
    signed: bool,
    to: FloatType,
    env: FpEnv,
    flags: &mut Flags,
) -> u64 {
    let (value, raised) = if signed {
        with_format!(to, D => soft::from_int::<i64, D>(v, env))
    } else {
        with_format!(to, D => soft::from_int::<u64, D>(v, env))
    };
    *flags |= raised;
    value
}

/// The rounding of a mode number; 4 and more are not allocated and round like 0.
pub(crate) fn rounding(frm: u64) -> Rounding {
    match frm {
        1 => Rounding::TowardNegative,
        2 => Rounding::TowardPositive,
        3 => Rounding::TowardZero,
        _ => Rounding::NearestEven,
    }
}

/// The comparisons of body branches.
pub(crate) fn holds(cmp: Cmp, signed: bool, l: u64, r: u64) -> bool {
    test(Test::Order(cmp, signed), l, r, false)
}
