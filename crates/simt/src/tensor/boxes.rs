//! What a tensor copy moves: runs of bytes in global memory, and where they are in shared memory.
//!
//! A box is dense in shared memory, its innermost dimension first; with a swizzle its innermost
//! lines are as long as the span of the swizzle, and the swizzle exchanges units by their address.
//! Of elements out of bounds, loads read the fill and stores write nothing.
//!
//! In im2col mode the pixels of a column follow each other along W, then H, D and N, within the box
//! of pixels that the corners leave; each is moved by the offsets that the instruction gives.
//!
//! In the modes `im2col::w` they follow each other along W, then N, within a box that has one pixel
//! along H and D; what the instruction adds to the coordinate W is added to the corners, too.
//!
//! Packed elements with gaps take 16 bytes of shared memory for 16 elements, the data first; the
//! gap is not written. Stores of elements of 6 bits take them from one byte each.
//!
//! What neither the driver's nor the PTX ISA's text settles: how far lines of an innermost
//! dimension that is shorter than the span lie apart (here: the span), the NaN of the fill (here
//! the canonical one), and whether a barrier counts the gaps of packed elements (here not).

use super::{Fill, Interleave, MAX_RANK, Mode, TensorElement, TensorMap};

/// Where a copy begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates<'c> {
    /// The first element of a box, or the first pixel of a column with offsets along W, H, D.
    At(&'c [i32], &'c [u16]),
    /// The first column of a tensor of two dimensions, and four rows.
    Rows(&'c [i32; 5]),
}

/// Bytes that are neighbours in global and in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Their global address; `None` if they are out of bounds.
    pub global: Option<u64>,
    /// Their shared address.
    pub shared: u64,
    /// How many there are.
    pub bytes: u64,
}

/// Elements of a line of a box that are all in bounds, or all out of bounds.
struct Elements {
    /// The global address of the first; `None` if they are out of bounds.
    global: Option<u64>,
    /// The shared address of the line before the swizzle.
    line: u64,
    /// The first, and the end.
    range: [u64; 2],
}

/// A part of the box along the innermost dimension.
struct Line {
    /// The global address of element 0 of the innermost dimension; `None` if it is out of bounds.
    global: Option<u64>,
    /// The first element.
    first: i64,
}

impl TensorMap {
    /// Whether copies of such a map are moved here: not with interleaved channels, as no text says
    /// how far the slices of channels lie apart in global memory.
    #[must_use]
    pub fn is_movable(&self) -> bool {
        self.interleave == Interleave::None
    }

    /// Elements along the innermost dimension of what is copied.
    #[must_use]
    pub fn inner(&self) -> u64 {
        match self.mode {
            Mode::Tiled { extents } => extents[0].into(),
            Mode::Im2col { channels, .. } | Mode::Im2colWide { channels, .. } => channels.into(),
        }
    }

    /// Bytes of a line in shared memory.
    fn pitch(&self) -> u64 {
        let bits = if self.element.is_padded() { 8 } else { self.element.bits() };
        let bytes = self.inner() * bits / 8;
        if self.swizzle.span() > 16 { self.swizzle.span() } else { bytes }
    }

    /// Bytes that a copy moves, those out of bounds among them: what a barrier in memory counts.
    #[must_use]
    pub fn bytes(&self, at: &Coordinates<'_>) -> u64 {
        let lines = self.lines(at).len() as u64;
        lines * self.inner() * self.element.bits() / 8
    }

    /// The contents of elements out of bounds, for 8 bytes.
    #[must_use]
    pub fn filling(&self) -> [u8; 8] {
        let pattern: u64 = match (self.fill, self.element) {
            (Fill::Zeros, _) => 0,
            (Fill::Nan, TensorElement::F16 | TensorElement::Bf16) => 0x7fff_7fff_7fff_7fff,
            (Fill::Nan, TensorElement::F64) => 0x7fff_ffff_ffff_ffff,
            (Fill::Nan, _) => 0x7fff_ffff_7fff_ffff,
        };
        pattern.to_le_bytes()
    }

    /// The runs of a copy to or from shared memory at `shared`, in the order of shared memory
    /// before the swizzle.
    #[must_use]
    pub fn runs(&self, at: &Coordinates<'_>, shared: u64) -> Vec<Run> {
        let mut out = Vec::new();
        self.elements(at, shared, |Elements { global, line, range }| {
            if self.element.is_padded() {
                return self.spread(global, line, range, &mut out);
            }
            self.split(self.dense(global, line, range), &mut out);
        });
        out
    }

    /// Tells of the bytes of each line of a copy: neighbours in global memory, and in shared memory
    /// before the swizzle, in whose order they come. `None` if elements have gaps.
    pub fn lines_of_bytes(
        &self,
        at: &Coordinates<'_>,
        shared: u64,
        mut tell: impl FnMut(Run),
    ) -> Option<()> {
        let dense = !self.element.is_padded();
        dense.then(|| {
            self.elements(at, shared, |Elements { global, line, range }| {
                tell(self.dense(global, line, range));
            });
        })
    }

    /// The bytes of elements without gaps, before the swizzle.
    fn dense(&self, global: Option<u64>, line: u64, [first, end]: [u64; 2]) -> Run {
        let bits = self.element.bits();
        Run { global, shared: line + first * bits / 8, bytes: (end - first) * bits / 8 }
    }

    /// Tells of the elements of each line, those out of bounds apart.
    fn elements(&self, at: &Coordinates<'_>, shared: u64, mut tell: impl FnMut(Elements)) {
        let (inner, bits, pitch) = (self.inner(), self.element.bits(), self.pitch());
        for (number, line) in self.lines(at).into_iter().enumerate() {
            let start = shared + number as u64 * pitch;
            // Elements are in bounds from `from` to `to`.
            let extent = self.extents[0] as i64;
            let from = (-line.first).clamp(0, inner as i64) as u64;
            let to = (extent - line.first).clamp(from as i64, inner as i64) as u64;
            let place = |element: u64| {
                let offset = (line.first + element as i64) as u64 * bits / 8;
                line.global.map(|row| row.wrapping_add(offset))
            };
            let mut part = |first: u64, end: u64, inside: bool| {
                if first < end {
                    let global = if inside { place(first) } else { None };
                    tell(Elements { global, line: start, range: [first, end] });
                }
            };
            part(0, from, false);
            part(from, to, true);
            part(to, inner, false);
        }
    }

    /// Adds elements of a line from one to another, of which 16 have 16 bytes of shared memory.
    fn spread(&self, global: Option<u64>, line: u64, [from, to]: [u64; 2], out: &mut Vec<Run>) {
        let bytes = 2 * self.element.bits();
        out.extend((from / 16..to / 16).map(|group| Run {
            global: global.map(|at| at.wrapping_add((group - from / 16) * bytes)),
            shared: self.swizzle.place(line + 16 * group),
            bytes,
        }));
    }

    /// Adds the bytes of a line, in units that the swizzle leaves together.
    fn split(&self, line: Run, out: &mut Vec<Run>) {
        for unit in self.swizzle.units(line) {
            match out.last_mut() {
                Some(last) if follows(last, &unit) => last.bytes += unit.bytes,
                _ => out.push(unit),
            }
        }
    }

    /// The lines of a copy in the order in which they are in shared memory.
    fn lines(&self, at: &Coordinates<'_>) -> Vec<Line> {
        match (at, self.mode) {
            (Coordinates::Rows([column, rows @ ..]), _) => {
                let line = |&row: &i32| {
                    let inside = row >= 0 && (row as u64) < self.extents[1];
                    let global = inside.then(|| {
                        self.address.wrapping_add((row as u64).wrapping_mul(self.strides[0]))
                    });
                    Line { global, first: i64::from(*column) }
                };
                rows.iter().map(line).collect()
            }
            (Coordinates::At(first, _), Mode::Tiled { extents }) => self.tile(first, &extents),
            (Coordinates::At(first, offsets), Mode::Im2col { lower, upper, pixels, .. }) => {
                self.column(first, offsets, (&lower, &upper), pixels)
            }
            (Coordinates::At(first, offsets), Mode::Im2colWide { lower, upper, .. }) => {
                let offset = offsets.get(1).copied().unwrap_or(0);
                self.wide_column(first, offset, (lower, upper))
            }
        }
    }

    /// The address of a row of elements, if it is in bounds: coordinates along all dimensions but
    /// the innermost.
    fn row(&self, at: &[i64; MAX_RANK]) -> Option<u64> {
        let mut address = self.address;
        let outer = at.iter().zip(&self.extents).take(self.rank as usize).skip(1);
        for ((&index, &extent), &stride) in outer.zip(&self.strides) {
            let index = u64::try_from(index).ok()?;
            if index >= extent {
                return None;
            }
            address = address.wrapping_add(index.wrapping_mul(stride));
        }
        Some(address)
    }

    fn tile(&self, first: &[i32], extents: &[u32; MAX_RANK]) -> Vec<Line> {
        let rank = self.rank as usize;
        let start = |dimension: usize| first.get(dimension).map_or(0, |&c| i64::from(c));
        let count = |d: usize| if d < rank { extents[d].div_ceil(self.steps[d]) } else { 1 };
        let counts: [u32; MAX_RANK] = std::array::from_fn(count);
        let total: u64 = counts[1..].iter().map(|&c| u64::from(c)).product();
        let mut at: [i64; MAX_RANK] = std::array::from_fn(|d| if d == 0 { 0 } else { start(d) });
        let mut index = [0; MAX_RANK];
        let line = |_| {
            let line = Line { global: self.row(&at), first: start(0) };
            for d in 1..rank {
                index[d] += 1;
                at[d] += i64::from(self.steps[d]);
                if index[d] < counts[d] {
                    break;
                }
                (index[d], at[d]) = (0, start(d));
            }
            line
        };
        (0..total).map(line).collect()
    }

    fn column(
        &self,
        first: &[i32],
        offsets: &[u16],
        (lower, upper): (&[i32; 3], &[i32; 3]),
        pixels: u32,
    ) -> Vec<Line> {
        let rank = self.rank as usize;
        let coordinate = |d: usize| first.get(d).map_or(0, |&c| i64::from(c));
        let mut at: [i64; MAX_RANK] = std::array::from_fn(coordinate);
        let mut out = Vec::with_capacity(pixels as usize);
        for _ in 0..pixels {
            let mut pixel = at;
            for (coordinate, &offset) in pixel[1..rank - 1].iter_mut().zip(offsets) {
                *coordinate += i64::from(offset);
            }
            out.push(Line { global: self.row(&pixel), first: coordinate(0) });
            // The next pixel of the box: along W, then H, then D, then the next image.
            for dimension in 1..rank {
                if dimension == rank - 1 {
                    at[dimension] += 1;
                    break;
                }
                at[dimension] += i64::from(self.steps[dimension]);
                let last = self.extents[dimension] as i64 - 1 + i64::from(upper[dimension - 1]);
                if at[dimension] <= last {
                    break;
                }
                at[dimension] = lower[dimension - 1].into();
            }
        }
        out
    }

    /// Pixels that a column has.
    #[must_use]
    pub fn pixels(&self) -> u32 {
        match self.mode {
            Mode::Tiled { .. } => 1,
            Mode::Im2colWide { wide128: true, .. } => 128,
            Mode::Im2col { pixels, .. } | Mode::Im2colWide { pixels, .. } => pixels,
        }
    }

    /// The pixels along W, and then of the next images, H and D being the same.
    fn wide_column(&self, first: &[i32], offset: u16, (lower, upper): (i32, i32)) -> Vec<Line> {
        let coordinate = |d: usize| first.get(d).map_or(0, |&c| i64::from(c));
        let mut at: [i64; MAX_RANK] = std::array::from_fn(coordinate);
        let offset = i64::from(offset);
        let (begin, image) = (i64::from(lower) + offset, self.rank as usize - 1);
        let last = self.extents[1] as i64 - 1 + i64::from(upper) + offset;
        at[1] += offset;
        let next = |_| {
            let line = Line { global: self.row(&at), first: coordinate(0) };
            at[1] += i64::from(self.steps[1]);
            if at[1] > last {
                (at[1], at[image]) = (begin, at[image] + 1);
            }
            line
        };
        (0..self.pixels()).map(next).collect()
    }
}

fn follows(last: &Run, next: &Run) -> bool {
    let global = match (last.global, next.global) {
        (None, None) => true,
        (Some(a), Some(b)) => a.wrapping_add(last.bytes) == b,
        _ => false,
    };
    global && last.shared + last.bytes == next.shared
}
