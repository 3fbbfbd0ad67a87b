//! Sums of blocks of products in double precision, for all finite numbers: every term and sum is
//! exact before it is cut or rounded.

use super::sums::{Accumulators, Factor, GREATEST_HALF, Rule};
use super::terms::{BIAS, COLUMNS, Format, Left, ROWS, Single, ZERO};

/// Adds a block of products to sums. Returns `None` if a sum becomes infinite.
#[inline(never)]
pub(super) fn block_of_doubles<R: Rule, const P: usize>(
    left: &Left<P>,
    right: &impl Factor,
    before: &Accumulators,
    after: &mut Accumulators,
) -> Option<()> {
    after.top = ZERO;
    after.least = R::LEAST;
    for column in 0..COLUMNS {
        for row in 0..ROWS {
            let sum = before.sums[column][row];
            let field = (sum.to_bits() >> 23 & 0xff) as i32;
            let mut top = if sum == 0.0 { ZERO } else { (field - BIAS).max(before.least) };
            for part in 0..P {
                for word in 0..4 {
                    let (_, x) = left.term(part, word, row);
                    let (_, y) = right.term(part, word, column, row);
                    top = top.max(x - BIAS + y);
                }
            }
            let scale = power(R::FRACTION - top);
            let mut total = (f64::from(sum) * scale) as i32;
            for part in 0..P {
                for word in 0..4 {
                    let (x, _) = left.term(part, word, row);
                    let (y, _) = right.term(part, word, column, row);
                    total += (f64::from(x) * f64::from(y) * scale) as i32;
                }
            }
            let value = f64::from(total) * power(top - R::FRACTION);
            let result = rounded_double::<R>(value);
            let greatest = if R::HALF { GREATEST_HALF } else { f32::MAX };
            if value.abs() > greatest.into() || result.abs() > greatest {
                return None;
            }
            after.sums[column][row] = result;
            after.top = after.top.max(Single::exponent(Single::magnitude(result.to_bits()))?);
        }
    }
    Some(())
}

/// A power of two whose exponent is that of a normal number.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A sum so far: `value` cut to single precision, or rounded to half precision.
#[inline(always)]
fn rounded_double<R: Rule>(value: f64) -> f32 {
    if R::HALF {
        let place = (value.to_bits() >> 52 & 0x7ff).max(1023 - 14) + 42;
        let shift = f64::from_bits(place << 52 | 1 << 51);
        return ((value + shift) - shift) as f32;
    }
    let nearest = value as f32;
    let above = f64::from(nearest.abs()) > value.abs();
    let bits = (nearest.to_bits() & 0x7fff_ffff) - u32::from(above);
    let bits = if R::FRACTION == 13 { bits & !0x3ff } else { bits };
    let sign = nearest.to_bits() & 0x8000_0000;
    f32::from_bits(if bits == 0 { 0 } else { bits | sign })
}
