//! Products of matrices in registers.

use super::dot::{Lines, Sums};
use super::fragment::{Fragment, Role, Spread};
use super::sparse::{IndexOrder, Metadata};
use super::{Element, LANES, MatrixSums, Shape};
use crate::arith::{F16, F32, F64, FpEnv, Rounding, float};

/// The product of two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// Exclusive or.
    Xor,
    /// And.
    And,
}

/// `D = A * B + C` of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Sizes.
    pub shape: Shape,
    /// Elements of D, A, B and C.
    pub elements: [Element; 4],
    /// The distribution of fragments: [`Spread::Mma`] or [`Spread::Wmma`]. `m8n8k4` of f16 is
    /// recognised.
    pub spread: Spread,
    /// Whether A, and whether B, is stored by columns: it matters only to the fragments of `m8n8k4`
    /// of f16.
    pub columns: [bool; 2],
    /// The product of two bits.
    pub bits: BitOp,
    /// Whether sums of integers saturate.
    pub saturate: bool,
    /// The rounding of double precision.
    pub rounding: Rounding,
    /// Whether half the elements of A are stored, and in which order the indices of their metadata
    /// may be. Only [`Spread::Mma`] has such products, of 16 rows, and neither of doubles nor of
    /// bits.
    pub sparse: Option<IndexOrder>,
}

impl Product {
    fn is_quads(&self) -> bool {
        self.spread == Spread::Mma && self.shape.k == 4 && self.elements[1] == Element::F16
    }

    fn fragment(&self, role: Role, element: Element, columns: bool) -> Fragment {
        let spread = if self.is_quads() { Spread::Quads { columns } } else { self.spread };
        Fragment { role, shape: self.shape, element, spread }
    }

    /// What is stored of the left factor.
    #[must_use]
    pub fn a(&self) -> Fragment {
        let fragment = self.fragment(Role::A, self.elements[1], self.columns[0]);
        Fragment { shape: Shape { k: self.depth(), ..self.shape }, ..fragment }
    }

    /// Factors of each element of the result.
    fn depth(&self) -> usize {
        if self.sparse.is_some() { self.shape.k / 2 } else { self.shape.k }
    }

    /// The metadata of the left factor, if it is sparse.
    #[must_use]
    pub fn metadata(&self) -> Option<Metadata> {
        let order = self.sparse?;
        Some(Metadata { element: self.elements[1], columns: self.shape.k, order })
    }

    /// The right factor.
    #[must_use]
    pub fn b(&self) -> Fragment {
        self.fragment(Role::B, self.elements[2], self.columns[1])
    }

    /// The addend.
    #[must_use]
    pub fn c(&self) -> Fragment {
        self.fragment(Role::C, self.elements[3], false)
    }

    /// The result.
    #[must_use]
    pub fn d(&self) -> Fragment {
        self.fragment(Role::C, self.elements[0], false)
    }

    /// Registers of A, B and C together, and two if A is sparse: its metadata and the selector.
    #[must_use]
    pub fn operands(&self) -> usize {
        self.registers() + if self.sparse.is_some() { 2 } else { 0 }
    }

    /// Registers of A, B and C together.
    #[must_use]
    pub fn registers(&self) -> usize {
        self.a().registers() + self.b().registers() + self.c().registers()
    }

    /// Multiplies; floats of at most 32 bits are added by a rule. Operands are the registers of A,
    /// then B, then C, each with a value for every lane; results are those of D.
    ///
    /// # Panics
    /// If there are fewer operands than [`Self::operands`].
    #[must_use]
    pub fn multiply(&self, rule: MatrixSums, operands: &[[u64; LANES]]) -> Vec<[u64; LANES]> {
        let [d, a, b, c] = [self.d(), self.a(), self.b(), self.c()];
        let (first, rest) = operands.split_at(a.registers());
        let (second, third) = rest.split_at(b.registers());
        let (left, right) = (gather(&a, first, false), gather(&b, second, true));
        let sums = gather(&c, third, false);
        let Shape { m, n, k } = self.shape;
        let Some(metadata) = self.metadata() else {
            return scatter(&d, &self.rows(rule, m, &left, &right, &sums));
        };
        let [words, selector] = [0, 1].map(|i| &third[c.registers() + i]);
        let mut out = Vec::with_capacity(sums.len());
        for (row, sums) in sums.chunks(n).enumerate() {
            let depth = self.depth();
            let stored = &left[row * depth..][..depth];
            let (left, columns) = in_order(stored, &metadata.row(words, selector[0], row));
            let column = |column: &[u64]| columns.iter().map(|&at| column[at]).collect::<Vec<_>>();
            let right: Vec<u64> = right.chunks(k).flat_map(column).collect();
            out.extend(self.rows(rule, 1, &left, &right, sums));
        }
        scatter(&d, &out)
    }

    /// Rows of the results of products with so many rows each.
    fn rows(
        &self,
        rule: MatrixSums,
        m: usize,
        left: &[u64],
        right: &[u64],
        sums: &[u64],
    ) -> Vec<u64> {
        let [sum, a, b, addend] = self.elements;
        let (n, k) = (self.shape.n, self.depth());
        let mut out = vec![0; sums.len()];
        // The offsets of the row, the column and the sum for each element of the result.
        let places = (0..sums.len()).map(|at| {
            let (matrix, row, column) = (at / (m * n), at / n % m, at % n);
            ((matrix * m + row) * k, (matrix * n + column) * k)
        });
        if a == Element::F64 {
            for (at, (row, column)) in places.enumerate() {
                out[at] = self.double(&left[row..row + k], &right[column..column + k], sums[at]);
            }
        } else if a.is_integer() {
            let (left, right) = (integers(left, a), integers(right, b));
            for (at, (row, column)) in places.enumerate() {
                out[at] = self.integer(&left[row..row + k], &right[column..column + k], sums[at]);
            }
        } else {
            let how = Sums::new(rule, a, sum, self.is_quads());
            let (left, right) = (Lines::new(left, a), Lines::new(right, b));
            // A sum of single precision takes its addend as such.
            let widen = addend == Element::F16 && sum == Element::F32;
            let format = if widen { Element::F32 } else { addend };
            for (at, (row, column)) in places.enumerate() {
                let addend = match widen {
                    true => float::convert::<F16, F32>(sums[at], FpEnv::PTX),
                    false => sums[at],
                };
                out[at] = how.dot((&left, row), (&right, column), k, (addend, format));
            }
        }
        out
    }

    fn double(&self, row: &[u64], column: &[u64], sum: u64) -> u64 {
        let env = FpEnv::PTX.with_rounding(self.rounding);
        row.iter().zip(column).fold(sum, |sum, (&x, &y)| float::fma::<F64>(x, y, sum, env))
    }

    fn integer(&self, row: &[i32], column: &[i32], sum: u64) -> u64 {
        let pairs = row.iter().zip(column);
        let total: i64 = match (self.elements[1], self.bits) {
            (Element::B1, BitOp::Xor) => pairs.map(|(x, y)| i64::from(x ^ y)).sum(),
            (Element::B1, BitOp::And) => pairs.map(|(x, y)| i64::from(x & y)).sum(),
            // At most 256 products of bytes.
            _ => pairs.map(|(x, y)| x * y).sum::<i32>().into(),
        };
        let total = total + i64::from(sum as u32 as i32);
        let total = match self.saturate {
            true => total.clamp(i32::MIN.into(), i32::MAX.into()),
            false => total,
        };
        u64::from(total as u32)
    }
}

/// The stored elements of a row and the columns that they have in the whole factor, in the order of
/// columns.
pub(super) fn in_order(stored: &[u64], columns: &[usize]) -> (Vec<u64>, Vec<usize>) {
    let mut pairs: Vec<_> = columns.iter().copied().zip(stored.iter().copied()).collect();
    pairs.sort_by_key(|&(column, _)| column);
    pairs.into_iter().map(|(column, element)| (element, column)).unzip()
}

/// The elements of a matrix, row by row, or column by column if it is transposed.
fn gather(fragment: &Fragment, registers: &[[u64; LANES]], transposed: bool) -> Vec<u64> {
    let (rows, columns) = (fragment.rows(), fragment.columns());
    let (bits, parts) = (fragment.element.bits(), fragment.parts());
    let mask = u64::MAX >> (64 - bits);
    let mut out = vec![0; fragment.matrices() * rows * columns];
    for (register, lanes) in registers.iter().enumerate().take(fragment.distinct()) {
        for (lane, value) in lanes.iter().enumerate() {
            for part in 0..parts {
                let (matrix, row, column) = fragment.place(lane, register, part);
                let at = if transposed { column * rows + row } else { row * columns + column };
                out[matrix * rows * columns + at] = value >> (part * bits) & mask;
            }
        }
    }
    out
}

/// The registers that hold the elements of a matrix, given row by row.
fn scatter(fragment: &Fragment, elements: &[u64]) -> Vec<[u64; LANES]> {
    let (rows, columns) = (fragment.rows(), fragment.columns());
    let bits = fragment.element.bits();
    let mut out = vec![[0; LANES]; fragment.registers()];
    for (register, lanes) in out.iter_mut().enumerate() {
        for (lane, value) in lanes.iter_mut().enumerate() {
            for part in 0..fragment.parts() {
                let (matrix, row, column) = fragment.place(lane, register, part);
                let element = elements[(matrix * rows + row) * columns + column];
                *value |= element << (part * bits);
            }
        }
    }
    out
}

/// Encodings of integers as numbers.
pub(super) fn integers(encodings: &[u64], element: Element) -> Vec<i32> {
    let bits = element.bits();
    let signed = matches!(element, Element::S8 | Element::S4);
    let number = |&encoding: &u64| match signed {
        true => ((encoding << (64 - bits)) as i64 >> (64 - bits)) as i32,
        false => encoding as i32,
    };
    encodings.iter().map(number).collect()
}
