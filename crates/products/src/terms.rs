//! Factors of floats as numbers and exponents, a tile at a time.
//!
//! A word of a register holds `P` elements. Exponents are those of `simt::matrix`'s sums: zero
//! has -126, subnormals have the least exponent of their format.

use super::permute::Words;
use super::sums::Factor;
use simt::matrix::Element;

/// Rows that are computed at once.
pub(super) const ROWS: usize = 16;
/// Columns that are computed one after another.
pub(super) const COLUMNS: usize = 8;

/// The bias of single precision.
pub(super) const BIAS: i32 = 127;
/// The exponent of zero.
pub(super) const ZERO: i32 = -126;
/// Keeps compilers from making vectors of several iterations of the loop that this is in. They
/// would unroll the loop over rows within, whose iterations are to become the elements of a vector,
/// and access what is then apart in memory word by word.
#[inline(always)]
pub(super) fn one_by_one() {
    std::hint::black_box(());
}

/// A number and its exponent.
///
/// **Invariant.** If the number's encoding is that of a finite number, its magnitude is less than
/// `2^(exponent + 1)`.
pub(super) type Term = (f32, i32);

/// Evaluates an expression with `F` as the format of an element of which a word holds `P`.
macro_rules! by_element {
    ($P:ident, $element:expr, $F:ident => $e:expr) => {
        match ($P, $element) {
            (2, Element::F16) => {
                type $F = Half;
                $e
            }
            (2, _) => {
                type $F = Bf16;
                $e
            }
            (4, Element::E5m2) => {
                type $F = E5m2;
                $e
            }
            (4, _) => {
                type $F = E4m3;
                $e
            }
            _ => {
                type $F = Tf32;
                $e
            }
        }
    };
}

/// A block of a left factor: by part, word and row.
#[repr(align(64))]
pub(super) struct Left<const P: usize> {
    values: [[[f32; ROWS]; 4]; P],
    /// With [`BIAS`] added.
    exponents: [[[i32; ROWS]; 4]; P],
    /// Not less than any exponent.
    top: i32,
}

impl<const P: usize> Left<P> {
    /// Decodes the words of sixteen rows; `None` if a number is infinite or NaN.
    #[inline(always)]
    pub(super) fn new(element: Element, words: &Words) -> Option<Self> {
        by_element!(P, element, F => Self::decoded::<F>(words))
    }

    #[inline(always)]
    fn decoded<F: Format>(words: &Words) -> Option<Self> {
        let mut this =
            Self { values: [[[0.0; ROWS]; 4]; P], exponents: [[[0; ROWS]; 4]; P], top: ZERO };
        let mut greatest = [0; ROWS];
        for (word, words) in words.iter().enumerate() {
            for part in 0..P {
                one_by_one();
                let values = &mut this.values[part][word];
                let exponents = &mut this.exponents[part][word];
                for row in 0..ROWS {
                    let bits = words[row] >> (F::BITS * part);
                    let (value, exponent) = F::decode(bits);
                    values[row] = value;
                    exponents[row] = exponent + BIAS;
                    greatest[row] = greatest[row].max(F::magnitude(bits));
                }
            }
        }
        this.top = F::exponent(greatest.into_iter().fold(0, u32::max))?;
        Some(this)
    }

    /// An exponent that none exceeds.
    #[inline(always)]
    pub(super) fn top(&self) -> i32 {
        self.top
    }

    /// The number in a part of a word in a row, and its exponent with [`BIAS`] added.
    #[inline(always)]
    pub(super) fn term(&self, part: usize, word: usize, row: usize) -> Term {
        (self.values[part][word][row], self.exponents[part][word][row])
    }
}

/// A block of a right factor: by part and lane, which is four times the column plus the word.
#[repr(align(64))]
pub(super) struct Right<const P: usize> {
    values: [[f32; 32]; P],
    exponents: [[i32; 32]; P],
    top: i32,
}

impl<const P: usize> Right<P> {
    /// Decodes a register; `None` if a number is infinite or NaN.
    #[inline(always)]
    pub(super) fn new(element: Element, tile: &[u32; 32]) -> Option<Self> {
        by_element!(P, element, F => Self::decoded::<F>(tile))
    }

    #[inline(always)]
    fn decoded<F: Format>(tile: &[u32; 32]) -> Option<Self> {
        let mut this = Self { values: [[0.0; 32]; P], exponents: [[0; 32]; P], top: ZERO };
        let mut greatest = [0; 32];
        for part in 0..P {
            one_by_one();
            for lane in 0..32 {
                let bits = tile[lane] >> (F::BITS * part);
                let (value, exponent) = F::decode(bits);
                this.values[part][lane] = value;
                this.exponents[part][lane] = exponent;
                greatest[lane] = greatest[lane].max(F::magnitude(bits));
            }
        }
        this.top = F::exponent(greatest.into_iter().fold(0, u32::max))?;
        Some(this)
    }
}

impl<const P: usize> Factor for Right<P> {
    #[inline(always)]
    fn top(&self) -> i32 {
        self.top
    }

    #[inline(always)]
    fn term(&self, part: usize, word: usize, column: usize, _: usize) -> Term {
        let lane = 4 * column + word;
        (self.values[part][lane], self.exponents[part][lane])
    }
}

/// A format of factors or addends.
pub(super) trait Format {
    /// Bits of an encoding.
    const BITS: usize;

    /// The encoding in the lowest bits of a word, without its sign; of single precision, as such.
    fn magnitude(bits: u32) -> u32;

    /// The exponent of numbers with such a magnitude, for zero that of subnormals; `None` for
    /// infinity and NaN.
    fn exponent(magnitude: u32) -> Option<i32>;

    /// The number that the lowest bits of a word encode.
    fn decode(bits: u32) -> Term;
}

/// Half precision.
pub(super) struct Half;

/// `e5m2`, which is the upper half of half precision.
struct E5m2;

/// `e4m3`.
struct E4m3;

/// Single precision.
pub(super) struct Single;

/// The upper half of single precision.
struct Bf16;

/// Single precision whose lowest bits are not read.
struct Tf32;

impl Format for Half {
    const BITS: usize = 16;

    #[inline(always)]
    fn magnitude(bits: u32) -> u32 {
        bits & 0x7fff
    }

    #[inline(always)]
    fn exponent(magnitude: u32) -> Option<i32> {
        (magnitude < 0x7c00).then_some((magnitude >> 10).max(1) as i32 - 15)
    }

    #[inline(always)]
    fn decode(bits: u32) -> Term {
        let magnitude = Self::magnitude(bits);
        // The exponent's bias changes from 15 to 127.
        let value = f32::from_bits(magnitude << 13) * f32::from_bits((127 + 112) << 23);
        let exponent = (magnitude >> 10).max(1) as i32 - 15;
        let exponent = if magnitude == 0 { ZERO } else { exponent };
        (f32::from_bits(value.to_bits() | (bits & 0x8000) << 16), exponent)
    }
}

impl Format for E4m3 {
    const BITS: usize = 8;

    #[inline(always)]
    fn magnitude(bits: u32) -> u32 {
        bits & 0x7f
    }

    #[inline(always)]
    fn exponent(magnitude: u32) -> Option<i32> {
        (magnitude < 0x7f).then_some((magnitude >> 3).max(1) as i32 - 7)
    }

    #[inline(always)]
    fn decode(bits: u32) -> Term {
        let magnitude = Self::magnitude(bits);
        let value = f32::from_bits(magnitude << 20) * f32::from_bits((127 + 120) << 23);
        let exponent = (magnitude >> 3).max(1) as i32 - 7;
        let exponent = if magnitude == 0 { ZERO } else { exponent };
        (f32::from_bits(value.to_bits() | (bits & 0x80) << 24), exponent)
    }
}

impl Format for Single {
    const BITS: usize = 32;

    #[inline(always)]
    fn magnitude(bits: u32) -> u32 {
        bits & 0x7fff_ffff
    }

    #[inline(always)]
    fn exponent(magnitude: u32) -> Option<i32> {
        (magnitude < 0x7f80_0000).then_some((magnitude >> 23).max(1) as i32 - BIAS)
    }

    #[inline(always)]
    fn decode(bits: u32) -> Term {
        (f32::from_bits(bits), (Self::magnitude(bits) >> 23).max(1) as i32 - BIAS)
    }
}

/// Makes a format of another one whose encodings it widens.
macro_rules! widened {
    ($($name:ident $number:literal $wide:ident |$bits:ident| $e:expr;)*) => {$(
        impl Format for $name {
            const BITS: usize = $number;

            #[inline(always)]
            fn magnitude($bits: u32) -> u32 {
                $wide::magnitude($e)
            }

            #[inline(always)]
            fn exponent(magnitude: u32) -> Option<i32> {
                $wide::exponent(magnitude)
            }

            #[inline(always)]
            fn decode($bits: u32) -> Term {
                $wide::decode($e)
            }
        }
    )*};
}

widened! {
    E5m2 8 Half |bits| (bits & 0xff) << 8;
    Bf16 16 Single |bits| bits << 16;
    Tf32 32 Single |bits| bits & !0x1fff;
}
