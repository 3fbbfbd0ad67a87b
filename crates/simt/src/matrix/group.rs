//! Products of a warp group: `wgmma`.
//!
//! Four warps compute `D = A * B + D`, where D has 64 rows; warp `w` has the rows from `16 * w` on,
//! in the registers that `mma` of 16 rows gives each eight columns. A is in shared memory, or each
//! warp has its 16 rows in registers as `mma` has them; B is in shared memory.
//!
//! **Arithmetic.** Integers are exact; sums wrap or, on request, saturate. Floats are `dot`'s fused
//! sums: all products of an instruction and the addend are one block.
//!
//! Source: PTX ISA 9.1, "Asynchronous warpgroup level matrix instructions".

use super::descriptor::{Descriptor, Major};
use super::dot::{Lines, Sums};
use super::fragment::{Fragment, Role, Spread};
use super::multiply::{in_order, integers};
use super::sparse::{IndexOrder, Metadata};
use super::{Element, LANES, MatrixSums, Shape};

/// Warps of a warp group.
pub const WARPS: usize = 4;

/// Threads of a warp group.
pub const THREADS: usize = WARPS * LANES;

/// Rows of A and D.
const ROWS: usize = 64;

/// Rows of a warp.
const WARP_ROWS: usize = ROWS / WARPS;

/// Registers of a thread that hold elements of A.
pub const A_REGISTERS: usize = 4;

/// What a warp group computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupProduct {
    /// Columns of B and D.
    pub columns: usize,
    /// Elements of D, A and B.
    pub elements: [Element; 3],
    /// Whether half the elements of A are stored.
    pub sparse: bool,
    /// Whether A, and whether B, is negated.
    pub negated: [bool; 2],
    /// How A, and how B, is stored in shared memory.
    pub major: [Major; 2],
    /// Whether sums of integers saturate.
    pub saturate: bool,
}

impl GroupProduct {
    /// Bytes of a row of A as it is stored.
    const DEPTH_BYTES: usize = 32;

    /// Columns of A as they are stored: the factors of each element of the result.
    #[must_use]
    pub fn stored_depth(&self) -> usize {
        Self::DEPTH_BYTES * 8 / self.elements[1].bits()
    }

    /// Rows of B.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.stored_depth() * if self.sparse { 2 } else { 1 }
    }

    /// Registers of a thread that hold elements of D.
    #[must_use]
    pub fn registers(&self) -> usize {
        ROWS * self.columns / THREADS / self.parts()
    }

    /// Elements of D in a register.
    fn parts(&self) -> usize {
        32 / self.elements[0].bits()
    }

    /// The metadata of A, if it is sparse: each warp has that of its rows.
    #[must_use]
    pub fn metadata(&self) -> Option<Metadata> {
        let (element, order) = (self.elements[1], IndexOrder::Any);
        self.sparse.then_some(Metadata { element, columns: self.depth(), order })
    }

    /// The row and column of an element of D: of a thread's register, a part.
    #[must_use]
    pub fn place(&self, thread: usize, register: usize, part: usize) -> (usize, usize) {
        let (warp, lane) = (thread / LANES, thread % LANES);
        let index = register * self.parts() + part;
        let row = WARP_ROWS * warp + lane / 4 + 8 * (index / 2 % 2);
        (row, 8 * (index / 4) + 2 * (lane % 4) + index % 2)
    }

    /// The row and stored column of an element of A in registers.
    #[must_use]
    pub fn place_in_a(&self, thread: usize, register: usize, part: usize) -> (usize, usize) {
        let shape = Shape { m: WARP_ROWS, n: 8, k: self.stored_depth() };
        let element = self.elements[1];
        let fragment = Fragment { role: Role::A, shape, element, spread: Spread::Mma };
        let (_, row, column) = fragment.place(thread % LANES, register, part);
        (WARP_ROWS * (thread / LANES) + row, column)
    }

    /// A from the registers of the threads, row by row.
    #[must_use]
    pub fn gather_a(&self, register: impl Fn(usize, usize) -> u64) -> Vec<u64> {
        let (bits, depth) = (self.elements[1].bits(), self.stored_depth());
        let mut out = vec![0; ROWS * depth];
        for thread in 0..THREADS {
            for index in 0..A_REGISTERS {
                let value = register(thread, index);
                for part in 0..32 / bits {
                    let (row, column) = self.place_in_a(thread, index, part);
                    out[row * depth + column] = value >> (part * bits) & low(bits);
                }
            }
        }
        out
    }

    /// A from shared memory, row by row: `read` gives the 16 bytes, the first one lowest, at an
    /// offset.
    #[must_use]
    pub fn read_a(&self, from: &Descriptor, read: impl FnMut(u32) -> u128) -> Vec<u64> {
        self.read(from, (ROWS, self.stored_depth()), (self.elements[1], self.major[0]), read)
    }

    /// B from shared memory, column by column.
    #[must_use]
    pub fn read_b(&self, from: &Descriptor, read: impl FnMut(u32) -> u128) -> Vec<u64> {
        self.read(from, (self.columns, self.depth()), (self.elements[2], self.major[1]), read)
    }

    fn read(
        &self,
        from: &Descriptor,
        (lines, depth): (usize, usize),
        (element, major): (Element, Major),
        mut read: impl FnMut(u32) -> u128,
    ) -> Vec<u64> {
        let bits = element.bits();
        let mut out = vec![0; lines * depth];
        let (outer, inner) = match major {
            Major::Depth => (lines, depth),
            Major::Across => (depth, lines),
        };
        for (line, byte) in units(outer as u32, (inner * bits / 8) as u32) {
            let unit = read(unit_place(from, major, line, byte));
            for part in 0..128 / bits {
                let along = byte as usize * 8 / bits + part;
                let (row, column) = match major {
                    Major::Depth => (line as usize, along),
                    Major::Across => (along, line as usize),
                };
                out[row * depth + column] = (unit >> (part * bits)) as u64 & low(bits);
            }
        }
        out
    }

    /// The addend from the registers of the threads, row by row.
    #[must_use]
    pub fn gather_sums(&self, register: impl Fn(usize, usize) -> u64) -> Vec<u64> {
        let bits = self.elements[0].bits();
        let mut out = vec![0; ROWS * self.columns];
        for index in 0..self.registers() {
            for thread in 0..THREADS {
                let value = register(thread, index);
                for part in 0..self.parts() {
                    let (row, column) = self.place(thread, index, part);
                    out[row * self.columns + column] = value >> (part * bits) & low(bits);
                }
            }
        }
        out
    }

    /// The registers that hold a result given row by row: the first one of all threads, then the
    /// next one.
    #[must_use]
    pub fn scatter_sums(&self, sums: &[u64]) -> Vec<u64> {
        let bits = self.elements[0].bits();
        let mut out = Vec::with_capacity(self.registers() * THREADS);
        for index in 0..self.registers() {
            for thread in 0..THREADS {
                let part = |part| {
                    let (row, column) = self.place(thread, index, part);
                    sums[row * self.columns + column] << (part * bits)
                };
                out.push((0..self.parts()).map(part).fold(0, |value, part| value | part));
            }
        }
        out
    }

    /// Where the bytes of A or B in shared memory end; there may be others in between.
    #[must_use]
    pub fn end(&self, from: &Descriptor, role: Role) -> u32 {
        let (lines, bytes, major) = self.in_memory(role);
        from.end(major, lines, bytes)
    }

    /// The offsets in shared memory of the 16-byte units of A or B.
    pub fn places(&self, from: &Descriptor, role: Role) -> impl Iterator<Item = u32> {
        let (from, (lines, bytes, major)) = (*from, self.in_memory(role));
        units(lines, bytes).map(move |(line, byte)| unit_place(&from, major, line, byte))
    }

    /// Lines of A or B in memory, their bytes, and which elements are neighbours.
    fn in_memory(&self, role: Role) -> (u32, u32, Major) {
        let (lines, depth, element, major) = match role {
            Role::A => (ROWS, self.stored_depth(), self.elements[1], self.major[0]),
            _ => (self.columns, self.depth(), self.elements[2], self.major[1]),
        };
        let (outer, inner) = match major {
            Major::Depth => (lines, depth),
            Major::Across => (depth, lines),
        };
        (outer as u32, (inner * element.bits() / 8) as u32, major)
    }

    /// Multiplies whole rows of A, those of some warps: A row by row as it is stored, B column by
    /// column, the addend row by row; gives D row by row. Floats are added by a rule. `metadata`
    /// gives a lane's word of a warp and the selector, for sparse products.
    #[must_use]
    pub fn multiply(
        &self,
        rule: MatrixSums,
        (a, b): (Vec<u64>, Vec<u64>),
        addend: &[u64],
        metadata: impl Fn(usize) -> ([u64; LANES], u64),
    ) -> Vec<u64> {
        let [_, left, right] = self.elements;
        let a = negate(a, left, self.negated[0]);
        let b = negate(b, right, self.negated[1]);
        let Some(sparse) = self.metadata() else { return self.rows(rule, &a, &b, addend) };
        let (depth, stored) = (self.depth(), self.stored_depth());
        let mut out = Vec::with_capacity(addend.len());
        for warp in 0..addend.len() / self.columns / WARP_ROWS {
            let (words, selector) = metadata(warp);
            for row in 0..WARP_ROWS {
                let chosen = sparse.row(&words, selector, row);
                let row = WARP_ROWS * warp + row;
                let (a, columns) = in_order(&a[row * stored..][..stored], &chosen);
                let column =
                    |column: &[u64]| columns.iter().map(|&at| column[at]).collect::<Vec<_>>();
                let b: Vec<u64> = b.chunks(depth).flat_map(column).collect();
                let sums = &addend[row * self.columns..][..self.columns];
                out.extend(self.rows(rule, &a, &b, sums));
            }
        }
        out
    }

    /// Rows of the result.
    fn rows(&self, rule: MatrixSums, a: &[u64], b: &[u64], addend: &[u64]) -> Vec<u64> {
        let [sum, left, right] = self.elements;
        let depth = self.stored_depth();
        let places =
            (0..addend.len()).map(|at| (at / self.columns * depth, at % self.columns * depth));
        if left.is_integer() {
            let [a, b] = [(a, left), (b, right)].map(|(m, e)| integers(m, e));
            let one = |(at, (row, column)): (usize, (usize, usize))| {
                let pairs = a[row..row + depth].iter().zip(&b[column..column + depth]);
                let total: i64 = match left {
                    Element::B1 => pairs.map(|(x, y)| i64::from(x & y)).sum(),
                    _ => pairs.map(|(x, y)| i64::from(x * y)).sum(),
                };
                let total = total + i64::from(addend[at] as u32 as i32);
                let total = match self.saturate {
                    true => total.clamp(i32::MIN.into(), i32::MAX.into()),
                    false => total,
                };
                u64::from(total as u32)
            };
            return places.enumerate().map(one).collect();
        }
        let how = Sums::of_group(rule, left, sum);
        let (a, b) = (Lines::new(a, left), Lines::new(b, right));
        let one = |(at, (row, column))| how.dot((&a, row), (&b, column), depth, (addend[at], sum));
        places.enumerate().map(one).collect()
    }
}

/// The 16-byte units of lines: each line with the byte where the unit begins.
fn units(lines: u32, bytes: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..lines).flat_map(move |line| (0..bytes).step_by(16).map(move |at| (line, at)))
}

const fn unit_place(from: &Descriptor, major: Major, line: u32, byte: u32) -> u32 {
    match major {
        Major::Depth => from.along_depth(line, byte),
        Major::Across => from.across(line, byte),
    }
}

/// So many ones.
const fn low(bits: usize) -> u64 {
    u64::MAX >> (64 - bits)
}

fn negate(mut elements: Vec<u64>, element: Element, negated: bool) -> Vec<u64> {
    if negated {
        let sign = 1 << (element.bits() - 1);
        elements.iter_mut().for_each(|bits| *bits ^= sign);
    }
    elements
}
