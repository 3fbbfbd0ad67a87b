//! Bounds within which an element matches its expected value.
//!
//! Without tolerances, elements are equal if their bits are: `-0` differs from `0`, and NaNs are
//! compared by their payload. With a tolerance, floats match if any of these holds: the bits are
//! equal; both are NaN; their distance is at most `atol + rtol * |expected|`; they are at most
//! `ulp` values of the type apart. Integers match if their distance is at most `atol`.

use crate::elem::{ElemKind, ElemType};

/// Bounds within which values match.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Absolute bound.
    pub atol: f64,
    /// Bound relative to the expected value.
    pub rtol: f64,
    /// Bound in units in the last place: steps from one value of the type to the next.
    pub ulp: u64,
}

impl Tolerance {
    /// Requires equal bits.
    pub const EXACT: Self = Self { atol: 0.0, rtol: 0.0, ulp: 0 };

    /// Returns whether `got` matches `want`, both bit patterns of `ty`.
    #[must_use]
    pub fn allows(&self, ty: ElemType, got: u64, want: u64) -> bool {
        if got == want {
            return true;
        }
        if *self == Self::EXACT {
            return false;
        }
        match (ty.to_f64(got), ty.to_f64(want)) {
            (Some(g), Some(w)) if g.is_nan() || w.is_nan() => g.is_nan() && w.is_nan(),
            (Some(g), Some(w)) => {
                let close = g.is_finite()
                    && w.is_finite()
                    && (g - w).abs() <= self.atol + self.rtol * w.abs();
                close
                    || (self.ulp > 0 && ulp_distance(ty, got, want).is_some_and(|d| d <= self.ulp))
            }
            _ => {
                let distance = ty.to_int(got).unwrap_or(0) - ty.to_int(want).unwrap_or(0);
                distance.unsigned_abs() as f64 <= self.atol
            }
        }
    }
}

/// Returns the number of steps from one float to another through the values of the type; `-0` and
/// `0` are one step apart. Returns `None` for NaNs and integers.
#[must_use]
pub fn ulp_distance(ty: ElemType, a: u64, b: u64) -> Option<u64> {
    if ty.kind() != ElemKind::Float || ty.is_nan(a) || ty.is_nan(b) {
        return None;
    }
    // Maps sign and magnitude to an order-preserving integer.
    let order = |bits: u64| {
        let magnitude = i128::from(bits & (ty.mask() >> 1));
        if bits >> (ty.bits() - 1) == 0 { magnitude } else { -1 - magnitude }
    };
    u64::try_from((order(a) - order(b)).unsigned_abs()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_each_let_pass() {
        let allows = |got: f32, want: f32, tolerance: Tolerance| {
            tolerance.allows(ElemType::F32, got.to_bits().into(), want.to_bits().into())
        };
        let atol = Tolerance { atol: 0.5, ..Tolerance::EXACT };
        assert!(allows(1.5, 1.0, atol) && !allows(1.6, 1.0, atol));
        let rtol = Tolerance { rtol: 0.1, ..Tolerance::EXACT };
        assert!(allows(109.0, 100.0, rtol) && !allows(111.0, 100.0, rtol));
        let ulp = Tolerance { ulp: 2, ..Tolerance::EXACT };
        let next = |x: f32, n: u32| f32::from_bits(x.to_bits() + n);
        assert!(allows(next(1.0, 2), 1.0, ulp) && !allows(next(1.0, 3), 1.0, ulp));
        assert!(allows(f32::NAN, -f32::NAN, ulp) && !allows(f32::NAN, 1.0, ulp));
        assert!(
            !allows(f32::INFINITY, f32::MAX, atol) && allows(f32::INFINITY, f32::INFINITY, atol)
        );
        assert!(allows(-0.0, 0.0, ulp));
        let integers = Tolerance { atol: 1.0, ..Tolerance::EXACT };
        assert!(integers.allows(ElemType::S8, 0xff, 0) && !integers.allows(ElemType::S8, 0xfe, 0));
    }
}
