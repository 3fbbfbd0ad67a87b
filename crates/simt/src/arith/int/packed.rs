//! Several small integers in one 32-bit word.

use super::Int;

/// Applies a 16-bit operation to both halves of a 32-bit word. PTX `.s16x2`, `.u16x2`, and packed
/// half formats.
#[must_use]
#[inline]
pub fn lanes2<const N: usize>(operands: [u64; N], f: impl Fn([u64; N]) -> u64) -> u64 {
    let half = |i: u32| f(operands.map(|x| x >> (16 * i) & 0xffff)) & 0xffff;
    half(1) << 16 | half(0)
}

/// Applies an 8-bit operation to all four bytes of a 32-bit word.
#[must_use]
#[inline]
pub fn lanes4<const N: usize>(operands: [u64; N], f: impl Fn([u64; N]) -> u64) -> u64 {
    let byte = |i: u32| f(operands.map(|x| x >> (8 * i) & 0xff)) & 0xff;
    byte(3) << 24 | byte(2) << 16 | byte(1) << 8 | byte(0)
}

/// `c` plus the dot product of four bytes each of `a` (of type `A`) and `b` (of type `B`), modulo
/// 2^32. PTX `dp4a`; `A` and `B` are `u8` or `i8`.
#[must_use]
#[inline]
pub fn dp4a<A: Int, B: Int>(a: u64, b: u64, c: u64) -> u64 {
    let mut sum = c;
    for i in 0..4 {
        sum = sum.wrapping_add(product::<A, B>(a >> (8 * i), b >> (8 * i)));
    }
    sum & 0xffff_ffff
}

/// `c` plus the dot product of the two halves of `a` (of type `A`) and two bytes of `b` (of type
/// `B`), the upper two if `high`, modulo 2^32. PTX `dp2a`; `A` is `u16` or `i16`, `B` is `u8` or
/// `i8`.
#[must_use]
#[inline]
pub fn dp2a<A: Int, B: Int>(a: u64, b: u64, c: u64, high: bool) -> u64 {
    let b = if high { b >> 16 } else { b };
    c.wrapping_add(product::<A, B>(a, b)).wrapping_add(product::<A, B>(a >> 16, b >> 8))
        & 0xffff_ffff
}

#[inline]
fn product<A: Int, B: Int>(a: u64, b: u64) -> u64 {
    A::extend(a).wrapping_mul(B::extend(b))
}
