//! Conversions: format to format, integer to float and back, rounding to an integral value.

use super::{Class, decode, default_nan, infinity, nan, round, signed, split, zero};
use crate::arith::env::{Flags, FpEnv, NanRule, Rounding};
use crate::arith::format::{F32, Format};
use crate::arith::int::Int;

/// Converts a number from format `S` to format `D`.
///
/// [`FpEnv::ftz`] applies to a side that is binary32 and to no other, as PTX `cvt.ftz` says. A NaN
/// follows the environment; where it propagates, the leading payload bits are kept.
#[must_use]
pub fn convert<S: Format, D: Format>(a: u64, env: FpEnv) -> (u64, Flags) {
    let (sign, class) = decode::<S>(a, env.ftz && is_single::<S>());
    match class {
        Class::Nan => {
            let flags = Flags::NV.when(S::is_signalling(a));
            let value = match env.nan {
                NanRule::Propagate => payload::<S, D>(a),
                _ => default_nan::<D>(env),
            };
            (value, flags)
        }
        // A format without infinities has nothing to deliver but its NaN.
        Class::Infinite if !D::HAS_INFINITY => {
            (signed::<D>(sign, D::MAGNITUDE), Flags::OF | Flags::NX)
        }
        Class::Infinite => (infinity::<D>(sign), Flags::NONE),
        Class::Zero => (zero::<D>(sign), Flags::NONE),
        Class::Finite { exponent, significand } => {
            let env = env.with_ftz(env.ftz && is_single::<D>());
            round::<D>(sign, exponent, significand, env)
        }
    }
}

fn is_single<F: Format>() -> bool {
    F::EXPONENT_BITS == F32::EXPONENT_BITS && F::FRACTION_BITS == F32::FRACTION_BITS
}

/// A NaN of `S` as a quiet NaN of `D`, with its sign and the leading bits of its payload.
fn payload<S: Format, D: Format>(a: u64) -> u64 {
    if !D::HAS_INFINITY || !S::HAS_INFINITY {
        return signed::<D>(S::is_negative(a), D::RISCV_NAN);
    }
    let fraction = (a & S::MAGNITUDE) >> S::PAD_BITS << (64 - S::FRACTION_BITS);
    let kept = fraction >> (64 - D::FRACTION_BITS) << D::PAD_BITS;
    signed::<D>(S::is_negative(a), D::RISCV_NAN | kept)
}

/// The number nearest, by the rounding mode, to an integer of type `T` in the low bits of `a`.
#[must_use]
pub fn from_int<T: Int, F: Format>(a: u64, env: FpEnv) -> (u64, Flags) {
    let value = T::extend(a);
    let sign = T::SIGNED && (value as i64) < 0;
    let magnitude = if sign { value.wrapping_neg() } else { value };
    if magnitude == 0 {
        return (0, Flags::NONE);
    }
    let shift = magnitude.leading_zeros();
    round::<F>(sign, 63 - shift as i32, magnitude << shift, env)
}

/// The integer that a NaN or a number out of range converts to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IntConversion {
    /// PTX: out of range clamps to the nearest integer of the type. A NaN gives zero, but if the
    /// source is binary64 or the destination has 64 bits, only the top bit set.
    #[default]
    Ptx,
    /// RISC-V: out of range clamps; a NaN gives the largest integer.
    RiscV,
    /// Out of range clamps; a NaN gives zero (LinxISA, WebAssembly's saturating forms).
    NanZero,
    /// x86: a NaN and every number out of range give only the top bit set.
    Indefinite,
}

/// Converts to an integer of type `T`, rounding by the mode of `env`; NV alone where the result is
/// not the rounded number, else NX where it is not exact.
#[must_use]
pub fn to_int<F: Format, T: Int>(a: u64, rule: IntConversion, env: FpEnv) -> (u64, Flags) {
    let top = 1u64 << (T::BITS - 1);
    let out_of_range = |sign: bool| {
        let clamped = if sign { T::MIN_BITS } else { T::MAX_BITS };
        (if rule == IntConversion::Indefinite { top } else { clamped }, Flags::NV)
    };
    match decode::<F>(a, env.ftz) {
        (_, Class::Nan) => {
            let wide = F::BITS == 64 || T::BITS == 64;
            let value = match rule {
                IntConversion::NanZero => 0,
                IntConversion::Ptx if !wide => 0,
                IntConversion::Ptx | IntConversion::Indefinite => top,
                IntConversion::RiscV => T::MAX_BITS,
            };
            (value, Flags::NV)
        }
        (sign, Class::Infinite) => out_of_range(sign),
        (_, Class::Zero) => (0, Flags::NONE),
        (sign, Class::Finite { exponent, significand }) => {
            if exponent > 63 {
                return out_of_range(sign);
            }
            let (magnitude, inexact) = integral(sign, exponent, significand, env.rounding);
            let limit = if !sign {
                u128::from(T::MAX_BITS)
            } else if T::SIGNED {
                u128::from(top)
            } else {
                0
            };
            if magnitude > limit {
                return out_of_range(sign);
            }
            let magnitude = magnitude as u64;
            let value = if sign { magnitude.wrapping_neg() } else { magnitude };
            (T::truncate(value), Flags::NX.when(inexact))
        }
    }
}

/// A finite magnitude of at most `2^64` rounded to an integer, and whether that changed it.
fn integral(sign: bool, exponent: i32, significand: u64, rounding: Rounding) -> (u128, bool) {
    let drop = 63u32.saturating_add_signed(-exponent.max(-64));
    let (kept, half, sticky) = split(significand, drop);
    let up = rounding.increments(sign, kept & 1 != 0, half, sticky);
    (u128::from(kept) + u128::from(up), half || sticky)
}

/// The integral number nearest by the rounding mode, in the same format; NX where it differs from
/// `a`.
#[must_use]
pub fn round_to_integral<F: Format>(a: u64, env: FpEnv) -> (u64, Flags) {
    match decode::<F>(a, env.ftz) {
        (_, Class::Nan) => nan::<F>(&[a], env),
        (sign, Class::Zero) => (zero::<F>(sign), Flags::NONE),
        (_, Class::Infinite) => (a & F::MASK, Flags::NONE),
        (_, Class::Finite { exponent, .. }) if exponent >= F::FRACTION_BITS as i32 => {
            (a & F::MASK, Flags::NONE)
        }
        (sign, Class::Finite { exponent, significand }) => {
            let (magnitude, inexact) = integral(sign, exponent, significand, env.rounding);
            let flags = Flags::NX.when(inexact);
            let Ok(magnitude @ 1..) = u64::try_from(magnitude) else {
                return (zero::<F>(sign), flags);
            };
            let shift = magnitude.leading_zeros();
            // At most `PRECISION` digits: exact.
            let value = round::<F>(sign, 63 - shift as i32, magnitude << shift, env).0;
            (value, flags)
        }
    }
}
