//! Applying a pure function to the lanes of a mask.
//!
//! These combinators own no registers. They take the caller's: one column per operand with lane `i`
//! at index `i` ([`map`], [`fill`]), columns of one register file in which a source may be the
//! destination ([`map_columns`]), or strided windows of a register file that may overlap in any way
//! ([`map_windows`]).
//!
//! Always holds: the function is called for lanes that are on, once each, in ascending order,
//! and for no other; so a lane that is off reads nothing and raises nothing. Its destination keeps
//! its value ([`Inactive::Merge`]) or becomes the default value ([`Inactive::Zero`]). Mask bits
//! beyond the lanes given are ignored.
//!
//! The function may keep state: that is how a machine collects sticky flags, of lanes that are on
//! only.
//!
//! ```
//! use simt::WarpMask;
//! use simt::arith::lanes::{Inactive, Source, map};
//! use simt::arith::{F32, Flags, FpEnv, float::f32_bits, soft};
//!
//! let a = [1.0, 1.0, 1.0].map(f32_bits);
//! let b = [2.0, 0.0, 3.0].map(f32_bits);
//! let mut quotients = [0; 3];
//! let mut sticky = Flags::NONE;
//! // Lane 1, which would divide by zero, is off.
//! let on = WarpMask::from_bits(0b101);
//! map(&on, Inactive::Merge, &mut quotients, [Source::Column(&a), Source::Column(&b)], |[a, b]| {
//!     let (value, flags) = soft::div::<F32>(a, b, FpEnv::RISCV);
//!     sticky |= flags;
//!     value
//! });
//! assert_eq!(quotients, [f32_bits(0.5), 0, f32_bits(1.0 / 3.0)]);
//! assert_eq!(sticky, Flags::NX);
//! ```

use smallvec::SmallVec;

use crate::mask::LaneMask;

/// Lanes handled at a time where all are on: few enough that a block of every operand stays in host
/// registers or the first-level cache.
const BLOCK: usize = 16;

/// A block with all lanes on.
const ALL: u64 = (1 << BLOCK) - 1;

/// The effect on the destination of a lane that is off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Inactive {
    /// It keeps its value.
    #[default]
    Merge,
    /// It becomes zero (the type's default value).
    Zero,
}

/// The order of reads and writes where windows overlap.
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

/// A window of a register file: lane `i` is element `(first + i * step) mod modulus`. A step of 0
/// broadcasts.
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
        let modulus = self.modulus as i128;
        let element = self.first as i128 + lane as i128 * self.step as i128;
        element.rem_euclid(modulus) as usize
    }
}

/// The windows of one lane-wise instruction with `K` sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows<const K: usize> {
    /// The order where they overlap.
    pub order: Order,
    /// The window of results.
    pub destination: Window,
    /// The windows of operands.
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
    let mut base = 0;
    for lanes in destination.chunks_mut(BLOCK) {
        let on = mask.window(base) & ALL;
        for (i, place) in lanes.iter_mut().enumerate() {
            if on >> i & 1 != 0 {
                *place = f(base + i);
            } else if inactive == Inactive::Zero {
                *place = T::default();
            }
        }
        base += lanes.len();
    }
}

/// Sets each lane that is on to `f` of its sources.
///
/// # Panics
/// If a source column is shorter than the destination.
#[inline]
pub fn map<T: Copy + Default, S: Copy + Default, const K: usize, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    destination: &mut [T],
    sources: [Source<'_, S>; K],
    f: impl FnMut([S; K]) -> T,
) {
    let lanes = destination.len();
    let mut access = Slices { destination, sources };
    run(mask, inactive, lanes, &mut access, f);
}

/// Sets each lane that is on, in the column of `file` that begins at `destination`, to `f` of its
/// sources. Columns have `lanes` elements. All sources are read before any lane is written.
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
    f: impl FnMut([T; K]) -> T,
) {
    let overlaps = |source: &Operand<T>| {
        matches!(source, Operand::Column(at)
            if *at != destination && at.abs_diff(destination) < lanes)
    };
    if sources.iter().any(overlaps) {
        return map_overlapping(mask, inactive, lanes, file, destination, sources, f);
    }
    run(mask, inactive, lanes, &mut Columns { file, destination, sources }, f);
}

/// [`map_columns`] where a source overlaps the destination in part: every result before the first
/// write.
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
    let mut results: SmallVec<[T; 64]> = SmallVec::from_slice(&file[destination..][..lanes]);
    fill(mask, inactive, &mut results, |lane| {
        f(sources.map(|source| match source {
            Operand::Column(at) => file[at + lane],
            Operand::Uniform(value) => value,
        }))
    });
    file[destination..][..lanes].copy_from_slice(&results);
}

/// Sets the elements of the destination window of `file`, for each of `lanes` lanes that is on, to
/// `f` of the elements of the source windows.
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
            let results: SmallVec<[Option<T>; 64]> =
                (0..lanes).map(|lane| result(file, lane)).collect();
            for (lane, value) in results.into_iter().enumerate() {
                if let Some(value) = value {
                    file[destination.index(lane)] = value;
                }
            }
        }
    }
}

/// The accesses of a combinator. A block is read whole before any of it is written.
trait Access<T, S, const K: usize> {
    fn read(&self, lane: usize, operands: &mut [S; K]);
    fn read_block(&self, first: usize, operands: &mut [[S; BLOCK]; K]);
    fn write(&mut self, lane: usize, value: T);
    fn write_block(&mut self, first: usize, values: &[T; BLOCK]);
}

/// The access of [`map`].
struct Slices<'d, 's, T, S, const K: usize> {
    destination: &'d mut [T],
    sources: [Source<'s, S>; K],
}

impl<T: Copy, S: Copy, const K: usize> Access<T, S, K> for Slices<'_, '_, T, S, K> {
    #[inline]
    fn read(&self, lane: usize, operands: &mut [S; K]) {
        for (operand, source) in operands.iter_mut().zip(&self.sources) {
            *operand = match source {
                Source::Column(column) => column[lane],
                Source::Uniform(value) => *value,
            };
        }
    }

    #[inline]
    fn read_block(&self, first: usize, operands: &mut [[S; BLOCK]; K]) {
        for (operand, source) in operands.iter_mut().zip(&self.sources) {
            match source {
                Source::Column(column) => operand.copy_from_slice(&column[first..][..BLOCK]),
                Source::Uniform(value) => operand.fill(*value),
            }
        }
    }

    #[inline]
    fn write(&mut self, lane: usize, value: T) {
        self.destination[lane] = value;
    }

    #[inline]
    fn write_block(&mut self, first: usize, values: &[T; BLOCK]) {
        self.destination[first..][..BLOCK].copy_from_slice(values);
    }
}

/// The access of [`map_columns`].
struct Columns<'f, T, const K: usize> {
    file: &'f mut [T],
    destination: usize,
    sources: [Operand<T>; K],
}

impl<T: Copy, const K: usize> Access<T, T, K> for Columns<'_, T, K> {
    #[inline]
    fn read(&self, lane: usize, operands: &mut [T; K]) {
        for (operand, source) in operands.iter_mut().zip(&self.sources) {
            *operand = match source {
                Operand::Column(at) => self.file[at + lane],
                Operand::Uniform(value) => *value,
            };
        }
    }

    #[inline]
    fn read_block(&self, first: usize, operands: &mut [[T; BLOCK]; K]) {
        for (operand, source) in operands.iter_mut().zip(&self.sources) {
            match source {
                Operand::Column(at) => operand.copy_from_slice(&self.file[at + first..][..BLOCK]),
                Operand::Uniform(value) => operand.fill(*value),
            }
        }
    }

    #[inline]
    fn write(&mut self, lane: usize, value: T) {
        self.file[self.destination + lane] = value;
    }

    #[inline]
    fn write_block(&mut self, first: usize, values: &[T; BLOCK]) {
        self.file[self.destination + first..][..BLOCK].copy_from_slice(values);
    }
}

/// Blocks with all lanes on as straight loops, other lanes one by one. Plain loops rather than
/// array combinators, which compilers keep out of line.
#[inline]
fn run<T: Copy + Default, S: Copy + Default, const K: usize, const N: usize>(
    mask: &LaneMask<N>,
    inactive: Inactive,
    lanes: usize,
    access: &mut impl Access<T, S, K>,
    mut f: impl FnMut([S; K]) -> T,
) {
    let mut operands = [S::default(); K];
    let mut base = 0;
    while base < lanes {
        let count = BLOCK.min(lanes - base);
        let on = mask.window(base) & ALL;
        if on == ALL && count == BLOCK {
            let mut columns = [[S::default(); BLOCK]; K];
            access.read_block(base, &mut columns);
            let mut results = [T::default(); BLOCK];
            for i in 0..BLOCK {
                for k in 0..K {
                    operands[k] = columns[k][i];
                }
                results[i] = f(operands);
            }
            access.write_block(base, &results);
        } else {
            for i in 0..count {
                let lane = base + i;
                if on >> i & 1 != 0 {
                    access.read(lane, &mut operands);
                    access.write(lane, f(operands));
                } else if inactive == Inactive::Zero {
                    access.write(lane, T::default());
                }
            }
        }
        base += count;
    }
}
