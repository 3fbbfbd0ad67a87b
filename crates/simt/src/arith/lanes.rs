//! Applying a pure function to the lanes of a mask.
//!
//! These combinators own no registers. They take the caller's: one column per operand with lane `i` at index `i`
//! ([`map`], [`fill`]), columns of one register file in which a source may be the destination ([`map_columns`]), or
//! strided windows of a register file that may overlap in any way ([`map_windows`]).
//!
//! What always holds: the function is called for lanes that are on, once each, in ascending order, and for no
//! other; so a lane that is off reads nothing and raises nothing. Its destination keeps its value ([`Inactive::Merge`]) or
//! becomes the default value ([`Inactive::Zero`]). Mask bits beyond the lanes given are ignored.

use smallvec::SmallVec;

use crate::mask::LaneMask;

/// Lanes handled at a time: one word of a mask.
const CHUNK: usize = 64;

/// What becomes of the destination of a lane that is off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Inactive {
    /// It keeps its value.
    #[default]
    Merge,
    /// It becomes zero (the type's default value).
    Zero,
}

/// In which order lanes read and write where windows overlap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Order {
    /// Every lane reads before any writes; of two lanes that write one place, the higher one wins.
    #[default]
    Simultaneous,
    /// Lane by lane from the lowest: a lane sees what lower lanes wrote.
    Ascending,
}

/// An operand of [`map`].
#[derive(Clone, Copy, Debug)]
pub enum Source<'a, T> {
    /// One element a lane.
    Column(&'a [T]),
    /// The same for all lanes.
    Uniform(T),
}

/// An operand of [`map_columns`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand<T> {
    /// The column of the register file that begins, with lane 0, at this index.
    Column(usize),
    /// The same for all lanes.
    Uniform(T),
}

/// A window of a register file: lane `i` is element `(first + i * step) mod modulus`. A step of 0 broadcasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The element of lane 0.
    pub first: usize,
    /// From one lane's element to the next one's.
    pub step: isize,
    /// Size of the register file, or of the part of it in which the window wraps around.
    pub modulus: usize,
}

impl Window {
    /// The element of a lane.
    ///
    /// # Panics
    /// If the modulus is zero.
    #[must_use]
    #[inline]
    pub fn index(&self, lane: usize) -> usize {
        let step = self.step.unsigned_abs() % self.modulus;
        let offset = (lane % self.modulus) * step % self.modulus;
        let first = self.first % self.modulus;
        if self.step < 0 {
            (first + self.modulus - offset) % self.modulus
        } else {
            (first + offset) % self.modulus
        }
    }
}

/// The windows of one lane-wise instruction with `K` sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows<const K: usize> {
    /// What happens where they overlap.
    pub order: Order,
    /// Where results go.
    pub destination: Window,
    /// Where operands come from.
    pub sources: [Window; K],
}

/// Sets each lane that is on to `f(lane)`.
#[inline]
pub fn fill<T: Copy + Default, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    destination: &mut [T],
    mut f: impl FnMut(usize) -> T,
) {
    for (index, chunk) in destination.chunks_mut(CHUNK).enumerate() {
        let base = index * CHUNK;
        run_chunk(mask.window(base), inactive, chunk, |i| f(base + i));
    }
}

/// Sets each lane that is on to `f` of its sources.
///
/// # Panics
/// If a source column is shorter than the destination.
#[inline]
pub fn map<T: Copy + Default, S: Copy, const K: usize, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    destination: &mut [T],
    sources: [Source<'_, S>; K],
    mut f: impl FnMut([S; K]) -> T,
) {
    for (index, chunk) in destination.chunks_mut(CHUNK).enumerate() {
        let base = index * CHUNK;
        let uniform = sources.map(|source| match source {
            Source::Uniform(value) => Some([value; CHUNK]),
            Source::Column(_) => None,
        });
        let columns: [&[S]; K] = std::array::from_fn(|k| match (&sources[k], &uniform[k]) {
            (Source::Column(column), _) => &column[base..base + chunk.len()],
            (_, Some(values)) => &values[..chunk.len()],
            (Source::Uniform(_), None) => &[],
        });
        apply_chunk(mask.window(base), inactive, chunk, columns, &mut f);
    }
}

/// Sets each lane that is on, in the column of `file` that begins at `destination`, to `f` of its sources. Columns
/// have `lanes` elements. All sources are read before any lane is written.
///
/// # Panics
/// If a column reaches beyond the file.
#[inline]
pub fn map_columns<T: Copy + Default, const K: usize, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    lanes: usize,
    file: &mut [T],
    destination: usize,
    sources: [Operand<T>; K],
    mut f: impl FnMut([T; K]) -> T,
) {
    let overlaps = |source: &Operand<T>| matches!(source, Operand::Column(at) if *at != destination && at.abs_diff(destination) < lanes);
    if sources.iter().any(overlaps) {
        return map_overlapping(mask, inactive, lanes, file, destination, sources, f);
    }
    let mut base = 0;
    while base < lanes {
        let length = CHUNK.min(lanes - base);
        let start = destination + base;
        let (before, rest) = file.split_at_mut(start);
        let (chunk, after) = rest.split_at_mut(length);
        // Only sources that cannot be borrowed beside the destination are copied.
        let copies: [Option<[T; CHUNK]>; K] = sources.map(|source| match source {
            Operand::Uniform(value) => Some([value; CHUNK]),
            Operand::Column(at) if at == destination => {
                let mut copy = [T::default(); CHUNK];
                copy[..length].copy_from_slice(chunk);
                Some(copy)
            }
            Operand::Column(_) => None,
        });
        let columns: [&[T]; K] = std::array::from_fn(|k| match (sources[k], &copies[k]) {
            (_, Some(copy)) => &copy[..length],
            (Operand::Column(at), None) if at < destination => &before[at + base..][..length],
            (Operand::Column(at), None) => &after[at + base - start - length..][..length],
            (Operand::Uniform(_), None) => &[],
        });
        apply_chunk(mask.window(base), inactive, chunk, columns, &mut f);
        base += length;
    }
}

/// [`map_columns`] where a source overlaps the destination in part: every result before the first write.
#[cold]
fn map_overlapping<T: Copy + Default, const K: usize, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    lanes: usize,
    file: &mut [T],
    destination: usize,
    sources: [Operand<T>; K],
    mut f: impl FnMut([T; K]) -> T,
) {
    let mut results: SmallVec<[T; CHUNK]> = SmallVec::from_slice(&file[destination..][..lanes]);
    fill(mask, inactive, &mut results, |lane| {
        f(sources.map(|source| match source {
            Operand::Column(at) => file[at + lane],
            Operand::Uniform(value) => value,
        }))
    });
    file[destination..][..lanes].copy_from_slice(&results);
}

/// Sets the elements of the destination window of `file`, for each of `lanes` lanes that is on, to `f` of the
/// elements of the source windows.
///
/// # Panics
/// If a window's modulus is zero or above the size of the file.
pub fn map_windows<T: Copy + Default, const K: usize, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    lanes: usize,
    file: &mut [T],
    windows: Windows<K>,
    mut f: impl FnMut([T; K]) -> T,
) {
    let Windows { order, destination, sources } = windows;
    let mut result = |file: &[T], lane: usize| -> Option<T> {
        match (mask.contains(lane), inactive) {
            (true, _) => Some(f(sources.map(|window| file[window.index(lane)]))),
            (false, Inactive::Zero) => Some(T::default()),
            (false, Inactive::Merge) => None,
        }
    };
    match order {
        Order::Ascending => {
            for lane in 0..lanes {
                if let Some(value) = result(file, lane) {
                    file[destination.index(lane)] = value;
                }
            }
        }
        Order::Simultaneous => {
            let results: SmallVec<[Option<T>; CHUNK]> =
                (0..lanes).map(|lane| result(file, lane)).collect();
            for (lane, value) in results.into_iter().enumerate() {
                if let Some(value) = value {
                    file[destination.index(lane)] = value;
                }
            }
        }
    }
}

/// One chunk of up to 64 lanes from columns of the same length.
#[inline]
fn apply_chunk<T: Copy + Default, S: Copy, const K: usize>(
    on: u64,
    inactive: Inactive,
    destination: &mut [T],
    columns: [&[S]; K],
    f: &mut impl FnMut([S; K]) -> T,
) {
    let length = destination.len();
    let columns = columns.map(|column| &column[..length]);
    run_chunk(on, inactive, destination, |i| f(columns.map(|column| column[i])));
}

/// One chunk of up to 64 lanes: a straight loop if all are on, else the ones that are.
#[inline]
fn run_chunk<T: Copy + Default>(
    on: u64,
    inactive: Inactive,
    destination: &mut [T],
    mut f: impl FnMut(usize) -> T,
) {
    let all = u64::MAX >> (CHUNK - destination.len());
    if on & all == all {
        for (i, place) in destination.iter_mut().enumerate() {
            *place = f(i);
        }
        return;
    }
    if inactive == Inactive::Zero {
        for (i, place) in destination.iter_mut().enumerate() {
            *place = if on >> i & 1 != 0 { f(i) } else { T::default() };
        }
        return;
    }
    let mut rest = on & all;
    while rest != 0 {
        let i = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        destination[i] = f(i);
    }
}
