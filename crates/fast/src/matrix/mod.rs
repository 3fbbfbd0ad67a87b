//! Products of matrices for a whole warp, many elements at a time.
//!
//! [`simt::matrix::Product::multiply`] defines results and computes them element by element. A
//! [`Multiply`] computes the same bits from the registers as they are: tiles of eight lines by four
//! words (`tiles`), of which sixteen rows make a vector. It leaves to the model what it does not
//! have: `m8n8k4` of f16, roundings of doubles other than to nearest, infinities and NaN, and sums
//! near the ends of the range of single precision.
//!
//! All functions but those of `vectors` are plain loops, compiled for each level of vector
//! instructions ([`Level`]) as the interpreter is. `vectors` has the dense products of floats and
//! of bytes in AVX-512's own instructions.

mod doubles;
mod floats;
mod integers;
mod lines;
mod permute;
mod sparse;
mod sums;
mod sums_of_doubles;
mod terms;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod vectors;

use crate::level::{Avx512, Level, at, below_avx512};
pub use lines::Lines;
pub(crate) use lines::{MOST_BYTES, register_of_rows, rows_of_register};

use integers::{And, Arithmetic, Integers, Xor};
use permute::Portable;
use simt::arith::Rounding;
use simt::matrix::{BitOp, Element, LANES, Product};
use sparse::Selection;
use sums::{Rule, Sums};
use tiles::Tiles;

/// Most registers of a result.
pub(crate) const RESULTS: usize = 8;

/// A product that can be computed for a whole warp at once.
#[derive(Clone, Debug)]
pub struct Multiply {
    product: Product,
    tiles: Tiles,
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
    /// Returns `None` if only the model has the product.
    #[must_use]
    pub fn new(product: Product) -> Option<Self> {
        let doubles = product.elements[1] == Element::F64;
        if doubles && product.rounding != Rounding::NearestEven {
            return None;
        }
        let registers = [product.a(), product.b(), product.c()].map(|f| f.registers());
        (product.d().registers() <= RESULTS).then_some(())?;
        Some(Self { product, tiles: Tiles::new(&product)?, registers })
    }

    /// The product.
    #[must_use]
    pub fn product(&self) -> &Product {
        &self.product
    }

    /// Returns whether elements have 64 bits: then [`Self::wide`] multiplies, else
    /// [`Self::narrow`].
    #[must_use]
    pub fn is_wide(&self) -> bool {
        self.product.elements[1] == Element::F64
    }

    /// Multiplies registers with a value of 32 bits in each lane: those of A, then B, then the
    /// addend, and if A is sparse, its metadata and the selector. Writes the registers of the
    /// result. Returns `None`, with `results` undefined, if only the model can multiply these
    /// numbers.
    ///
    /// # Panics
    /// Panics if registers are missing.
    pub fn narrow(
        &self,
        level: Level,
        operands: &[&[u32; LANES]],
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        let selection = self.product.metadata().map(|metadata| {
            let rest = &operands[self.registers.iter().sum()..];
            Selection::new(&metadata, [rest[0], rest[1]])
        });
        let operands = &Operands { registers: self.split(operands), selection };
        #[cfg(target_arch = "x86_64")]
        if let (None, Some(avx512)) = (&operands.selection, Avx512::of(level)) {
            let (elements, registers) = (self.product.elements, operands.registers);
            if vectors::multiply(avx512, &self.tiles, elements, registers, results).is_some() {
                return Some(());
            }
        }
        let half = self.product.elements[0] == Element::F16;
        match (self.product.elements[1], half) {
            (Element::F16, false) => self.floats::<Sums<24, false>, 2>(level, operands, results),
            (Element::F16, true) => self.floats::<Sums<24, true>, 2>(level, operands, results),
            (Element::Bf16, _) => self.floats::<Sums<24, false>, 2>(level, operands, results),
            (Element::Tf32, _) => self.floats::<Sums<24, false>, 1>(level, operands, results),
            (Element::E4m3 | Element::E5m2, false) => {
                self.floats::<Sums<13, false>, 4>(level, operands, results)
            }
            (Element::E4m3 | Element::E5m2, true) => {
                self.floats::<Sums<13, true>, 4>(level, operands, results)
            }
            _ => {
                self.integers(level, operands, results);
                Some(())
            }
        }
    }

    /// As [`Self::narrow`], for values of 64 bits.
    ///
    /// # Panics
    /// Panics if registers are missing.
    pub fn wide(&self, level: Level, operands: &[&[u64; LANES]], results: &mut [[u64; LANES]]) {
        let (tiles, operands) = (&self.tiles, self.split(operands));
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
    fn split<'r, T>(&self, operands: &'r [T]) -> [&'r [T]; 3] {
        let (a, rest) = operands.split_at(self.registers[0]);
        let (b, rest) = rest.split_at(self.registers[1]);
        let c = &rest[..self.registers[2]];
        if self.tiles.transposed { [b, a, c] } else { [a, b, c] }
    }

    fn floats<R: Rule, const P: usize>(
        &self,
        level: Level,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        // Two functions, for the one without a selection is much better compiled alone.
        match operands.selection.is_some() {
            false => self.floats_of::<R, P, false>(level, operands, results),
            true => self.floats_of::<R, P, true>(level, operands, results),
        }
    }

    fn floats_of<R: Rule, const P: usize, const SPARSE: bool>(
        &self,
        level: Level,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) -> Option<()> {
        use floats::multiply;
        let (tiles, elements) = (&self.tiles, self.product.elements);
        let (registers, selection) = (operands.registers, operands.selection.as_ref());
        match Avx512::of(level) {
            Some(permute) => permute.call(
                #[inline(always)]
                || {
                    multiply::<R, P, SPARSE>(
                        permute, tiles, elements, selection, registers, results,
                    )
                },
            ),
            None => below_avx512(
                level,
                #[inline(always)]
                || {
                    multiply::<R, P, SPARSE>(
                        Portable, tiles, elements, selection, registers, results,
                    )
                },
            ),
        }
    }

    fn integers(&self, level: Level, operands: &Operands<'_>, results: &mut [[u32; LANES]]) {
        let sparse = operands.selection.is_some();
        let [_, a, b, _] = self.product.elements;
        #[cfg(target_arch = "x86_64")]
        if let (8, false, Some(avx512)) = (a.bits(), sparse, Avx512::of(level)) {
            let (a, b) = if self.tiles.transposed { (b, a) } else { (a, b) };
            let (signed, saturate) = ([a, b].map(|e| e == Element::S8), self.product.saturate);
            let (tiles, registers) = (&self.tiles, operands.registers);
            vectors::multiply_bytes(avx512, tiles, signed, saturate, registers, results);
            return;
        }
        match (a.bits(), self.product.bits) {
            (8, _) if sparse => self.integers_of::<Integers<4>, 4, true>(level, operands, results),
            (8, _) => self.integers_of::<Integers<4>, 4, false>(level, operands, results),
            (4, _) if sparse => self.integers_of::<Integers<8>, 8, true>(level, operands, results),
            (4, _) => self.integers_of::<Integers<8>, 8, false>(level, operands, results),
            (_, BitOp::Xor) => self.integers_of::<Xor, 1, false>(level, operands, results),
            (_, BitOp::And) => self.integers_of::<And, 1, false>(level, operands, results),
        }
    }

    fn integers_of<A: Arithmetic, const P: usize, const SPARSE: bool>(
        &self,
        level: Level,
        operands: &Operands<'_>,
        results: &mut [[u32; LANES]],
    ) {
        use integers::multiply;
        let (tiles, elements) = (&self.tiles, self.product.elements);
        let (registers, selection) = (operands.registers, operands.selection.as_ref());
        let saturate = self.product.saturate;
        match Avx512::of(level) {
            Some(permute) => permute.call(
                #[inline(always)]
                || {
                    multiply::<A, P, SPARSE>(
                        permute, tiles, elements, saturate, selection, registers, results,
                    );
                },
            ),
            None => below_avx512(
                level,
                #[inline(always)]
                || {
                    multiply::<A, P, SPARSE>(
                        Portable, tiles, elements, saturate, selection, registers, results,
                    );
                },
            ),
        }
    }
}
