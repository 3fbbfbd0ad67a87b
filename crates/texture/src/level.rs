//! The levels of a mipmap that make up a value.

use crate::address::{ONE, weight};
use crate::{Filter, Sampler};

/// Two levels and their weights; the second may have none.
pub(crate) type Levels = [(u32, u32); 2];

/// The levels of a level of detail.
pub(crate) fn levels(lod: f64, sampler: &Sampler, count: u32) -> Levels {
    let [least, most] = sampler.levels.map(f64::from);
    let lod = (lod + f64::from(sampler.bias)).max(least).min(most);
    let last = f64::from(count - 1);
    // `max` and `min` drop NaN.
    let lod = lod.max(0.0).min(last);
    match sampler.level_filter {
        Filter::Point => [((lod + 0.5).floor().min(last) as u32, ONE), (0, 0)],
        Filter::Linear => {
            let first = lod.floor();
            let second = weight(lod - first);
            let next = (first + 1.0).min(last);
            [(first as u32, ONE - second), (next as u32, second)]
        }
    }
}

/// The level of detail of two derivatives in units of elements.
pub(crate) fn of_derivatives(dx: &[f64], dy: &[f64]) -> f64 {
    let square = |d: &[f64]| d.iter().map(|a| a * a).sum::<f64>();
    libm::log2(square(dx).max(square(dy))) / 2.0
}
