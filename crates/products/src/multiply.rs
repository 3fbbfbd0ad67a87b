//! Products of matrices for a whole warp, many elements at a time.
//!
//! [`simt::matrix::Product::multiply`] defines results and computes them element by element. A
//! [`Multiply`] computes the same bits from the registers as they are: tiles of eight lines by four
//! words (`tiles`), of which sixteen rows make a vector. It leaves to the model what it does not
//! have: `m8n8k4` of f16, roundings of doubles other than to nearest, infinities and NaN, sums near
//! the ends of the range of single precision, and exact sums of floats.
//!
//! All functions but those of `vectors` are plain loops, compiled for each level of vector
//! instructions ([`Level`]). `vectors` has the products of floats and of bytes in AVX-512's own
//! instructions.

use crate::floats;
use crate::integers::{self, And, Arithmetic, Integers, Xor};
use crate::level::{Avx2, Avx512, Level, at};
#[cfg(target_arch = "x86_64")]
use crate::permute::Permute;
use crate::permute::Portable;
#[cfg(target_arch = "x86_64")]
use crate::sparse::Expansion;
use crate::sparse::Selection;
use crate::sums::{Rule, Sums};
use crate::tiles::Tiles;
#[cfg(target_arch = "x86_64")]
use crate::vectors;
use crate::{chains, doubles};
use simt::arith::Rounding;
use simt::matrix::{BitOp, Element, LANES, MatrixSums, Product};

/// Most registers of a result that is not the model's.
pub const RESULTS: usize = 8;

/// A product of a warp that is ready to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiply {
    product: Product,
    /// Its tiles; `None` if only the model has the product.
    tiles: Option<Tiles>,
    /// Registers of A, of B, and of the addend.
    registers: [usize; 3],
}

/// What is multiplied: registers of the left factor, the right one and the addend, and what the
/// elements of a sparse left factor meet.
struct Operands<'r> {
    registers: [&'r [&'r [u32; LANES]]; 3],
    selection: Option<Selection>,
}

impl Multiply {
    /// Prepares a product.
    #[must_use]
    pub fn new(product: Product) -> Self {
        let doubles = product.elements[1] == Element::F64;
        let nearest = !doubles || product.rounding == Rounding::NearestEven;
        let registers = [product.a(), product.b(), product.c()].map(|f| f.registers());
        let known = nearest && product.d().registers() <= RESULTS;
        let tiles = if known { Tiles::new(&product) } else { None };
        Self { product, tiles, registers }
    }

    /// The product.
    #[must_use]
    pub fn product(&self) -> &Product {
        &self.product
    }

    /// Whether some of its numbers are multiplied otherwise than by the model.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.tiles.is_some()
    }

    /// Returns whether elements have 64 bits: then [`Self::wide`] multiplies, else
    /// [`Self::narrow`].
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.product.elements[1] == Element::F64
    }

    /// Multiplies any registers: those of A, then B, then the addend, and if A is sparse, its
    /// metadata and the selector. Returns those of the result.
    ///
    /// # Panics
    /// Panics if registers are missing.
    #[must_use]
    pub fn multiply(
        &self,
        level: Level,
        rule: MatrixSums,
        operands: &[[u64; LANES]],
    ) -> Vec<[u64; LANES]> {
        let count = self.product.d().registers();
        if self.is_direct() && self.is_wide() {
            let mut results = [[0; LANES]; RESULTS];
            self.wide(level, &operands.iter().collect::<Vec<_>>(), &mut results);
            return results[..count].to_vec();
        }
        let narrow: Vec<[u32; LANES]> =
            operands.iter().map(|register| register.map(|value| value as u32)).collect();
        let mut results = [[0; LANES]; RESULTS];
        match self.narrow(level, rule, &narrow.iter().collect::<Vec<_>>(), &mut results) {
            Some(()) => results[..count].iter().map(|row| row.map(u64::from)).collect(),
            None => self.product.multiply(rule, operands),
        }
    }

    /// Multiplies registers with a value of 32 bits in each lane, as [`Self::multiply`] takes them.
    /// Writes the registers of the result. Returns `None`, with `results` undefined, if only the
    /// model can multiply these numbers.
    ///
    /// # Panics
    /// Panics if registers are missing.
    pub fn narrow(
        &self,
        level: Level,
        rule: MatrixSums,
        operands: &[&[u32; LANES]],
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        let tiles = self.tiles.as_ref().filter(|_| !self.is_wide())?;
        let integers = self.product.elements[1].is_integer();
        if rule == MatrixSums::Exact && !integers {
            return None;
        }
        let metadata = self.product.metadata().map(|metadata| {
            let rest = &operands[self.registers.iter().sum()..];
            (metadata, [rest[0], rest[1]])
        });
        let registers = self.split(tiles, operands);
        #[cfg(target_arch = "x86_64")]
        if let Some(avx512) = Avx512::of(level) {
            let [result, a, b, addend] = self.product.elements;
            let expansion = metadata.as_ref().filter(|_| a.bits() >= 8).map(|(metadata, words)| {
                let left = registers[0];
                let tile = |half, depth| left[tiles.left.register(half, depth)];
                Expansion::new(metadata, *words, |depth| {
                    avx512.words([tile(0, depth), tile(1, depth)])
                })
            });
            let of = (tiles, expansion.as_ref());
            if a.bits() == 8 && integers {
                let (a, b) = if tiles.transposed { (b, a) } else { (a, b) };
                let signed = [a, b].map(|e| e == Element::S8);
                let saturate = self.product.saturate;
                vectors::multiply_bytes(avx512, of, signed, saturate, registers, results);
                return Some(());
            }
            let how = (rule, [result, a, b, addend]);
            if !integers && vectors::multiply(avx512, of, how, registers, results).is_some() {
                return Some(());
            }
        }
        let selection = metadata.map(|(metadata, words)| Selection::new(&metadata, words));
        let operands = &Operands { registers, selection };
        if integers {
            self.integers(level, tiles, operands, results);
            return Some(());
        }
        if rule == MatrixSums::F32 {
            return self.chains(level, tiles, operands, results);
        }
        let half = self.product.elements[0] == Element::F16;
        match (self.product.elements[1], half) {
            (Element::F16, true) => {
                self.floats::<Sums<24, true>, 2>(level, tiles, operands, results)
            }
            (Element::F16 | Element::Bf16, _) => {
                self.floats::<Sums<24, false>, 2>(level, tiles, operands, results)
            }
            (Element::Tf32, _) => {
                self.floats::<Sums<24, false>, 1>(level, tiles, operands, results)
            }
            (_, false) => self.floats::<Sums<13, false>, 4>(level, tiles, operands, results),
            (_, true) => self.floats::<Sums<13, true>, 4>(level, tiles, operands, results),
        }
    }

    /// As [`Self::narrow`], for values of 64 bits of a product that [is
    /// direct](Self::is_direct).
    ///
    /// # Panics
    /// Panics if registers are missing.
    pub fn wide(&self, level: Level, operands: &[&[u64; LANES]], results: &mut [[u64; LANES]]) {
        let Some(tiles) = &self.tiles else { return };
        let operands = self.split(tiles, operands);
        match tiles.left.lines.is_multiple_of(2) {
            true => at(
                level,
                #[inline(always)]
                || {
                    doubles::multiply::<2>(tiles, operands, results);
                },
            ),
            false => at(
                level,
                #[inline(always)]
                || {
                    doubles::multiply::<1>(tiles, operands, results);
                },
            ),
        }
    }

    /// The registers of the left factor, the right one and the addend.
    #[inline(always)]
    fn split<'r, T>(&self, tiles: &Tiles, operands: &'r [T]) -> [&'r [T]; 3] {
        let (a, rest) = operands.split_at(self.registers[0]);
        let (b, rest) = rest.split_at(self.registers[1]);
        let c = &rest[..self.registers[2]];
        if tiles.transposed { [b, a, c] } else { [a, b, c] }
    }

    fn floats<R: Rule, const P: usize>(
        &self,
        level: Level,
        tiles: &Tiles,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        // Two functions, for the one without a selection is much better compiled alone.
        match operands.selection.is_some() {
            false => self.floats_of::<R, P, false>(level, tiles, operands, results),
            true => self.floats_of::<R, P, true>(level, tiles, operands, results),
        }
    }

    fn floats_of<R: Rule, const P: usize, const SPARSE: bool>(
        &self,
        level: Level,
        tiles: &Tiles,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        use floats::multiply;
        let elements = self.product.elements;
        let (registers, selection) = (operands.registers, operands.selection.as_ref());
        match (Avx512::of(level), Avx2::of(level)) {
            (Some(permute), _) => permute.call(
                #[inline(always)]
                || {
                    multiply::<R, P, SPARSE>(
                        permute, tiles, elements, selection, registers, results,
                    )
                },
            ),
            (None, Some(avx2)) => avx2.call(
                #[inline(always)]
                || {
                    multiply::<R, P, SPARSE>(
                        Portable, tiles, elements, selection, registers, results,
                    )
                },
            ),
            (None, None) => portable_floats::<R, P>(tiles, elements, selection, registers, results),
        }
    }

    /// Chains of multiply-adds by plain loops.
    fn chains(
        &self,
        level: Level,
        tiles: &Tiles,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        let (elements, selection) = (self.product.elements, operands.selection.as_ref());
        at(
            level,
            #[inline(always)]
            || match elements[1].bits() {
                8 => chains::multiply::<4>(tiles, elements, selection, operands.registers, results),
                16 => {
                    chains::multiply::<2>(tiles, elements, selection, operands.registers, results)
                }
                _ => chains::multiply::<1>(tiles, elements, selection, operands.registers, results),
            },
        )
    }

    fn integers(
        &self,
        level: Level,
        tiles: &Tiles,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) {
        let sparse = operands.selection.is_some();
        let [_, a, ..] = self.product.elements;
        let of = (tiles, operands);
        match (a.bits(), self.product.bits) {
            (8, _) if sparse => self.integers_of::<Integers<4>, 4, true>(level, of, results),
            (8, _) => self.integers_of::<Integers<4>, 4, false>(level, of, results),
            (4, _) if sparse => self.integers_of::<Integers<8>, 8, true>(level, of, results),
            (4, _) => self.integers_of::<Integers<8>, 8, false>(level, of, results),
            (_, BitOp::Xor) => self.integers_of::<Xor, 1, false>(level, of, results),
            (_, BitOp::And) => self.integers_of::<And, 1, false>(level, of, results),
        }
    }

    fn integers_of<A: Arithmetic, const P: usize, const SPARSE: bool>(
        &self,
        level: Level,
        (tiles, operands): (&Tiles, &Operands<'_>),
        results: &mut [[u32; LANES]],
    ) {
        use integers::multiply;
        let elements = self.product.elements;
        let (registers, selection) = (operands.registers, operands.selection.as_ref());
        let saturate = self.product.saturate;
        match (Avx512::of(level), Avx2::of(level)) {
            (Some(permute), _) => permute.call(
                #[inline(always)]
                || {
                    multiply::<A, P, SPARSE>(
                        permute, tiles, elements, saturate, selection, registers, results,
                    );
                },
            ),
            (None, Some(avx2)) => avx2.call(
                #[inline(always)]
                || {
                    multiply::<A, P, SPARSE>(
                        Portable, tiles, elements, saturate, selection, registers, results,
                    );
                },
            ),
            (None, None) => {
                portable_integers::<A, P>(tiles, elements, saturate, selection, registers, results);
            }
        }
    }
}

/// Whether the portable level has one function for dense and for sparse left factors. On x86-64
/// only hosts without AVX2 have that level; the function is less quick, and compiled once.
const ONE_PORTABLE: bool = cfg!(target_arch = "x86_64");

#[inline(never)]
fn portable_floats<R: Rule, const P: usize>(
    tiles: &Tiles,
    elements: [Element; 4],
    selection: Option<&Selection>,
    registers: [&[&[u32; LANES]]; 3],
    results: &mut [[u32; LANES]],
) -> Option<()> {
    use floats::multiply;
    if const { !ONE_PORTABLE } && selection.is_none() {
        return multiply::<R, P, false>(Portable, tiles, elements, None, registers, results);
    }
    multiply::<R, P, true>(Portable, tiles, elements, selection, registers, results)
}

#[inline(never)]
fn portable_integers<A: Arithmetic, const P: usize>(
    tiles: &Tiles,
    elements: [Element; 4],
    saturate: bool,
    selection: Option<&Selection>,
    registers: [&[&[u32; LANES]]; 3],
    results: &mut [[u32; LANES]],
) {
    use integers::multiply;
    if const { !ONE_PORTABLE } && selection.is_none() {
        multiply::<A, P, false>(Portable, tiles, elements, saturate, None, registers, results);
        return;
    }
    multiply::<A, P, true>(Portable, tiles, elements, saturate, selection, registers, results);
}
