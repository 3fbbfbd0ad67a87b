//! Values of the lanes of a warp at a time, for textures that are seen at one level and are no
//! cubes: the same bits as [`sample`](crate::sample), whose definition this is written after.
//!
//! Coordinates are turned into elements and weights dimension by dimension, for all lanes; then
//! each lane's elements are read. Functions are inlined, so that they are compiled for the vector
//! instructions of their caller.

use crate::address::ONE;
use crate::sample::rounded;
use crate::{AddressMode, Channel, Filter, Format, Resource, Sampler, Texel};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The most elements that make up a value.
pub const MOST: usize = 8;

/// Elements along a dimension may not be more, so that indices fit into 31 bits.
const MOST_ELEMENTS: u32 = 1 << 30;

/// A number whose sum with an integer of 32 bits has that in its low bits.
const SHIFTED: f64 = 6_755_399_441_055_744.0;

/// Where lanes sample a texture: bits of floats, or integers.
#[derive(Clone, Debug)]
pub struct Places {
    /// Layers.
    pub layer: [u32; LANES],
    /// Coordinates.
    pub at: [[u32; LANES]; 3],
    /// Elements added to them, if there are any.
    pub offsets: Option<[[u32; LANES]; 3]>,
    /// Levels of elements.
    pub level: [u32; LANES],
    /// The lanes that sample.
    pub on: u32,
}

/// What lanes have read.
#[derive(Clone, Debug)]
pub struct Reads {
    /// How many elements.
    pub count: [u8; LANES],
    /// Their addresses, one after another.
    pub at: [[u64; LANES]; MOST],
}

impl Default for Reads {
    fn default() -> Self {
        Self { count: [0; LANES], at: [[0; LANES]; MOST] }
    }
}

/// A texture with its sampler.
#[derive(Clone, Debug)]
pub struct Plane {
    format: Format,
    sampler: Sampler,
    filter: Filter,
    border: Texel,
    dimensions: usize,
    sizes: [u32; 3],
    layers: u32,
    /// The address of the first element.
    first: u64,
    /// Bytes from one element to the next along each dimension, and to the next layer.
    steps: [usize; 4],
}

/// The elements along a dimension: two indices, negative outside, and the weight of the second.
struct Along {
    index: [[i32; LANES]; 2],
    second: [u32; LANES],
    /// Whether there are second ones.
    filtered: bool,
}

impl Along {
    const ONE: Self = Self { index: [[0; LANES]; 2], second: [0; LANES], filtered: false };

    /// Returns the elements of a lane and their weights; those without weight do not count.
    #[inline(always)]
    fn taps(&self, lane: usize) -> [(i32, u32); 2] {
        let second = if self.filtered { self.second[lane] } else { 0 };
        [(self.index[0][lane], ONE - second), (self.index[1][lane], second)]
    }
}

impl Plane {
    /// Returns a texture that can be sampled so; `None` if it is to be sampled lane by lane.
    #[must_use]
    pub fn new(resource: &Resource, sampler: &Sampler) -> Option<Self> {
        let shape = &resource.shape;
        let (format, geometry) = (shape.format, shape.geometry);
        let sizes = resource.extents_at(0);
        let curved = sampler.srgb && format.channel.bytes() == 1;
        if resource.levels != 1
            || geometry.is_cube()
            || curved
            || sizes.iter().any(|&size| size > MOST_ELEMENTS)
        {
            return None;
        }
        let row = |at, layer| resource.row_of(at, layer, 0);
        let first = row([0, 0], 0);
        let step = |there: bool, to: u64| match there {
            true => usize::try_from(to.wrapping_sub(first)).ok(),
            false => Some(0),
        };
        let bytes = format.bytes();
        let steps = [
            bytes,
            step(sizes[1] > 1, row([1, 0], 0))?,
            step(sizes[2] > 1, row([0, 1], 0))?,
            step(resource.layers > 1, row([0, 0], 1))?,
        ];
        let align = bytes.min(8) as u64;
        let aligned = steps.iter().all(|&step| (step as u64).is_multiple_of(align));
        let integer = format.channel.reads_integers(sampler.integers);
        (aligned && first.is_multiple_of(align)).then(|| Self {
            format,
            sampler: *sampler,
            filter: if integer { Filter::Point } else { sampler.filter },
            border: format.border(sampler.border, sampler.integers),
            dimensions: geometry.dimensions(),
            sizes,
            layers: resource.layers,
            first,
            steps,
        })
    }

    /// Returns the first row of a plane.
    #[must_use]
    pub fn row(&self) -> Self {
        Self { dimensions: 1, ..*self }
    }

    /// Returns the address of its first byte, and how many there are up to its last.
    #[must_use]
    pub fn extent(&self) -> (u64, u64) {
        let [x, y, z] = self.sizes.map(|size| u64::from(size) - 1);
        let [element, row, slice, layer] = self.steps.map(|step| step as u64);
        let layers = u64::from(self.layers) - 1;
        (self.first, x * element + y * row + z * slice + layers * layer + element)
    }

    /// Bytes of an element.
    #[must_use]
    pub fn element_bytes(&self) -> usize {
        self.format.bytes()
    }

    /// Returns the values at coordinates, by component and lane. `bytes` are those of its
    /// [extent](Self::extent). Lanes that are off have anything.
    #[inline(always)]
    pub fn sample(
        &self,
        bytes: &[u8],
        places: &Places,
        reads: Option<&mut Reads>,
    ) -> [[u32; LANES]; 4] {
        let mut along = [Along::ONE; 3];
        for (i, along) in along.iter_mut().enumerate().take(self.dimensions) {
            self.find(i, &places.at[i], places.offsets.as_ref().map(|o| &o[i]), along);
        }
        let borders = (0..self.dimensions).any(|i| self.sampler.mode(i) == AddressMode::Border);
        let (format, points) = (self.format, self.filter == Filter::Point);
        let word = |at| [word(bytes, at)];
        let fraction = |bits: u32| bits as f32 / 255.0;
        match (format.channel, format.channels) {
            (Channel::F32, 1) if !borders && !points => {
                self.means(places, &along, reads, word, f32::from_bits)
            }
            (Channel::F32, 4) if !borders && !points => {
                let of = |at| [0, 4, 8, 12].map(|i| self::word(bytes, at + i));
                self.means(places, &along, reads, of, f32::from_bits)
            }
            (Channel::U8 | Channel::Unorm8, 1) if !borders && !points => {
                self.means(places, &along, reads, |at| [bytes[at].into()], fraction)
            }
            (Channel::U8 | Channel::Unorm8, 4) if !borders && !points => {
                let of = |at: usize| self::word(bytes, at).to_le_bytes().map(u32::from);
                self.means(places, &along, reads, of, fraction)
            }
            (Channel::F32, 1) if !borders => {
                let of = |at| [self::word(bytes, at), 0, 0, 1f32.to_bits()];
                self.nearest(places, &along, reads, of)
            }
            (Channel::U32 | Channel::S32, 1) if !borders => {
                self.nearest(places, &along, reads, |at| [self::word(bytes, at), 0, 0, 1])
            }
            _ => {
                let of = |at: usize| format.read(&bytes[at..], self.sampler.integers, false);
                match points {
                    true => self.nearest(places, &along, reads, |at| of(at).bits()),
                    false => self.any_means(places, &along, reads, of),
                }
            }
        }
    }

    /// Returns elements by their indices: zeros where there are none.
    #[inline(always)]
    pub fn elements(
        &self,
        bytes: &[u8],
        places: &Places,
        mut reads: Option<&mut Reads>,
    ) -> [[u32; LANES]; 4] {
        let mut out = [[0; LANES]; 4];
        for lane in lanes(places.on) {
            let (mut at, mut there) = (self.layer(places, lane), places.level[lane] == 0);
            for i in 0..self.dimensions {
                let index = i64::from(places.at[i][lane].cast_signed());
                let offset = places.offsets.as_ref().map_or(0, |o| o[i][lane].cast_signed());
                match u32::try_from(index + i64::from(offset)).ok().filter(|&n| n < self.sizes[i]) {
                    Some(index) => at += index as usize * self.steps[i],
                    None => there = false,
                }
            }
            if there {
                self.record(&mut reads, lane, at);
                let found = self.format.read(&bytes[at..], self.sampler.integers, false).bits();
                (0..4).for_each(|c| out[c][lane] = found[c]);
            }
        }
        out
    }

    #[inline(always)]
    fn layer(&self, places: &Places, lane: usize) -> usize {
        places.layer[lane].min(self.layers - 1) as usize * self.steps[3]
    }

    #[inline(always)]
    fn record(&self, reads: &mut Option<&mut Reads>, lane: usize, at: usize) {
        if let Some(reads) = reads {
            let count = &mut reads.count[lane];
            reads.at[usize::from(*count)][lane] = self.first.wrapping_add(at as u64);
            *count += 1;
        }
    }

    /// Finds the elements along a dimension.
    #[inline(always)]
    fn find(&self, i: usize, at: &[u32; LANES], offsets: Option<&[u32; LANES]>, along: &mut Along) {
        let scale = if self.sampler.normalized { f64::from(self.sizes[i]) } else { 1.0 };
        let mut place = [0.0; LANES];
        for (to, &from) in place.iter_mut().zip(at) {
            *to = f64::from(f32::from_bits(from)) * scale;
        }
        // Without offsets 0 is added to what is not told from -0.
        for (to, &offset) in place.iter_mut().zip(offsets.into_iter().flatten()) {
            *to += f64::from(offset.cast_signed());
        }
        along.filtered = self.filter == Filter::Linear;
        let size = f64::from(self.sizes[i]);
        match self.sampler.mode(i) {
            AddressMode::Wrap => {
                let last = size.next_down();
                let reduced = |at: f64| {
                    let at = if at.is_finite() { at } else { 0.0 };
                    (at - (at / size).floor() * size).max(0.0).min(last)
                };
                self.elements_at(&place, along, reduced);
                // An element outside is next to one inside.
                let size = self.sizes[i] as i32;
                for index in along.index.iter_mut().flatten() {
                    *index = index.wrapping_add(if *index < 0 { size } else { 0 });
                    *index = index.wrapping_sub(if *index >= size { size } else { 0 });
                }
            }
            AddressMode::Mirror => {
                let reduced = |at: f64| {
                    let at = if at.is_finite() { at } else { 0.0 };
                    let turns = (at / size).floor();
                    let rest = (at - turns * size).max(0.0).min(size);
                    let odd = turns - (turns * 0.5).floor() * 2.0;
                    if odd == 0.0 { rest } else { size - rest }
                };
                self.elements_at(&place, along, reduced);
                self.clamp(i, along);
            }
            mode => {
                let reduced = |at: f64| {
                    let at = if at.is_nan() { 0.0 } else { at };
                    at.max(-2.0).min(size + 1.0)
                };
                self.elements_at(&place, along, reduced);
                if mode == AddressMode::Clamp {
                    return self.clamp(i, along);
                }
                let size = self.sizes[i] as i32;
                for index in along.index.iter_mut().flatten() {
                    *index = if *index < size { *index } else { -1 };
                }
            }
        }
    }

    #[inline(always)]
    fn elements_at(&self, place: &[f64; LANES], along: &mut Along, reduced: impl Fn(f64) -> f64) {
        let back = if along.filtered { 0.5 } else { 0.0 };
        for (lane, &at) in place.iter().enumerate() {
            let from = reduced(at) - back;
            let index = from.floor();
            let weight = ((from - index) * f64::from(ONE) + 0.5).floor();
            let low = integer(index);
            along.index[0][lane] = low;
            along.index[1][lane] = low.wrapping_add(1);
            along.second[lane] = integer(weight).cast_unsigned();
        }
    }

    #[inline(always)]
    fn clamp(&self, i: usize, along: &mut Along) {
        let last = self.sizes[i] as i32 - 1;
        for index in along.index.iter_mut().flatten() {
            *index = (*index).max(0).min(last);
        }
    }

    /// Returns the nearest elements.
    #[inline(always)]
    fn nearest(
        &self,
        places: &Places,
        along: &[Along; 3],
        mut reads: Option<&mut Reads>,
        texel: impl Fn(usize) -> [u32; 4],
    ) -> [[u32; LANES]; 4] {
        let mut out = [[0; LANES]; 4];
        for lane in lanes(places.on) {
            let index = [0, 1, 2].map(|i| along[i].index[0][lane]);
            let bits = match self.offset(index, self.layer(places, lane)) {
                Some(at) => {
                    self.record(&mut reads, lane, at);
                    texel(at)
                }
                None => self.border.bits(),
            };
            (0..4).for_each(|c| out[c][lane] = bits[c]);
        }
        out
    }

    /// Returns weighted means of elements of so many components, where no element is outside: of
    /// all lanes, element by element. `raw` reads components, and `value` is what they mean.
    #[inline(always)]
    fn means<const C: usize>(
        &self,
        places: &Places,
        along: &[Along; 3],
        mut reads: Option<&mut Reads>,
        raw: impl Fn(usize) -> [u32; C],
        value: impl Fn(u32) -> f32,
    ) -> [[u32; LANES]; 4] {
        let (mut sums, mut layer) = ([[0.0; LANES]; C], [0; LANES]);
        (0..LANES).for_each(|lane| layer[lane] = self.layer(places, lane));
        let taps = |i: usize| if along[i].filtered { 0..2 } else { 0..1 };
        let rows = taps(2).flat_map(|z| taps(1).map(move |y| (z, y)));
        for (z, y, x) in rows.flat_map(|(z, y)| taps(0).map(move |x| (z, y, x))) {
            let (mut at, mut weights) = ([0; LANES], [0.0; LANES]);
            for lane in 0..LANES {
                let tap = |i: usize, which: usize| {
                    let (index, second) = (along[i].index[which][lane], along[i].second[lane]);
                    let weight = if which == 1 { second } else { ONE - second };
                    let weight = if along[i].filtered { weight } else { ONE };
                    (u64::from(index.cast_unsigned()).wrapping_mul(self.steps[i] as u64), weight)
                };
                let [(x, first), (y, second), (z, third)] = [tap(0, x), tap(1, y), tap(2, z)];
                at[lane] =
                    x.wrapping_add(y).wrapping_add(z).wrapping_add(layer[lane] as u64) as usize;
                // All products of weights are exact.
                weights[lane] =
                    f64::from(first) * f64::from(second) * f64::from(third) / f64::from(1 << 24);
            }
            for lane in lanes(places.on) {
                if weights[lane] > 0.0 {
                    self.record(&mut reads, lane, at[lane]);
                }
            }
            let mut words = [[0; LANES]; C];
            for lane in 0..LANES {
                let found = raw(at[lane]);
                (0..C).for_each(|c| words[c][lane] = found[c]);
            }
            for (sums, words) in sums.iter_mut().zip(&words) {
                for lane in 0..LANES {
                    let (weight, value) = (weights[lane], f64::from(value(words[lane])));
                    sums[lane] += if weight > 0.0 { value * weight } else { 0.0 };
                }
            }
        }
        let mut out = [[0; LANES], [0; LANES], [0; LANES], [1f32.to_bits(); LANES]];
        for (out, sums) in out.iter_mut().zip(&sums) {
            (0..LANES).for_each(|lane| out[lane] = rounded(sums[lane]).to_bits());
        }
        out
    }

    /// The same of any elements, lane by lane.
    #[inline(always)]
    fn any_means(
        &self,
        places: &Places,
        along: &[Along; 3],
        mut reads: Option<&mut Reads>,
        texel: impl Fn(usize) -> Texel,
    ) -> [[u32; LANES]; 4] {
        let mut out = [[0; LANES]; 4];
        for lane in lanes(places.on) {
            let (layer, mut sum) = (self.layer(places, lane), [0.0; 4]);
            for (z, third) in along[2].taps(lane).into_iter().filter(|tap| tap.1 > 0) {
                for (y, second) in along[1].taps(lane).into_iter().filter(|tap| tap.1 > 0) {
                    for (x, first) in along[0].taps(lane).into_iter().filter(|tap| tap.1 > 0) {
                        let found = match self.offset([x, y, z], layer) {
                            Some(at) => {
                                self.record(&mut reads, lane, at);
                                texel(at)
                            }
                            None => self.border,
                        };
                        let Texel::Float(values) = found else { continue };
                        let weight = f64::from(first) * f64::from(second) * f64::from(third);
                        let weight = weight / f64::from(1 << 24);
                        for (sum, value) in sum.iter_mut().zip(values) {
                            *sum += f64::from(value) * weight;
                        }
                    }
                }
            }
            (0..4).for_each(|c| out[c][lane] = rounded(sum[c]).to_bits());
        }
        out
    }

    /// Returns the offset of an element; `None` if it is outside.
    #[inline(always)]
    fn offset(&self, [x, y, z]: [i32; 3], layer: usize) -> Option<usize> {
        if x | y | z < 0 {
            return None;
        }
        let [element, row, slice, _] = self.steps;
        Some(layer + x as usize * element + y as usize * row + z as usize * slice)
    }
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_le_bytes(*word))
}

/// Returns an integral number as an integer.
#[inline(always)]
fn integer(value: f64) -> i32 {
    ((value + SHIFTED).to_bits() as u32).cast_signed()
}

/// Returns the lanes of a mask.
#[inline(always)]
fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}
