//! Numbers that are chosen to align, to cancel, to overflow and to be special.

use ir::testing::Rng;
use simt::matrix::{Element, LANES, Metadata};

/// How the exponents of numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exponents {
    /// One exponent: all terms are aligned alike.
    One,
    /// A few neighbouring ones, and zeros.
    Narrow,
    /// So many that small terms are cut.
    Spread,
    /// All finite ones: sums overflow, and products leave the range of single precision.
    All,
    /// The lowest ones, and subnormals.
    Low,
    /// The highest ones.
    High,
    /// A few neighbouring ones, and seldom infinity or NaN.
    Special,
    /// Zeros of both signs.
    Zeros,
}

pub(crate) const EXPONENTS: [Exponents; 8] = {
    use Exponents::*;
    [One, Narrow, Spread, All, Low, High, Special, Zeros]
};

/// The bits of the exponent and of the fraction of a format.
pub(crate) fn widths(element: Element) -> Option<(u32, u32)> {
    Some(match element {
        Element::F16 => (5, 10),
        Element::Bf16 => (8, 7),
        // The lowest bits are there, and not read.
        Element::Tf32 | Element::F32 => (8, 23),
        Element::F64 => (11, 52),
        Element::E4m3 => (4, 3),
        Element::E5m2 => (5, 2),
        _ => return None,
    })
}

pub(crate) fn number(rng: &mut Rng, element: Element, exponents: Exponents) -> u64 {
    let bits = rng.bits();
    let Some((width, fraction)) = widths(element) else {
        return match exponents {
            Exponents::Zeros => 0,
            Exponents::High => u64::MAX >> rng.below(2),
            _ => bits,
        };
    };
    let (top, bias) = ((1 << width) - 1, (1 << (width - 1)) - 1);
    let below = |rng: &mut Rng, n: u64| rng.below(n as usize) as u64;
    let exponent = match exponents {
        Exponents::One => bias,
        Exponents::Narrow if rng.one_in(6) => 0,
        Exponents::Narrow => bias - 2 + below(rng, 4),
        Exponents::Spread => bias.saturating_sub(10) + below(rng, 17),
        Exponents::All => below(rng, top),
        Exponents::Low => below(rng, 4),
        Exponents::High => top - 1 - below(rng, 3),
        Exponents::Special if rng.one_in(100) => top,
        Exponents::Special => bias,
        Exponents::Zeros => return bits & 1 << (width + fraction),
    };
    // Fractions of few bits, so that sums are ties, or cancel.
    let kept = if rng.one_in(4) { 1 } else { fraction };
    let low = bits & ((1 << fraction) - 1) & !0 << (fraction - kept.min(fraction));
    (bits & 1 << 63) >> (63 - width - fraction) | exponent.min(top) << fraction | low
}

/// Metadata of a sparse left factor, and a selector.
pub(crate) fn metadata(rng: &mut Rng, metadata: &Metadata) -> Vec<[u64; LANES]> {
    const ANY: &[u64] = &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe, 0x1, 0x2, 0x3, 0x6, 0x7, 0xb];
    let codes = if metadata.element == Element::Tf32 { &[0x4, 0xe] } else { ANY };
    let selector = rng.below(metadata.selectors()) as u64;
    let mut code = || *rng.pick(codes).expect("a code");
    let words = std::array::from_fn(|_| (0..8).fold(0, |word, _| word << 4 | code()));
    vec![words, [selector; LANES]]
}
