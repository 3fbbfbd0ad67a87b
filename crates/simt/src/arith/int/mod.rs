//! Integer arithmetic of 8, 16, 32 and 64 bits.
//!
//! Operands and results are `u64` carriers; the type parameter is the Rust integer that the
//! operation works in: `add::<u32>`, `shr::<i64>`. Operand bits above the type are ignored, result
//! bits above it are zero. A negative `i32` therefore travels as its 32-bit two's complement,
//! zero-extended: use [`Int::extend`] to widen.
//!
//! Rules are those of the PTX ISA ("Integer Arithmetic Instructions", "Logic and Shift
//! Instructions") where nothing else is said; where machines differ, the difference is a parameter
//! ([`DivByZero`], [`Overshift`]).

mod bits;
mod packed;

pub use bits::*;
pub use packed::{dp2a, dp4a, lanes2, lanes4};

use super::compare::{Cmp, Relation};

/// An integer type that operations work in: a Rust integer of 8 to 64 bits.
pub trait Int: Copy + Ord + Send + Sync + 'static + sealed::Sealed {
    /// Width in bits.
    const BITS: u32;
    /// Whether it is two's complement.
    const SIGNED: bool;
    /// The low [`Self::BITS`] bits.
    const MASK: u64 = u64::MAX >> (64 - Self::BITS);
    /// The least value, as a carrier.
    const MIN_BITS: u64 = if Self::SIGNED { 1 << (Self::BITS - 1) } else { 0 };
    /// The greatest value, as a carrier.
    const MAX_BITS: u64 = if Self::SIGNED { Self::MASK >> 1 } else { Self::MASK };

    /// The value in the low bits of a carrier.
    fn of(bits: u64) -> Self;
    /// The value as a carrier: upper bits zero.
    fn bits(self) -> u64;
    /// The value in the low bits of a carrier, sign- or zero-extended to 64 bits.
    fn extend(bits: u64) -> u64;
    /// The carrier without the bits above the type.
    #[must_use]
    #[inline]
    fn truncate(bits: u64) -> u64 {
        bits & Self::MASK
    }
    /// `self / rhs` and `self % rhs` truncated toward zero, wrapping on overflow; `None` if `rhs`
    /// is zero.
    fn div_rem(self, rhs: Self) -> Option<(Self, Self)>;
    /// The sum clamped to the type's range.
    fn saturating_sum(self, rhs: Self) -> Self;
    /// The difference clamped to the type's range.
    fn saturating_difference(self, rhs: Self) -> Self;
    /// Shift right, filling with the sign; `by` must be less than the width.
    fn shift_right(self, by: u32) -> Self;
    /// The upper half of the double-width product.
    fn high_product(self, rhs: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! int {
    ($($t:ident $signed:literal $wide:ident;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Int for $t {
            const BITS: u32 = $t::BITS;
            const SIGNED: bool = $signed;
            #[inline]
            fn of(bits: u64) -> Self {
                bits as $t
            }
            #[inline]
            fn bits(self) -> u64 {
                self as u64 & Self::MASK
            }
            #[inline]
            fn extend(bits: u64) -> u64 {
                bits as $t as u64
            }
            #[inline]
            fn div_rem(self, rhs: Self) -> Option<(Self, Self)> {
                (rhs != 0).then(|| (self.wrapping_div(rhs), self.wrapping_rem(rhs)))
            }
            #[inline]
            fn saturating_sum(self, rhs: Self) -> Self {
                self.saturating_add(rhs)
            }
            #[inline]
            fn saturating_difference(self, rhs: Self) -> Self {
                self.saturating_sub(rhs)
            }
            #[inline]
            fn shift_right(self, by: u32) -> Self {
                self.wrapping_shr(by)
            }
            #[inline]
            fn high_product(self, rhs: Self) -> Self {
                (($wide::from(self) * $wide::from(rhs)) >> $t::BITS) as $t
            }
        }
    )*};
}

int! {
    u8 false u16;
    u16 false u32;
    u32 false u64;
    u64 false u128;
    i8 true i16;
    i16 true i32;
    i32 true i64;
    i64 true i128;
}

/// The result of an integer division by zero. Signed overflow (`MIN / -1`) gives `MIN`, remainder
/// 0, everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DivByZero {
    /// All ones; the remainder is the dividend. RISC-V; PTX leaves it to the machine, and GPUs do
    /// the same.
    #[default]
    AllOnes,
    /// Zero; the remainder is the dividend. LinxISA and the predicate-register-file GPU.
    Zero,
}

/// The result of a shift by the width or more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Overshift {
    /// The amount is clamped to the width: everything is shifted out. PTX.
    #[default]
    Clamp,
    /// The amount is taken modulo the width. RISC-V, LinxISA.
    Wrap,
}

/// `a + b`, wrapping.
#[must_use]
#[inline]
pub fn add<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(a.wrapping_add(b))
}

/// `a - b`, wrapping.
#[must_use]
#[inline]
pub fn sub<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(a.wrapping_sub(b))
}

/// `a + b`, clamped to the type's range. PTX `add.sat.s32`.
#[must_use]
#[inline]
pub fn add_sat<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).saturating_sum(T::of(b)).bits()
}

/// `a - b`, clamped to the type's range. PTX `sub.sat.s32`.
#[must_use]
#[inline]
pub fn sub_sat<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).saturating_difference(T::of(b)).bits()
}

/// `a + b + carry` and the carry out. PTX `add.cc` (carry in false), `addc`.
#[must_use]
#[inline]
pub fn add_carry<T: Int>(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let wide = u128::from(T::truncate(a)) + u128::from(T::truncate(b)) + u128::from(carry);
    (T::truncate(wide as u64), wide >> T::BITS != 0)
}

/// `a + !b + carry` and the carry out of that sum, which is not a borrow. PTX `sub.cc` (carry in
/// true) and `subc`, as NVIDIA's assembler implements them; the PTX ISA speaks of a borrow.
#[must_use]
#[inline]
pub fn sub_carry<T: Int>(a: u64, b: u64, carry: bool) -> (u64, bool) {
    add_carry::<T>(a, !b, carry)
}

/// The lower half of `a * b`. PTX `mul.lo`.
#[must_use]
#[inline]
pub fn mul_lo<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(a.wrapping_mul(b))
}

/// The upper half of `a * b`. PTX `mul.hi`.
#[must_use]
#[inline]
pub fn mul_hi<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).high_product(T::of(b)).bits()
}

/// The upper half of the product of a signed `a` and an unsigned `b`, both as wide as `T`. RISC-V
/// `mulhsu`.
#[must_use]
#[inline]
pub fn mul_hi_signed_unsigned<T: Int>(a: u64, b: u64) -> u64 {
    let shift = 64 - T::BITS;
    let a = i128::from((a << shift) as i64 >> shift);
    T::truncate(((a * i128::from(T::truncate(b))) >> T::BITS) as u64)
}

/// The whole of `a * b` in twice the width; for 64-bit types use [`mul_lo`] and [`mul_hi`]. PTX
/// `mul.wide`.
#[must_use]
#[inline]
pub fn mul_wide<T: Int>(a: u64, b: u64) -> u64 {
    let product = T::extend(a).wrapping_mul(T::extend(b));
    if T::BITS < 32 { product & ((1 << (2 * T::BITS)) - 1) } else { product }
}

/// The lower half of `a * b`, plus `c`, wrapping. PTX `mad.lo`.
#[must_use]
#[inline]
pub fn mad_lo<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul_lo::<T>(a, b), c)
}

/// The upper half of `a * b`, plus `c`, wrapping. PTX `mad.hi`.
#[must_use]
#[inline]
pub fn mad_hi<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul_hi::<T>(a, b), c)
}

/// The upper half of `a * b`, plus `c`, clamped. PTX `mad.hi.sat.s32`.
#[must_use]
#[inline]
pub fn mad_hi_sat<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add_sat::<T>(mul_hi::<T>(a, b), c)
}

/// `a * b + c` in twice the width, wrapping. PTX `mad.wide`.
#[must_use]
#[inline]
pub fn mad_wide<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    let sum = mul_wide::<T>(a, b).wrapping_add(c);
    if T::BITS < 32 { sum & ((1 << (2 * T::BITS)) - 1) } else { sum }
}

/// The 48-bit product of the low 24 bits of both operands, extended as `T` (32 bits) says.
#[inline]
fn product24<T: Int>(a: u64, b: u64) -> u64 {
    let extend = |x: u64| {
        let top = x << 40;
        if T::SIGNED { (top as i64 >> 40) as u64 } else { top >> 40 }
    };
    extend(a).wrapping_mul(extend(b))
}

/// Bits 31..0 of the 48-bit product of 24-bit operands. PTX `mul24.lo`; `T` is `u32` or `i32`.
#[must_use]
#[inline]
pub fn mul24_lo<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(product24::<T>(a, b))
}

/// Bits 47..16 of the 48-bit product of 24-bit operands. PTX `mul24.hi`; `T` is `u32` or `i32`.
#[must_use]
#[inline]
pub fn mul24_hi<T: Int>(a: u64, b: u64) -> u64 {
    T::truncate(product24::<T>(a, b) >> 16)
}

/// [`mul24_lo`] plus `c`, wrapping. PTX `mad24.lo`.
#[must_use]
#[inline]
pub fn mad24_lo<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul24_lo::<T>(a, b), c)
}

/// [`mul24_hi`] plus `c`, wrapping. PTX `mad24.hi`.
#[must_use]
#[inline]
pub fn mad24_hi<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add::<T>(mul24_hi::<T>(a, b), c)
}

/// [`mul24_hi`] plus `c`, clamped. PTX `mad24.hi.sat.s32`.
#[must_use]
#[inline]
pub fn mad24_hi_sat<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    add_sat::<T>(mul24_hi::<T>(a, b), c)
}

/// `c + |a - b|`, wrapping. PTX `sad`.
#[must_use]
#[inline]
pub fn sad<T: Int>(a: u64, b: u64, c: u64) -> u64 {
    let distance = if T::of(a) < T::of(b) { b.wrapping_sub(a) } else { a.wrapping_sub(b) };
    add::<T>(c, distance)
}

/// `a / b`, truncated toward zero.
#[must_use]
#[inline]
pub fn div<T: Int>(a: u64, b: u64, rule: DivByZero) -> u64 {
    match (T::of(a).div_rem(T::of(b)), rule) {
        (Some((quotient, _)), _) => quotient.bits(),
        (None, DivByZero::AllOnes) => T::MASK,
        (None, DivByZero::Zero) => 0,
    }
}

/// `a - b * (a / b)`: has the sign of `a`; the dividend where `b` is zero.
#[must_use]
#[inline]
pub fn rem<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).div_rem(T::of(b)).map_or(T::truncate(a), |(_, rest)| rest.bits())
}

/// The lesser.
#[must_use]
#[inline]
pub fn min<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).min(T::of(b)).bits()
}

/// The greater.
#[must_use]
#[inline]
pub fn max<T: Int>(a: u64, b: u64) -> u64 {
    T::of(a).max(T::of(b)).bits()
}

/// Zero if `a` is negative, else `a`. PTX `.relu`.
#[must_use]
#[inline]
pub fn relu<T: Int>(a: u64) -> u64 {
    max::<T>(a, 0)
}

/// `|a|`; that of the least integer is itself.
#[must_use]
#[inline]
pub fn abs<T: Int>(a: u64) -> u64 {
    if T::of(a) < T::of(0) { neg::<T>(a) } else { T::truncate(a) }
}

/// `-a`, wrapping.
#[must_use]
#[inline]
pub fn neg<T: Int>(a: u64) -> u64 {
    T::truncate(a.wrapping_neg())
}

/// The relation of `a` to `b`; never unordered.
#[must_use]
#[inline]
pub fn compare<T: Int>(a: u64, b: u64) -> Relation {
    T::of(a).cmp(&T::of(b)).into()
}

/// Returns whether the operator is true of `a` and `b`. The unsigned `lo`, `ls`, `hi`, `hs` of PTX
/// are `Lt`, `Le`, `Gt`, `Ge` at an unsigned type.
#[must_use]
#[inline]
pub fn holds<T: Int>(op: Cmp, a: u64, b: u64) -> bool {
    let (a, b) = (T::of(a), T::of(b));
    match op {
        Cmp::Eq | Cmp::Equ => a == b,
        Cmp::Ne | Cmp::Neu => a != b,
        Cmp::Lt | Cmp::Ltu => a < b,
        Cmp::Le | Cmp::Leu => a <= b,
        Cmp::Gt | Cmp::Gtu => a > b,
        Cmp::Ge | Cmp::Geu => a >= b,
        Cmp::Num => true,
        Cmp::Nan => false,
    }
}

/// Converts an integer of type `S` to type `D` by extending or truncating. PTX `cvt` between
/// integers.
#[must_use]
#[inline]
pub fn convert<S: Int, D: Int>(a: u64) -> u64 {
    D::truncate(S::extend(a))
}

/// Converts an integer of type `S` to type `D`, clamping to its range. PTX `cvt.sat` between
/// integers.
#[must_use]
#[inline]
pub fn convert_sat<S: Int, D: Int>(a: u64) -> u64 {
    let wide = |signed: bool, bits: u64| {
        if signed { i128::from(bits as i64) } else { i128::from(bits) }
    };
    let value = wide(S::SIGNED, S::extend(a));
    let least = wide(D::SIGNED, D::extend(D::MIN_BITS));
    let greatest = wide(D::SIGNED, D::extend(D::MAX_BITS));
    D::truncate(value.clamp(least, greatest) as u64)
}
