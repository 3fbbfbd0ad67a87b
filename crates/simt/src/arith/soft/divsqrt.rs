//! Division and square root.

use super::{Class, decode, infinity, invalid, nan, round, zero};
use crate::arith::env::{Flags, FpEnv};
use crate::arith::format::Format;

/// `a / b`.
#[must_use]
#[inline(never)]
pub fn div<F: Format>(a: u64, b: u64, env: FpEnv) -> (u64, Flags) {
    let ((sa, ca), (sb, cb)) = (decode::<F>(a, env.ftz), decode::<F>(b, env.ftz));
    let sign = sa != sb;
    match (ca, cb) {
        (Class::Nan, _) | (_, Class::Nan) => nan::<F>(&[a, b], env),
        (Class::Infinite, Class::Infinite) | (Class::Zero, Class::Zero) => invalid::<F>(env),
        (Class::Infinite, _) => (infinity::<F>(sign), Flags::NONE),
        (Class::Zero, _) | (_, Class::Infinite) => (zero::<F>(sign), Flags::NONE),
        (Class::Finite { .. }, Class::Zero) => (infinity::<F>(sign), Flags::DZ),
        (
            Class::Finite { exponent: ea, significand: ma },
            Class::Finite { exponent: eb, significand: mb },
        ) => {
            // Scale the dividend so that the quotient lies in [2^63, 2^64).
            let (shift, exponent) = if ma >= mb { (63, ea - eb) } else { (64, ea - eb - 1) };
            let dividend = u128::from(ma) << shift;
            let (quotient, rest) = (dividend / u128::from(mb), dividend % u128::from(mb));
            round::<F>(sign, exponent, quotient as u64 | u64::from(rest != 0), env)
        }
    }
}

/// The square root of `a`; that of minus zero is minus zero.
#[must_use]
#[inline(never)]
pub fn sqrt<F: Format>(a: u64, env: FpEnv) -> (u64, Flags) {
    match decode::<F>(a, env.ftz) {
        (_, Class::Nan) => nan::<F>(&[a], env),
        (sign, Class::Zero) => (zero::<F>(sign), Flags::NONE),
        (true, _) => invalid::<F>(env),
        (false, Class::Infinite) => (infinity::<F>(false), Flags::NONE),
        (false, Class::Finite { exponent, significand }) => {
            // An odd exponent leaves one factor of two inside the root; either way the root lies in
            // [2^63, 2^64).
            let radicand = u128::from(significand) << (63 + (exponent & 1));
            let root = radicand.isqrt();
            let jam = u64::from(root * root != radicand);
            round::<F>(false, exponent >> 1, root as u64 | jam, env)
        }
    }
}
