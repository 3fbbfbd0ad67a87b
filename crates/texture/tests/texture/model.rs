//! The formulas of the CUDA C++ Programming Guide, "Texture Fetching", in whole numbers.
//!
//! Coordinates are multiples of 2^-20, elements multiples of 2^-4 and weights of 2^-8, so that
//! every sum is exact, and a value is what that sum rounds to.

use ir::mods::Geometry;
use texture::{AddressMode, Filter, Resource, Sampler};

/// Coordinates are counted in parts of so much.
pub(crate) const PART: i128 = 1 << 20;

/// The value of an element: component `c` of the element at indices, in sixteenths. Any function
/// that tells neighbours apart would do.
pub(crate) fn element(at: [i64; 3], layer: i64, level: i64, c: usize) -> i128 {
    let mixed = at[0] * 37 + at[1] * 101 + at[2] * 331 + layer * 577 + level * 911 + c as i64 * 71;
    i128::from(mixed * mixed % 4093 - 2000)
}

/// The indices of one dimension with their weights in 256ths.
fn indices(
    x: i128,
    size: i64,
    normalized: bool,
    mode: AddressMode,
    filter: Filter,
) -> Vec<(i64, i128)> {
    let repeats = normalized && matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
    let mut x = x;
    if repeats {
        let turn = x.div_euclid(PART);
        x = x.rem_euclid(PART);
        if mode == AddressMode::Mirror && turn.rem_euclid(2) == 1 {
            x = PART - x;
        }
    }
    if normalized {
        x *= i128::from(size);
    }
    match filter {
        Filter::Point => vec![(x.div_euclid(PART) as i64, 256)],
        Filter::Linear => {
            let from = x - PART / 2;
            let (index, rest) = (from.div_euclid(PART) as i64, from.rem_euclid(PART));
            let second = (rest * 256 + PART / 2).div_euclid(PART);
            vec![(index, 256 - second), (index + 1, second)]
        }
    }
}

/// The element that an index means; none is the border.
fn resolved(index: i64, size: i64, normalized: bool, mode: AddressMode) -> Option<i64> {
    match mode {
        AddressMode::Border => (0..size).contains(&index).then_some(index),
        AddressMode::Wrap if normalized => Some(index.rem_euclid(size)),
        _ => Some(index.clamp(0, size - 1)),
    }
}

/// A component of the value at coordinates, of one level, in units of 2^-28.
pub(crate) fn level_value(
    resource: &Resource,
    sampler: &Sampler,
    (at, layer, level): ([i128; 3], i64, i64),
    c: usize,
) -> i128 {
    let count = match resource.shape.geometry {
        Geometry::D1 | Geometry::D1Layered => 1,
        Geometry::D2 | Geometry::D2Layered => 2,
        _ => 3,
    };
    let size = |i: usize| i64::from((resource.shape.extents[i] >> level).max(1));
    let along = |i: usize| match i < count {
        true => indices(at[i], size(i), sampler.normalized, sampler.modes[i], sampler.filter),
        false => vec![(0, 256)],
    };
    let mut sum = 0;
    for (z, third) in along(2) {
        for (y, second) in along(1) {
            for (x, first) in along(0) {
                let given = [x, y, z];
                let found = [0, 1, 2].map(|i| match i < count {
                    true => resolved(given[i], size(i), sampler.normalized, sampler.modes[i]),
                    false => Some(0),
                });
                let value = match found {
                    [Some(x), Some(y), Some(z)] => element([x, y, z], layer, level, c),
                    // Borders of the tests are multiples of a sixteenth.
                    _ => (sampler.border[c] * 16.0) as i128,
                };
                sum += value * first * second * third;
            }
        }
    }
    sum
}

/// The levels of a level of detail in 2^-20, with weights in 256ths.
pub(crate) fn levels(lod: i128, sampler: &Sampler, count: u32) -> Vec<(i64, i128)> {
    let parts = |value: f32| (f64::from(value) * PART as f64) as i128;
    let lod = (lod + parts(sampler.bias)).max(parts(sampler.levels[0]));
    let lod = lod.min(parts(sampler.levels[1])).clamp(0, i128::from(count - 1) * PART);
    match sampler.level_filter {
        Filter::Point => vec![((lod + PART / 2).div_euclid(PART) as i64, 256)],
        Filter::Linear => {
            let (first, rest) = ((lod / PART) as i64, lod % PART);
            let second = (rest * 256 + PART / 2) / PART;
            let next = (first + 1).min(i64::from(count) - 1);
            vec![(first, 256 - second), (next, second)]
        }
    }
}

/// A sum of units of 2^-36 as a float: the conversion of an integer rounds to the nearest.
pub(crate) fn rounded(sum: i128) -> f32 {
    let scaled = sum as f32;
    scaled / (1u64 << 36) as f32
}
