//! Coordinates: which elements along one dimension make up a value, and with which weights.
//!
//! Everything is computed in units of elements in double precision, in which the products and
//! differences of single-precision coordinates with sizes are exact, but for those so near to a
//! multiple of the size that no weight can tell.

use crate::{AddressMode, Filter};

/// Weights are fractions of so much: 9 bits, of which 8 are behind the point.
pub(crate) const ONE: u32 = 256;

/// An element along one dimension, none outside, and its weight.
pub(crate) type Tap = (Option<u32>, u32);

/// The two elements that a linear filter takes along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taps(pub(crate) [Tap; 2]);

/// A fraction in units of [`ONE`], rounded to the nearest, ties up.
pub(crate) fn weight(fraction: f64) -> u32 {
    (fraction * f64::from(ONE) + 0.5) as u32
}

/// A coordinate in elements, brought into the range of the mode.
fn reduced(at: f64, size: f64, mode: AddressMode) -> f64 {
    let at = if at.is_nan() { 0.0 } else { at };
    match mode {
        // Two elements outside are as good as any.
        AddressMode::Clamp | AddressMode::Border => at.clamp(-2.0, size + 1.0),
        AddressMode::Wrap | AddressMode::Mirror if at.is_infinite() => 0.0,
        AddressMode::Wrap => (at - (at / size).floor() * size).clamp(0.0, size.next_down()),
        AddressMode::Mirror => {
            let turns = (at / size).floor();
            let rest = (at - turns * size).clamp(0.0, size);
            if turns.rem_euclid(2.0) == 0.0 { rest } else { size - rest }
        }
    }
}

/// The element of an index that may be outside.
pub(crate) fn element(index: i64, size: u32, mode: AddressMode) -> Option<u32> {
    let count = i64::from(size);
    match mode {
        AddressMode::Border => u32::try_from(index).ok().filter(|&i| i < size),
        AddressMode::Wrap => Some(index.rem_euclid(count) as u32),
        // A mirrored coordinate is within, and its neighbours outside are the elements at the edge.
        AddressMode::Clamp | AddressMode::Mirror => Some(index.clamp(0, count - 1) as u32),
    }
}

/// The elements at a coordinate in units of elements.
pub(crate) fn taps(at: f64, size: u32, mode: AddressMode, filter: Filter) -> Taps {
    let at = reduced(at, f64::from(size), mode);
    match filter {
        Filter::Point => Taps([(element(at.floor() as i64, size, mode), ONE), (None, 0)]),
        Filter::Linear => {
            let from = at - 0.5;
            let (index, second) = (from.floor(), weight(from - from.floor()));
            let taps = [(index as i64, ONE - second), (index as i64 + 1, second)];
            Taps(taps.map(|(index, weight)| (element(index, size, mode), weight)))
        }
    }
}
