//! Sums of products of small floats as matrix units make them.
//!
//! A block of products and the sum so far are added at once: every product is exact; all terms are
//! aligned to the greatest exponent among them, cut to a fixed number of fraction bits below it,
//! and added without rounding; the sum is then cut to single precision (toward zero) or rounded to
//! half precision (to nearest, ties to even). A product's exponent is the sum of its factors'
//! exponents, so it is not normalised before it is aligned; that of a factor which is zero is -126.
//! Subnormals are numbers as any others. The result is the next block's sum so far. A result that
//! is zero has no sign.
//!
//! NaN, infinity times zero and infinities of both signs give the canonical NaN; what is too large
//! is infinite.
//!
//! Source: M. Fasi, N. J. Higham, M. Mikaitis, S. Pranesh, *Numerical behavior of NVIDIA tensor
//! cores*, PeerJ CS 2021, and P. Xie et al., *MMA-Sim: bit-accurate reference model of tensor cores
//! and matrix cores*, 2025, which agrees with devices bit for bit in its authors' tests. The
//! numbers are those that it gives for compute capability 8.x (of `m8n8k4`, for 7.0): blocks of 8
//! products of 16-bit formats, 4 of tf32, 16 of 8-bit formats; 24 fraction bits, 23 for `m8n8k4`,
//! 13 for 8-bit formats, of which single precision keeps 13. Of `wgmma` they are those of 9.0: all
//! products of 32 bytes of depth are one block, with 25 fraction bits, and 13 of 8-bit formats.

use super::exact::{chain, exact};
use super::{Element, MatrixSums};

/// A binary floating-point format of up to 32 bits.
#[derive(Clone, Copy)]
struct Layout {
    exponent: u32,
    fraction: u32,
}

const fn layout(element: Element) -> Layout {
    match element {
        Element::F16 => Layout { exponent: 5, fraction: 10 },
        Element::Bf16 => Layout { exponent: 8, fraction: 7 },
        Element::Tf32 => Layout { exponent: 8, fraction: 10 },
        Element::E4m3 => Layout { exponent: 4, fraction: 3 },
        Element::E5m2 => Layout { exponent: 5, fraction: 2 },
        _ => Layout { exponent: 8, fraction: 23 },
    }
}

/// The exponent of zero, as the units have it.
const ZERO: i32 = -126;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Finite,
    Infinite,
    Nan,
}

/// A number: `significand * 2^(exponent - fraction bits of its format)`.
#[derive(Clone, Copy, Debug)]
struct Number {
    significand: i32,
    exponent: i32,
    class: Class,
}

fn decode(bits: u32, element: Element) -> Number {
    // The lowest bits of tf32 are not read.
    let bits = if element == Element::Tf32 { bits >> 13 } else { bits };
    let Layout { exponent: width, fraction } = layout(element);
    let (top, bias) = ((1 << width) - 1, (1 << (width - 1)) - 1);
    let field = (bits >> fraction & top) as i32;
    let rest = (bits & ((1 << fraction) - 1)) as i32;
    let negative = bits >> (width + fraction) & 1 != 0;
    let class = match element {
        Element::E4m3 if field == 15 && rest == 7 => Class::Nan,
        Element::E4m3 => Class::Finite,
        _ if field != top as i32 => Class::Finite,
        _ if rest == 0 => Class::Infinite,
        _ => Class::Nan,
    };
    let (significand, exponent) = match (field, rest) {
        (0, 0) => (0, ZERO),
        (0, _) => (rest, 1 - bias),
        _ => (rest | 1 << fraction, field - bias),
    };
    // An infinity keeps its sign by its significand.
    Number { significand: if negative { -significand } else { significand }, exponent, class }
}

/// Lines of numbers: rows of A, or columns of B.
pub(super) struct Lines {
    pub(super) significands: Vec<i32>,
    pub(super) exponents: Vec<i32>,
    classes: Vec<Class>,
    /// Whether some are not finite.
    special: bool,
    /// Fraction bits of significands.
    pub(super) fraction: u32,
}

impl Lines {
    /// Decodes encodings of a format.
    pub(super) fn new(encodings: &[u64], element: Element) -> Self {
        let mut this = Self {
            significands: Vec::with_capacity(encodings.len()),
            exponents: Vec::with_capacity(encodings.len()),
            classes: Vec::with_capacity(encodings.len()),
            special: false,
            fraction: layout(element).fraction,
        };
        for &bits in encodings {
            let number = decode(bits as u32, element);
            this.significands.push(number.significand);
            this.exponents.push(number.exponent);
            this.classes.push(number.class);
            this.special |= number.class != Class::Finite;
        }
        this
    }

    /// A number, if it is not finite.
    pub(super) fn special(&self, at: usize) -> Option<Exception> {
        match self.classes[at] {
            Class::Finite => None,
            Class::Infinite => Some(Exception::Infinite(self.significands[at] < 0)),
            Class::Nan => Some(Exception::Nan),
        }
    }
}

/// The rules by which products are added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    rule: MatrixSums,
    /// Products that a device adds at once.
    block: usize,
    /// Fraction bits below the greatest exponent.
    fraction: u32,
    /// Whether the result is of half precision; else of single precision.
    half: bool,
    /// Fraction bits that a result of single precision keeps.
    kept: u32,
}

impl Sums {
    /// For factors of a format; `quads` for `m8n8k4`.
    pub(super) fn new(rule: MatrixSums, factor: Element, result: Element, quads: bool) -> Self {
        let (block, fraction, kept) = match factor {
            Element::E4m3 | Element::E5m2 => (16, 13, 13),
            Element::Tf32 => (4, 24, 23),
            _ if quads => (4, 23, 23),
            _ => (8, 24, 23),
        };
        Self { rule, block, fraction, half: result == Element::F16, kept }
    }

    /// For factors of a format of a warp group's products.
    pub(super) fn of_group(rule: MatrixSums, factor: Element, result: Element) -> Self {
        let narrow = matches!(factor, Element::E4m3 | Element::E5m2);
        let (fraction, kept) = if narrow { (13, 13) } else { (25, 23) };
        let block = 256 / factor.bits();
        Self { rule, block, fraction, half: result == Element::F16, kept }
    }

    /// A row of A times a column of B plus a number, as encodings. The lines are ranges of `k`
    /// numbers from `row` and `column` on; the addend is of half precision only if the result is.
    pub(super) fn dot(
        self,
        (a, row): (&Lines, usize),
        (b, column): (&Lines, usize),
        k: usize,
        (addend, format): (u64, Element),
    ) -> u64 {
        let (left, right) = (row..row + k, column..column + k);
        match self.rule {
            MatrixSums::Device => self.blocks((a, row), (b, column), k, (addend, format)),
            MatrixSums::Exact => {
                let number = decode(addend as u32, format);
                let exception = exception(a, left.clone(), b, right.clone(), number);
                let addend = Lines::new(&[addend], format);
                exact((a, left), (b, right), &addend, exception, self.half)
            }
            MatrixSums::F32 => {
                chain((a, left), (b, right), &Lines::new(&[addend], format), self.half)
            }
        }
    }

    /// The sum of blocks as a device's units make them.
    fn blocks(
        self,
        (a, row): (&Lines, usize),
        (b, column): (&Lines, usize),
        k: usize,
        (addend, format): (u64, Element),
    ) -> u64 {
        let result = if self.half { Element::F16 } else { Element::F32 };
        let (mut sum, mut format) = (addend, format);
        for start in (0..k).step_by(self.block) {
            let count = self.block.min(k - start);
            let left = row + start..row + start + count;
            let right = column + start..column + start + count;
            let addend = decode(sum as u32, format);
            let special = a.special || b.special || addend.class != Class::Finite;
            let exception =
                if special { exception(a, left.clone(), b, right.clone(), addend) } else { None };
            sum = match exception {
                Some(exception) => exceptional(exception, self.half),
                None => self.block_sum((a, left), (b, right), addend, layout(format).fraction),
            };
            format = result;
        }
        sum
    }

    /// The sum of finite products and a finite addend.
    #[inline]
    fn block_sum(
        self,
        (a, left): (&Lines, std::ops::Range<usize>),
        (b, right): (&Lines, std::ops::Range<usize>),
        addend: Number,
        addend_fraction: u32,
    ) -> u64 {
        let (ae, be) = (&a.exponents[left.clone()], &b.exponents[right.clone()]);
        let (af, bf) = (&a.significands[left], &b.significands[right]);
        let top = ae.iter().zip(be).fold(addend.exponent, |top, (x, y)| top.max(x + y));
        // Products have the fraction bits of both factors, fewer than the sum has.
        let grow = self.fraction - a.fraction - b.fraction;
        let mut sum = 0i64;
        for ((x, y), (xe, ye)) in af.iter().zip(bf).zip(ae.iter().zip(be)) {
            let product = x * y;
            let down = (top - xe - ye).min(31) as u32;
            let magnitude = i64::from(product.unsigned_abs() << grow >> down);
            sum += if product < 0 { -magnitude } else { magnitude };
        }
        let down = (top - addend.exponent + addend_fraction as i32).min(63) as u32;
        let magnitude = u64::from(addend.significand.unsigned_abs()) << self.fraction >> down;
        sum += if addend.significand < 0 { -(magnitude as i64) } else { magnitude as i64 };
        let unit = top - self.fraction as i32;
        if self.half { half(sum, unit) } else { single(sum, unit, self.kept) }
    }
}

/// The encoding of a result that is not finite.
pub(super) fn exceptional(exception: Exception, half: bool) -> u64 {
    match (exception, half) {
        (Exception::Nan, true) => 0x7fff,
        (Exception::Nan, false) => 0x7fff_ffff,
        (Exception::Infinite(negative), true) => 0x7c00 | u64::from(negative) << 15,
        (Exception::Infinite(negative), false) => 0x7f80_0000 | u64::from(negative) << 31,
    }
}

/// Converts `sum * 2^unit` to single precision with `kept` fraction bits, cut toward zero.
fn single(sum: i64, unit: i32, kept: u32) -> u64 {
    if sum == 0 {
        return 0;
    }
    let magnitude = sum.unsigned_abs();
    let exponent = unit + 63 - magnitude.leading_zeros() as i32;
    let sign = u64::from(sum < 0) << 31;
    if exponent > 127 {
        return sign | 0x7f80_0000;
    }
    let down = exponent.max(-126) - kept as i32 - unit;
    let kept_bits = if down >= 0 { magnitude >> down.min(63) } else { magnitude << -down };
    let significand = kept_bits << (23 - kept);
    match significand {
        0 => 0,
        _ if exponent < -126 => sign | significand,
        _ => sign | ((exponent + 127) as u64) << 23 | significand & 0x7f_ffff,
    }
}

/// `sum * 2^unit` in half precision, rounded to nearest, ties to even.
fn half(sum: i64, unit: i32) -> u64 {
    match nearest(sum.unsigned_abs(), unit, true) {
        0 => 0,
        bits => bits | u64::from(sum < 0) << 15,
    }
}

/// `magnitude * 2^unit` in half or single precision, rounded to nearest, ties to even. The
/// magnitude is less than `2^63`.
pub(super) fn nearest(magnitude: u64, unit: i32, half: bool) -> u64 {
    if magnitude == 0 {
        return 0;
    }
    let (least, greatest, fraction) = if half { (-14, 15, 10) } else { (-126, 127, 23) };
    let infinite = ((greatest - least + 2) as u64) << fraction;
    let exponent = unit + 63 - magnitude.leading_zeros() as i32;
    if exponent > greatest {
        return infinite;
    }
    let down = exponent.max(least) - fraction - unit;
    let significand = match down {
        ..=0 => magnitude << -down,
        1..=63 => {
            let (kept, dropped) = (magnitude >> down, magnitude & ((1 << down) - 1));
            let tie = 1 << (down - 1);
            kept + u64::from(dropped > tie || dropped == tie && kept & 1 != 0)
        }
        _ => 0,
    };
    if significand == 0 {
        return 0;
    }
    // A carry out of the significand goes into the exponent, and from the greatest one to infinity.
    ((((exponent.max(least) - least) as u64) << fraction) + significand).min(infinite)
}

/// A result that is not finite.
#[derive(Clone, Copy)]
pub(super) enum Exception {
    Nan,
    /// With its sign.
    Infinite(bool),
}

/// Returns the result of a block with numbers that are not finite; `None` if all are finite.
fn exception(
    a: &Lines,
    left: std::ops::Range<usize>,
    b: &Lines,
    right: std::ops::Range<usize>,
    addend: Number,
) -> Option<Exception> {
    let mut found: Option<Exception> = match addend.class {
        Class::Finite => None,
        Class::Infinite => Some(Exception::Infinite(addend.significand < 0)),
        Class::Nan => return Some(Exception::Nan),
    };
    for (x, y) in left.zip(right) {
        let negative = (a.significands[x] < 0) != (b.significands[y] < 0);
        let zero = a.significands[x] == 0 || b.significands[y] == 0;
        match (a.classes[x], b.classes[y]) {
            (Class::Finite, Class::Finite) => {}
            (Class::Nan, _) | (_, Class::Nan) => return Some(Exception::Nan),
            _ if zero => return Some(Exception::Nan),
            _ => match found {
                Some(Exception::Infinite(other)) if other != negative => {
                    return Some(Exception::Nan);
                }
                _ => found = Some(Exception::Infinite(negative)),
            },
        }
    }
    found
}
