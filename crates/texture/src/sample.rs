//! Sampling: coordinates to a value.
//!
//! A linear filter multiplies elements by their weights, which are exact, and adds in double
//! precision; the sum is rounded once, and one without a number is PTX's NaN. Elements of weight 0
//! take no part, so that what lies there, infinite or NaN, does not matter. Without a filter the
//! value is the element, bit by bit.

use ir::mods::Component;

use crate::address::{ONE, Taps, element, taps};
use crate::cube::{across, project};
use crate::level::{levels, of_derivatives};
use crate::{AddressMode, Filter, Resource, Sampler, Texel};

/// The bits of PTX's NaN.
const NAN: u32 = 0x7fff_ffff;

/// Where a texture is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Request {
    /// At coordinates.
    At {
        /// The layer; beyond the last one, the last one.
        layer: u32,
        /// Coordinates, or the direction in a cube.
        at: [f32; 3],
        /// The level of detail.
        lod: f32,
        /// Derivatives from which the level of detail is computed instead.
        derivatives: Option<[[f32; 3]; 2]>,
        /// Elements added to the coordinates.
        offsets: [i32; 3],
    },
    /// An element by its indices, neither filtered nor addressed by a mode: zeros if it is not
    /// there.
    Element {
        /// The layer, as above.
        layer: u32,
        /// Its indices.
        at: [i32; 3],
        /// Its level.
        level: i32,
        /// Added to the indices.
        offsets: [i32; 3],
    },
}

/// A texture with a sampler, and what reads elements' bytes.
struct Texture<'a, R> {
    resource: &'a Resource,
    sampler: &'a Sampler,
    read: R,
}

/// The value of a texture at a place. `read` reads so many bytes at an address.
///
/// # Errors
/// If an element cannot be read.
pub fn sample<E>(
    resource: &Resource,
    sampler: &Sampler,
    request: &Request,
    read: impl FnMut(u64, usize) -> Result<[u8; 16], E>,
) -> Result<Texel, E> {
    let mut texture = Texture { resource, sampler, read };
    match *request {
        Request::At { layer, at, lod, derivatives, offsets } => {
            let place = texture.place(layer, at, derivatives);
            let lod = place.lod.unwrap_or(f64::from(lod));
            let used = levels(lod, sampler, resource.levels);
            let one =
                used.into_iter().find(|used| used.1 == ONE && sampler.filter == Filter::Point);
            if let Some((level, _)) = texture.is_integer().then_some(used[0]).or(one) {
                return texture.nearest(&place, offsets, level);
            }
            let mut sum = Sum::default();
            for (level, weight) in used.into_iter().filter(|used| used.1 > 0) {
                texture.add(&mut sum, &place, offsets, level, weight)?;
            }
            Ok(sum.value())
        }
        Request::Element { layer, at, level, offsets } => {
            texture.element(layer, at, level, offsets)
        }
    }
}

/// One component of the four elements that a linear filter takes of the first level, as `tld4`
/// orders them: counterclockwise from the one at the lower left.
///
/// # Errors
/// If an element cannot be read.
pub fn gather<E>(
    resource: &Resource,
    sampler: &Sampler,
    (layer, at, offsets): (u32, [f32; 3], [i32; 3]),
    component: Component,
    read: impl FnMut(u64, usize) -> Result<[u8; 16], E>,
) -> Result<[u32; 4], E> {
    let mut texture = Texture { resource, sampler, read };
    let place = texture.place(layer, at, None);
    let [along, down, _] = texture.taps(&place, offsets, 0, Filter::Linear);
    let mut out = [0; 4];
    for (out, [i, j]) in out.iter_mut().zip([[0, 1], [1, 1], [1, 0], [0, 0]]) {
        let at = [along.0[i].0, down.0[j].0, Some(0)];
        let texel = texture.texel(at, &place, 0)?;
        *out = texel.bits()[component as usize];
    }
    Ok(out)
}

/// A place in a layer.
struct Place {
    /// The layer, or the face of a cube.
    layer: u32,
    at: [f64; 3],
    /// Whether `at` is normalised.
    normalized: bool,
    lod: Option<f64>,
}

/// A weighted sum of elements.
#[derive(Default)]
struct Sum([f64; 4]);

impl Sum {
    fn add(&mut self, texel: Texel, weight: f64) {
        let Texel::Float(values) = texel else { return };
        for (sum, value) in self.0.iter_mut().zip(values) {
            *sum += f64::from(value) * weight;
        }
    }

    fn value(self) -> Texel {
        Texel::Float(self.0.map(rounded))
    }
}

/// Returns a sum as a component.
#[inline(always)]
pub(crate) fn rounded(sum: f64) -> f32 {
    if sum.is_nan() { f32::from_bits(NAN) } else { sum as f32 }
}

impl<E, R: FnMut(u64, usize) -> Result<[u8; 16], E>> Texture<'_, R> {
    fn is_integer(&self) -> bool {
        self.resource.shape.format.channel.reads_integers(self.sampler.integers)
    }

    fn place(&self, layer: u32, at: [f32; 3], derivatives: Option<[[f32; 3]; 2]>) -> Place {
        let geometry = self.resource.shape.geometry;
        let at = at.map(f64::from);
        let derivatives = derivatives.map(|both| both.map(|d| d.map(f64::from)));
        let sizes = self.resource.extents_at(0).map(f64::from);
        if geometry.is_cube() {
            let given = derivatives.as_ref().map_or(&[][..], |both| &both[..]);
            let (face, [s, t], slopes) = project(at, given);
            let in_elements = |d: &[f64; 2]| d.map(|a| a * sizes[0]);
            let lod = match slopes.as_slice() {
                [dx, dy] => Some(of_derivatives(&in_elements(dx), &in_elements(dy))),
                _ => None,
            };
            let cube = layer.min(self.resource.layers / 6 - 1);
            return Place { layer: cube * 6 + face, at: [s, t, 0.0], normalized: true, lod };
        }
        let lod = derivatives.map(|both| {
            let [dx, dy] = both.map(|d| match self.sampler.normalized {
                true => [d[0] * sizes[0], d[1] * sizes[1], d[2] * sizes[2]],
                false => d,
            });
            let count = geometry.dimensions();
            of_derivatives(&dx[..count], &dy[..count])
        });
        let layer = layer.min(self.resource.layers - 1);
        Place { layer, at, normalized: self.sampler.normalized, lod }
    }

    /// The elements along each dimension. Cubes are clamped, or have indices one outside.
    fn taps(&self, place: &Place, offsets: [i32; 3], level: u32, filter: Filter) -> [Taps; 3] {
        let geometry = self.resource.shape.geometry;
        let sizes = self.resource.extents_at(level);
        let count = if geometry.is_cube() { 2 } else { geometry.dimensions() };
        std::array::from_fn(|i| {
            if i >= count {
                return Taps([(Some(0), ONE), (None, 0)]);
            }
            let scale = if place.normalized { f64::from(sizes[i]) } else { 1.0 };
            let at = place.at[i] * scale + f64::from(offsets[i]);
            let mode = if geometry.is_cube() { AddressMode::Clamp } else { self.sampler.mode(i) };
            taps(at, sizes[i], mode, filter)
        })
    }

    fn add(
        &mut self,
        sum: &mut Sum,
        place: &Place,
        offsets: [i32; 3],
        level: u32,
        weight: u32,
    ) -> Result<(), E> {
        let filter = self.sampler.filter;
        let cube = self.resource.shape.geometry.is_cube();
        if cube && self.sampler.seamless && filter == Filter::Linear {
            return self.add_across(sum, place, level, weight);
        }
        let [along, down, deep] = self.taps(place, offsets, level, filter);
        let scale = f64::from(weight) / f64::from(ONE);
        for (z, third) in used(deep) {
            for (y, second) in used(down) {
                for (x, first) in used(along) {
                    let share = [first, second, third].map(|w| f64::from(w) / f64::from(ONE));
                    let texel = self.texel([x, y, z], place, level)?;
                    sum.add(texel, share[0] * share[1] * share[2] * scale);
                }
            }
        }
        Ok(())
    }

    /// The same on a cube whose edges a filter crosses.
    fn add_across(
        &mut self,
        sum: &mut Sum,
        place: &Place,
        level: u32,
        weight: u32,
    ) -> Result<(), E> {
        let [size, ..] = self.resource.extents_at(level);
        let cube = place.layer / 6 * 6;
        let split = |at: f64| {
            let from = at * f64::from(size) - 0.5;
            let second = crate::address::weight(from - from.floor());
            (from.floor() as i64, [ONE - second, second])
        };
        let (x, columns) = split(place.at[0]);
        let (y, rows) = split(place.at[1]);
        let scale = f64::from(weight) / f64::from(ONE);
        let fetch = |this: &mut Self, index: [i64; 2]| -> Result<Option<Texel>, E> {
            let Some((face, [i, j])) = across(place.layer % 6, index, size) else {
                return Ok(None);
            };
            let place = Place { layer: cube + face, at: [0.0; 3], normalized: true, lod: None };
            this.texel([Some(i), Some(j), Some(0)], &place, level).map(Some)
        };
        for (dy, &row) in rows.iter().enumerate() {
            for (dx, &column) in columns.iter().enumerate() {
                let share = f64::from(row) * f64::from(column) / f64::from(ONE * ONE) * scale;
                if share == 0.0 {
                    continue;
                }
                let index = [x + dx as i64, y + dy as i64];
                if let Some(texel) = fetch(self, index)? {
                    sum.add(texel, share);
                    continue;
                }
                // Behind a corner: the mean of the three elements that meet there.
                for at in corner(index, size) {
                    if let Some(texel) = fetch(self, at)? {
                        sum.add(texel, share / 3.0);
                    }
                }
            }
        }
        Ok(())
    }

    /// The nearest element.
    fn nearest(&mut self, place: &Place, offsets: [i32; 3], level: u32) -> Result<Texel, E> {
        let taps = self.taps(place, offsets, level, Filter::Point);
        self.texel(taps.map(|taps| taps.0[0].0), place, level)
    }

    /// The element at indices, or the border.
    fn texel(&mut self, at: [Option<u32>; 3], place: &Place, level: u32) -> Result<Texel, E> {
        let (format, sampler) = (self.resource.shape.format, self.sampler);
        let [Some(x), Some(y), Some(z)] = at else {
            return Ok(format.border(sampler.border, sampler.integers));
        };
        let address = self.resource.address_of([x, y, z], place.layer, level);
        let bytes = (self.read)(address, format.bytes())?;
        Ok(format.read(&bytes, sampler.integers, sampler.srgb))
    }

    fn element(
        &mut self,
        layer: u32,
        at: [i32; 3],
        level: i32,
        offsets: [i32; 3],
    ) -> Result<Texel, E> {
        let zeros = match self.is_integer() {
            true => Texel::Int([0; 4]),
            false => Texel::Float([0.0; 4]),
        };
        let Some(level) = u32::try_from(level).ok().filter(|&l| l < self.resource.levels) else {
            return Ok(zeros);
        };
        let sizes = self.resource.extents_at(level);
        let count = self.resource.shape.geometry.dimensions();
        let mut found = [Some(0); 3];
        for i in 0..count {
            let index = i64::from(at[i]) + i64::from(offsets[i]);
            found[i] = element(index, sizes[i], AddressMode::Border);
        }
        if found.contains(&None) {
            return Ok(zeros);
        }
        let layer = layer.min(self.resource.layers - 1);
        let place = Place { layer, at: [0.0; 3], normalized: false, lod: None };
        self.texel(found, &place, level)
    }
}

/// Elements that have a weight.
fn used(taps: Taps) -> impl Iterator<Item = (Option<u32>, u32)> {
    taps.0.into_iter().filter(|tap| tap.1 > 0)
}

/// The elements that meet at the corner of a face behind which an element would be.
fn corner([i, j]: [i64; 2], size: u32) -> [[i64; 2]; 3] {
    let last = i64::from(size) - 1;
    let (x, y) = (i.clamp(0, last), j.clamp(0, last));
    [[x, y], [i, y], [x, j]]
}
