//! Products for a whole warp against the model, at every level of vector instructions: each kind
//! and shape of the IR's table, on numbers that are chosen to align, to cancel, to overflow and to
//! be special.

use fast::Level;
use fast::matrix::Multiply;
use ir::matrix::{Instruction, KINDS, element};
use ir::mods::MatrixTypes;
use ir::testing::Rng;
use simt::arith::Rounding;
use simt::matrix::{BitOp, Element, Fragment, IndexOrder, LANES, Metadata, Product, Spread};

/// The registers of a warp.
type Registers = Vec<[u64; LANES]>;

const LEVELS: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

/// All products, with both operations on bits, saturating and not.
fn products() -> Vec<Product> {
    let mut out = Vec::new();
    for kind in KINDS {
        let sparse = kind.instruction == Instruction::MmaSp;
        let wmma = kind.instruction == Instruction::Wmma;
        for &shape in kind.shapes {
            for types in MatrixTypes::ALL.iter().map(|types| types.types()) {
                if !kind.has(shape, types) {
                    continue;
                }
                let product = Product {
                    shape: shape.sizes(),
                    elements: types.map(|ty| element(ty).expect("an element")),
                    spread: if wmma { Spread::Wmma } else { Spread::Mma },
                    columns: [false; 2],
                    bits: BitOp::Xor,
                    saturate: false,
                    rounding: Rounding::NearestEven,
                    sparse: sparse.then_some(IndexOrder::Any),
                };
                out.push(product);
                if product.elements[1] == Element::B1 {
                    out.push(Product { bits: BitOp::And, ..product });
                } else if product.elements[1].is_integer() {
                    out.push(Product { saturate: true, ..product });
                }
            }
        }
    }
    out
}

/// How the exponents of numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exponents {
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

const EXPONENTS: [Exponents; 8] = {
    use Exponents::*;
    [One, Narrow, Spread, All, Low, High, Special, Zeros]
};

/// The bits of the exponent and of the fraction of a format.
fn widths(element: Element) -> Option<(u32, u32)> {
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

fn number(rng: &mut Rng, element: Element, exponents: Exponents) -> u64 {
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

/// Registers of a fragment with such numbers.
fn registers(rng: &mut Rng, fragment: &Fragment, exponents: Exponents) -> Registers {
    let (element, bits) = (fragment.element, fragment.element.bits());
    let mask = u64::MAX >> (64 - bits);
    let mut word = || {
        let parts = element.register_bits() / bits;
        (0..parts)
            .fold(0, |word, part| word | (number(rng, element, exponents) & mask) << (part * bits))
    };
    (0..fragment.registers()).map(|_| std::array::from_fn(|_| word())).collect()
}

/// Metadata of a sparse left factor, and a selector.
fn metadata(rng: &mut Rng, metadata: &Metadata) -> Registers {
    const ANY: &[u64] = &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe, 0x1, 0x2, 0x3, 0x6, 0x7, 0xb];
    let codes = if metadata.element == Element::Tf32 { &[0x4, 0xe] } else { ANY };
    let selector = rng.below(metadata.selectors()) as u64;
    let mut code = || *rng.pick(codes).expect("a code");
    let words = std::array::from_fn(|_| (0..8).fold(0, |word, _| word << 4 | code()));
    vec![words, [selector; LANES]]
}

/// The product of a warp at a level; `None` if it is left to the model.
fn multiply(multiply: &Multiply, level: Level, operands: &Registers) -> Option<Registers> {
    let count = multiply.product().d().registers();
    if multiply.is_wide() {
        let mut results = [[0; LANES]; 8];
        multiply.wide(level, &operands.iter().collect::<Vec<_>>(), &mut results);
        return Some(results[..count].to_vec());
    }
    let narrow: Vec<[u32; LANES]> = operands.iter().map(|row| row.map(|v| v as u32)).collect();
    let mut results = [[0; LANES]; 8];
    multiply.narrow(level, &narrow.iter().collect::<Vec<_>>(), &mut results)?;
    Some(results[..count].iter().map(|row| row.map(u64::from)).collect())
}

/// Compares `rounds` products of each choice of exponents with the model's; those of moderate
/// numbers may not be left to it.
fn compare(rng: &mut Rng, product: Product, fast: &Multiply, rounds: usize) {
    let moderate =
        |exponents| matches!(exponents, Exponents::One | Exponents::Narrow | Exponents::Zeros);
    for left in EXPONENTS {
        for addend in EXPONENTS {
            for _ in 0..rounds {
                let right = *rng.pick(&EXPONENTS).expect("a choice");
                let right = if rng.one_in(2) { left } else { right };
                let mut operands = registers(rng, &product.a(), left);
                operands.extend(registers(rng, &product.b(), right));
                operands.extend(registers(rng, &product.c(), addend));
                operands.extend(product.metadata().iter().flat_map(|m| metadata(rng, m)));
                let wanted = product.multiply(&operands);
                let case = format!("{product:?} {left:?} {right:?} {addend:?}");
                for level in LEVELS.into_iter().filter(|level| level.is_available()) {
                    match multiply(fast, level, &operands) {
                        Some(got) => assert_eq!(got, wanted, "{case} {level}"),
                        None => assert!(![left, right, addend].into_iter().all(moderate), "{case}"),
                    }
                }
            }
        }
    }
}

#[test]
fn products_are_those_of_the_model() {
    let mut rng = Rng::new(1);
    for product in products() {
        let quads = product.elements[1] == Element::F16 && product.shape.k == 4;
        match Multiply::new(product) {
            Some(fast) => compare(&mut rng, product, &fast, 2),
            None => assert!(quads, "{product:?}"),
        }
    }
}

/// Products of the greatest and least numbers of formats with the exponents of single precision,
/// in all positions of a block.
#[test]
fn exponents_at_both_ends_are_those_of_the_model() {
    use Element::{Bf16, F32, Tf32};
    let mut rng = Rng::new(2);
    let of = |e| move |product: &Product| product.elements[1..] == [e, e, F32];
    let wide = products().into_iter().filter(|p| of(Bf16)(p) || of(Tf32)(p));
    for product in wide {
        let fast = Multiply::new(product).expect("it has tiles");
        for _ in 0..200 {
            // A few exponents whose sum is anywhere between the ends.
            let (low, high) = (rng.below(250) as u64, rng.below(250) as u64);
            let mut near = |fragment: &Fragment, exponent: u64| {
                let mut rows = registers(&mut rng, fragment, Exponents::One);
                let (width, fraction) = widths(fragment.element).expect("a float");
                let keep = !(((1 << width) - 1) << fraction);
                let bits = fragment.element.bits();
                for value in rows.iter_mut().flatten() {
                    let mut out = 0;
                    for part in 0..fragment.parts() {
                        let encoding = *value >> (part * bits) & (u64::MAX >> (64 - bits)) & keep;
                        let field = exponent + rng.below(5) as u64;
                        out |= (encoding | field << fraction) << (part * bits);
                    }
                    *value = out;
                }
                rows
            };
            let sum = (low + high).saturating_sub(127).min(249);
            let mut operands = near(&product.a(), low);
            operands.extend(near(&product.b(), high));
            operands.extend(near(&product.c(), sum));
            operands.extend(product.metadata().iter().flat_map(|m| metadata(&mut rng, m)));
            let wanted = product.multiply(&operands);
            let infinite = wanted.iter().flatten().any(|&v| v & 0x7f80_0000 == 0x7f80_0000);
            for level in LEVELS.into_iter().filter(|level| level.is_available()) {
                match multiply(&fast, level, &operands) {
                    Some(got) => assert_eq!(got, wanted, "{product:?} {level} {low} {high}"),
                    None => assert!(infinite || low + high > 370, "{product:?} {low} {high}"),
                }
            }
        }
    }
}
