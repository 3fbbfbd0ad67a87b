//! Products for a whole warp against the model, at every level of vector instructions: each kind
//! and shape of the IR's table, on numbers that are chosen to align, to cancel, to overflow and to
//! be special.

use crate::levels;
use crate::numbers::{EXPONENTS, Exponents, metadata, number, widths};
use ir::matrix::{Instruction, KINDS, element};
use ir::mods::MatrixTypes;
use ir::testing::Rng;
use products::{Level, Multiply};
use simt::arith::Rounding;
use simt::matrix::{BitOp, Element, Fragment, IndexOrder, LANES, MatrixSums, Product, Spread};

/// The registers of a warp.
type Registers = Vec<[u64; LANES]>;

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

/// The product of a warp at a level; `None` if it is left to the model.
fn multiply(
    multiply: &Multiply,
    level: Level,
    rule: MatrixSums,
    operands: &Registers,
) -> Option<Registers> {
    let count = multiply.product().d().registers();
    if multiply.is_wide() {
        let mut results = [[0; LANES]; 8];
        multiply.wide(level, &operands.iter().collect::<Vec<_>>(), &mut results);
        return Some(results[..count].to_vec());
    }
    let narrow: Vec<[u32; LANES]> = operands.iter().map(|row| row.map(|v| v as u32)).collect();
    let mut results = [[0; LANES]; 8];
    multiply.narrow(level, rule, &narrow.iter().collect::<Vec<_>>(), &mut results)?;
    Some(results[..count].iter().map(|row| row.map(u64::from)).collect())
}

/// Compares `rounds` products of each choice of exponents with the model's; those of moderate
/// numbers may not be left to it.
fn compare(rng: &mut Rng, rule: MatrixSums, product: Product, fast: &Multiply, rounds: usize) {
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
                let wanted = product.multiply(rule, &operands);
                let case = format!("{rule} {product:?} {left:?} {right:?} {addend:?}");
                for level in levels() {
                    assert_eq!(fast.multiply(level, rule, &operands), wanted, "{case} {level}");
                    match multiply(fast, level, rule, &operands) {
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
        let fast = Multiply::new(product);
        let quads = product.elements[1] == Element::F16 && product.shape.k == 4;
        assert_eq!(fast.is_direct(), !quads, "{product:?}");
        if !quads {
            compare(&mut rng, MatrixSums::Device, product, &fast, 2);
        }
    }
}

/// Chains of multiply-adds; products of integers and of doubles do not depend on the rule.
#[test]
fn chains_are_those_of_the_model() {
    let mut rng = Rng::new(3);
    for product in products() {
        let fast = Multiply::new(product);
        if fast.is_direct() {
            compare(&mut rng, MatrixSums::F32, product, &fast, 1);
        }
    }
}

#[test]
fn exact_sums_are_those_of_the_model() {
    let mut rng = Rng::new(4);
    for product in products() {
        let fast = Multiply::new(product);
        for exponents in EXPONENTS {
            let mut operands = registers(&mut rng, &product.a(), exponents);
            operands.extend(registers(&mut rng, &product.b(), exponents));
            operands.extend(registers(&mut rng, &product.c(), exponents));
            operands.extend(product.metadata().iter().flat_map(|m| metadata(&mut rng, m)));
            let wanted = product.multiply(MatrixSums::Exact, &operands);
            for level in levels() {
                let got = fast.multiply(level, MatrixSums::Exact, &operands);
                assert_eq!(got, wanted, "{product:?} {exponents:?} {level}");
            }
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
        let (fast, rule) = (Multiply::new(product), MatrixSums::Device);
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
            let wanted = product.multiply(rule, &operands);
            let infinite = wanted.iter().flatten().any(|&v| v & 0x7f80_0000 == 0x7f80_0000);
            for level in levels() {
                match multiply(&fast, level, rule, &operands) {
                    Some(got) => assert_eq!(got, wanted, "{product:?} {level} {low} {high}"),
                    None => assert!(infinite || low + high > 370, "{product:?} {low} {high}"),
                }
            }
        }
    }
}
