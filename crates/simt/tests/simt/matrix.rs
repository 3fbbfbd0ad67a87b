//! Fragments of matrices, and products against arithmetic that is exact.
//!
//! Every shape in every type, bit for bit against a computation in Python, is a file test.

use proptest::prelude::*;
use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, Round};
use simt::arith::Rounding;
use simt::matrix::{BitOp, Element, LANES, MatrixSums, Product, Shape, Spread};
use std::collections::BTreeMap;

fn product(word: &str, elements: [Element; 4], spread: Spread) -> Product {
    Product {
        shape: Shape::parse(word).unwrap(),
        elements,
        spread,
        columns: [false; 2],
        bits: BitOp::Xor,
        saturate: false,
        rounding: Rounding::NearestEven,
        sparse: None,
    }
}

fn products() -> Vec<Product> {
    use Element::*;
    let of = |words: &[&str], elements: [Element; 4], spread| {
        words.iter().map(|w| product(w, elements, spread)).collect::<Vec<_>>()
    };
    let flat = ["m16n16k16", "m8n32k16", "m32n8k16"];
    [
        of(&["m8n8k4", "m16n8k8", "m16n8k16"], [F32, F16, F16, F32], Spread::Mma),
        of(&["m8n8k4", "m16n8k8", "m16n8k16"], [F16; 4], Spread::Mma),
        of(&["m16n8k8", "m16n8k16"], [F32, Bf16, Bf16, F32], Spread::Mma),
        of(&["m16n8k4", "m16n8k8"], [F32, Tf32, Tf32, F32], Spread::Mma),
        of(&["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"], [F64; 4], Spread::Mma),
        of(&["m16n8k16", "m16n8k32"], [F32, E4m3, E5m2, F32], Spread::Mma),
        of(&["m8n8k16", "m16n8k16", "m16n8k32"], [S32, S8, U8, S32], Spread::Mma),
        of(&["m8n8k32", "m16n8k32", "m16n8k64"], [S32, U4, S4, S32], Spread::Mma),
        of(&["m8n8k128", "m16n8k128", "m16n8k256"], [S32, B1, B1, S32], Spread::Mma),
        of(&flat, [F32, F16, F16, F32], Spread::Wmma),
        of(&flat, [F16; 4], Spread::Wmma),
        of(&flat, [F32, Bf16, Bf16, F32], Spread::Wmma),
        of(&flat, [S32, S8, S8, S32], Spread::Wmma),
        of(&["m16n16k8"], [F32, Tf32, Tf32, F32], Spread::Wmma),
        of(&["m8n8k4"], [F64; 4], Spread::Wmma),
        of(&["m8n8k32"], [S32, S4, S4, S32], Spread::Wmma),
        of(&["m8n8k128"], [S32, B1, B1, S32], Spread::Wmma),
    ]
    .concat()
}

/// Every element is in one place, or in equally many if registers repeat; and in none twice.
#[test]
fn fragments_hold_every_element() {
    for product in products() {
        for fragment in [product.a(), product.b(), product.c(), product.d()] {
            let mut places = BTreeMap::new();
            for lane in 0..LANES {
                for register in 0..fragment.registers() {
                    for part in 0..fragment.parts() {
                        *places.entry(fragment.place(lane, register, part)).or_insert(0) += 1;
                    }
                }
            }
            let elements = fragment.matrices() * fragment.rows() * fragment.columns();
            assert_eq!(places.len(), elements, "{fragment:?}");
            let copies = fragment.registers() / fragment.distinct();
            assert!(places.values().all(|&n| n == copies), "{fragment:?}");
            let (matrices, rows, columns) =
                (fragment.matrices(), fragment.rows(), fragment.columns());
            let inside = places.keys().all(|p| p.0 < matrices && p.1 < rows && p.2 < columns);
            assert!(inside, "{fragment:?}");
        }
    }
}

/// Registers that hold these elements, given by row and column.
fn spread(f: simt::matrix::Fragment, of: impl Fn(usize, usize) -> u64) -> Vec<[u64; LANES]> {
    let bits = f.element.bits();
    let lanes = |register| {
        std::array::from_fn(|lane| {
            (0..f.parts()).fold(0, |value, part| {
                let (_, row, column) = f.place(lane, register, part);
                value | of(row, column) << (part * bits)
            })
        })
    };
    (0..f.registers()).map(lanes).collect()
}

fn encode(value: i32, element: Element) -> u64 {
    let text = value.to_string();
    let bits = match element {
        Element::F16 => Half::from_i128(value.into()).value.to_bits(),
        Element::F32 | Element::Tf32 => Single::from_i128(value.into()).value.to_bits(),
        Element::Bf16 => Single::from_i128(value.into()).value.to_bits() >> 16,
        Element::F64 => text.parse::<Double>().unwrap().to_bits(),
        // Numbers from -4 to 4.
        Element::E4m3 => [0, 0x38, 0x40, 0x44, 0x48][value.unsigned_abs() as usize] | sign8(value),
        Element::E5m2 => [0, 0x3c, 0x40, 0x42, 0x44][value.unsigned_abs() as usize] | sign8(value),
        _ => u128::from(value as u32) & (u128::MAX >> (128 - element.bits())),
    };
    bits as u64
}

fn sign8(value: i32) -> u128 {
    if value < 0 { 0x80 } else { 0 }
}

/// Small numbers, whose sums are exact in every type: the product is that of integers, in every
/// shape.
#[test]
fn small_numbers_are_multiplied_exactly() {
    for product in products() {
        let Shape { k, .. } = product.shape;
        let [d, a, b, c] = product.elements;
        let unsigned = |e| matches!(e, Element::U8 | Element::U4 | Element::B1);
        let limit = |e: Element, v: usize| match e {
            Element::B1 => (v % 2) as i32,
            _ if unsigned(e) => (v % 5) as i32,
            _ => (v % 9) as i32 - 4,
        };
        let left = |row: usize, at: usize| limit(a, row * 7 + at * 3 + row * at);
        let right = |at: usize, column: usize| limit(b, column * 5 + at * 11 + 3 * column * at);
        let sums = |row: usize, column: usize| (row + 2 * column) as i32;
        let mut operands = spread(product.a(), |i, l| encode(left(i, l), a));
        operands.extend(spread(product.b(), |l, j| encode(right(l, j), b)));
        operands.extend(spread(product.c(), |i, j| encode(sums(i, j), c)));
        let combine = |x: i32, y: i32| if a == Element::B1 { x ^ y } else { x * y };
        let wanted = spread(product.d(), |i, j| {
            let total = (0..k).map(|l| combine(left(i, l), right(l, j))).sum::<i32>() + sums(i, j);
            encode(total, d)
        });
        assert_eq!(product.multiply(MatrixSums::Device, &operands), wanted, "{product:?}");
    }
}

/// Sums of integers at the ends of their range wrap, or saturate.
#[test]
fn sums_of_integers_wrap_or_saturate() {
    use Element::*;
    for (x, y, addend, wrapped, saturated) in [
        (0x7f, 0x7f, i32::MAX, i32::MAX.wrapping_add(32 * 127 * 127), i32::MAX),
        (0x80, 0x7f, i32::MIN, i32::MIN.wrapping_sub(32 * 128 * 127), i32::MIN),
        (0x80, 0x80, -5, 32 * 128 * 128 - 5, 32 * 128 * 128 - 5),
        (0xff, 0x01, i32::MIN + 32, i32::MIN, i32::MIN),
        (0xff, 0x01, i32::MIN + 31, i32::MAX, i32::MIN),
    ] {
        for saturate in [false, true] {
            let p = Product { saturate, ..product("m16n8k32", [S32, S8, S8, S32], Spread::Mma) };
            let mut operands = spread(p.a(), |_, _| x);
            operands.extend(spread(p.b(), |_, _| y));
            operands.extend(spread(p.c(), |_, _| u64::from(addend as u32)));
            let wanted = if saturate { saturated } else { wrapped } as u32;
            let results = p.multiply(MatrixSums::Device, &operands);
            assert!(results.iter().flatten().all(|&r| r == u64::from(wanted)), "{x} {y} {addend}");
        }
    }
}

/// One product of finite numbers and nothing else: exact, then cut or rounded as the reference does
/// it.
fn one_product(x: u16, y: u16, sum: Element) -> u64 {
    let p = product("m16n8k16", [sum, Element::F16, Element::F16, sum], Spread::Mma);
    let mut operands = spread(p.a(), |i, l| if (i, l) == (3, 9) { x.into() } else { 0 });
    operands.extend(spread(p.b(), |l, j| if (l, j) == (9, 2) { y.into() } else { 0 }));
    operands.extend(spread(p.c(), |_, _| 0));
    let results = p.multiply(MatrixSums::Device, &operands);
    let (lane, register) = (13, 0);
    results[register][lane] & if sum == Element::F16 { 0xffff } else { u64::MAX }
}

proptest! {
    #[test]
    fn a_single_product_is_that_of_the_reference(x: u16, y: u16) {
        let (a, b) = (Half::from_bits(x.into()), Half::from_bits(y.into()));
        prop_assume!(a.is_finite() && b.is_finite());
        let wide = |h: Half| Single::from_bits(float_bits(h));
        // Eleven bits times eleven bits fit single precision.
        let exact = wide(a).mul_r(wide(b), Round::NearestTiesToEven).value;
        let exact = if exact.is_zero() { Single::ZERO } else { exact };
        prop_assert_eq!(u128::from(one_product(x, y, Element::F32)), exact.to_bits());
        let half = wide(a).mul_r(wide(b), Round::NearestTiesToEven).value;
        let mut lossy = false;
        let nearest = Round::NearestTiesToEven;
        let half: Half = rustc_apfloat::FloatConvert::convert_r(half, nearest, &mut lossy).value;
        let half = if half.is_zero() { Half::ZERO } else { half };
        prop_assert_eq!(u128::from(one_product(x, y, Element::F16)), half.to_bits());
    }
}

fn float_bits(h: Half) -> u128 {
    let mut lossy = false;
    let wide: Single =
        rustc_apfloat::FloatConvert::convert_r(h, Round::NearestTiesToEven, &mut lossy).value;
    wide.to_bits()
}
