//! Addition, subtraction, multiplication and fused multiply-add.

use super::{Class, decode, infinity, invalid, nan, round_wide, shift_right_jam, signed, zero};
use crate::arith::env::{Flags, FpEnv, Rounding};
use crate::arith::format::Format;

/// A finite nonzero number `significand / 2^127 * 2^exponent`.
#[derive(Clone, Copy)]
struct Term {
    sign: bool,
    exponent: i32,
    significand: u128,
}

impl Term {
    fn new(sign: bool, exponent: i32, significand: u64) -> Self {
        Self { sign, exponent, significand: u128::from(significand) << 64 }
    }
}

/// `a + b`.
#[must_use]
#[inline(never)]
pub fn add<F: Format>(a: u64, b: u64, env: FpEnv) -> (u64, Flags) {
    let ((sa, ca), (sb, cb)) = (decode::<F>(a, env.ftz), decode::<F>(b, env.ftz));
    match (ca, cb) {
        (Class::Nan, _) | (_, Class::Nan) => nan::<F>(&[a, b], env),
        (Class::Infinite, Class::Infinite) if sa != sb => invalid::<F>(env),
        (Class::Infinite, _) => (infinity::<F>(sa), Flags::NONE),
        (_, Class::Infinite) => (infinity::<F>(sb), Flags::NONE),
        (Class::Zero, Class::Zero) => (zero_sum::<F>(sa, sb, env), Flags::NONE),
        // A flushed operand may leave a subnormal sum only when nothing was added: still exact.
        (Class::Finite { .. }, Class::Zero) => (a & F::MASK, Flags::NONE),
        (Class::Zero, Class::Finite { .. }) => (b & F::MASK, Flags::NONE),
        (
            Class::Finite { exponent: ea, significand: ma },
            Class::Finite { exponent: eb, significand: mb },
        ) => add_terms::<F>(Term::new(sa, ea, ma), Term::new(sb, eb, mb), env),
    }
}

/// `a - b`.
#[must_use]
#[inline(never)]
pub fn sub<F: Format>(a: u64, b: u64, env: FpEnv) -> (u64, Flags) {
    // A NaN keeps its sign, so that the rule that propagates it sees the operand itself.
    let negated = if F::is_nan(b) { b } else { b ^ F::SIGN };
    add::<F>(a, negated, env)
}

/// `a * b`.
#[must_use]
#[inline(never)]
pub fn mul<F: Format>(a: u64, b: u64, env: FpEnv) -> (u64, Flags) {
    let ((sa, ca), (sb, cb)) = (decode::<F>(a, env.ftz), decode::<F>(b, env.ftz));
    let sign = sa != sb;
    match (ca, cb) {
        (Class::Nan, _) | (_, Class::Nan) => nan::<F>(&[a, b], env),
        (Class::Infinite, Class::Zero) | (Class::Zero, Class::Infinite) => invalid::<F>(env),
        (Class::Infinite, _) | (_, Class::Infinite) => (infinity::<F>(sign), Flags::NONE),
        (Class::Zero, _) | (_, Class::Zero) => (zero::<F>(sign), Flags::NONE),
        (
            Class::Finite { exponent: ea, significand: ma },
            Class::Finite { exponent: eb, significand: mb },
        ) => {
            let p = product(sign, ea, ma, eb, mb);
            round_wide::<F>(p.sign, p.exponent, p.significand, env)
        }
    }
}

/// `a * b + c`, rounded once.
///
/// Infinity times zero is invalid even when `c` is a quiet NaN (RISC-V requires the flag; IEEE 754
/// leaves it open).
#[must_use]
#[inline(never)]
pub fn fma<F: Format>(a: u64, b: u64, c: u64, env: FpEnv) -> (u64, Flags) {
    let ((sa, ca), (sb, cb)) = (decode::<F>(a, env.ftz), decode::<F>(b, env.ftz));
    let (sc, cc) = decode::<F>(c, env.ftz);
    let sign = sa != sb;
    let (ea, ma, eb, mb) = match (ca, cb, cc) {
        (Class::Infinite, Class::Zero, Class::Nan) | (Class::Zero, Class::Infinite, Class::Nan) => {
            let (value, flags) = nan::<F>(&[c], env);
            return (value, flags | Flags::NV);
        }
        (Class::Nan, _, _) | (_, Class::Nan, _) | (_, _, Class::Nan) => {
            return nan::<F>(&[a, b, c], env);
        }
        (Class::Infinite, Class::Zero, _) | (Class::Zero, Class::Infinite, _) => {
            return invalid::<F>(env);
        }
        (Class::Infinite, _, Class::Infinite) | (_, Class::Infinite, Class::Infinite)
            if sign != sc =>
        {
            return invalid::<F>(env);
        }
        (Class::Infinite, _, _) | (_, Class::Infinite, _) => {
            return (infinity::<F>(sign), Flags::NONE);
        }
        (_, _, Class::Infinite) => return (infinity::<F>(sc), Flags::NONE),
        (Class::Zero, _, Class::Zero) | (_, Class::Zero, Class::Zero) => {
            return (zero_sum::<F>(sign, sc, env), Flags::NONE);
        }
        (Class::Zero, _, _) | (_, Class::Zero, _) => return (c & F::MASK, Flags::NONE),
        (
            Class::Finite { exponent: ea, significand: ma },
            Class::Finite { exponent: eb, significand: mb },
            _,
        ) => (ea, ma, eb, mb),
    };
    let p = product(sign, ea, ma, eb, mb);
    match cc {
        Class::Finite { exponent, significand } => {
            add_terms::<F>(p, Term::new(sc, exponent, significand), env)
        }
        _ => round_wide::<F>(p.sign, p.exponent, p.significand, env),
    }
}

/// The exact product of two decoded significands.
fn product(sign: bool, ea: i32, ma: u64, eb: i32, mb: u64) -> Term {
    // Both lie in [2^63, 2^64), so the product lies in [2^126, 2^128): one digit before the point
    // or two.
    Term { sign, exponent: ea + eb + 1, significand: u128::from(ma) * u128::from(mb) }
}

/// The sum of two nonzero terms, rounded.
///
/// A term has at most 106 significant digits at the top of its 128 bits. Two places are freed
/// there, one for the carry and one so that both are even: 20 low bits are zero. A term shifted
/// further than that loses digits into its lowest bit; then the shift is at least two, a difference
/// cancels one leading digit at most, and the folded bit stays far below every digit that is kept.
fn add_terms<F: Format>(a: Term, b: Term, env: FpEnv) -> (u64, Flags) {
    let (a, b) = (normalised(a), normalised(b));
    let (big, small) =
        if (a.exponent, a.significand) >= (b.exponent, b.significand) { (a, b) } else { (b, a) };
    let upper = big.significand >> 2;
    let lower = shift_right_jam(small.significand >> 2, big.exponent.abs_diff(small.exponent));
    let sum = if big.sign == small.sign { upper + lower } else { upper - lower };
    if sum == 0 {
        return (zero_sum::<F>(true, false, env), Flags::NONE);
    }
    round_wide::<F>(big.sign, big.exponent + 2, sum, env)
}

fn normalised(t: Term) -> Term {
    let shift = t.significand.leading_zeros();
    Term { exponent: t.exponent - shift as i32, significand: t.significand << shift, ..t }
}

/// The zero that an exact zero sum of terms of these signs delivers.
fn zero_sum<F: Format>(a: bool, b: bool, env: FpEnv) -> u64 {
    let sign = if a == b { a } else { env.rounding == Rounding::TowardNegative };
    signed::<F>(sign, 0)
}
