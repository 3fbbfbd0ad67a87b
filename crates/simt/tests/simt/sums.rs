//! Exact sums of products against sums of big integers, and chains of multiply-adds against loops
//! of the host's.
//!
//! A result is right if it is finite and no neighbour is nearer to the exact sum, or infinite where
//! the sum is beyond the greatest number by half of its last place or more.

use num_bigint::BigInt;
use simt::matrix::{BitOp, Element, LANES, MatrixSums, Product, Shape, Spread};

/// A generator of words of 32 bits.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.0 >> 32
    }
}

/// The least power of two of which all numbers and products are multiples, negated.
const UNIT: i32 = 320;

/// A number of a format; NaN and infinities as such.
fn value(bits: u64, element: Element) -> f64 {
    let (exponent, fraction) = match element {
        Element::F16 => (5, 10),
        Element::Bf16 => (8, 7),
        Element::Tf32 => return f32::from_bits(bits as u32 & !0x1fff).into(),
        Element::E4m3 => (4, 3),
        Element::E5m2 => (5, 2),
        _ => return f32::from_bits(bits as u32).into(),
    };
    let (top, bias) = ((1u64 << exponent) - 1, (1 << (exponent - 1)) - 1);
    let (field, rest) = (bits >> fraction & top, (bits & ((1 << fraction) - 1)) as f64);
    let scale = 2f64.powi(-fraction);
    let magnitude = match (field, element) {
        (15, Element::E4m3) if rest == 7.0 => f64::NAN,
        (_, Element::E4m3) | (0, _) => match field {
            0 => rest * scale * 2f64.powi(1 - bias),
            _ => (1.0 + rest * scale) * 2f64.powi(field as i32 - bias),
        },
        _ if field == top && rest == 0.0 => f64::INFINITY,
        _ if field == top => f64::NAN,
        _ => (1.0 + rest * scale) * 2f64.powi(field as i32 - bias),
    };
    if bits >> (exponent + fraction) & 1 != 0 { -magnitude } else { magnitude }
}

/// A finite number in units.
fn units(value: f64) -> BigInt {
    let bits = value.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let magnitude = bits & ((1 << 52) - 1) | u64::from(field != 0) << 52;
    // All bits below the unit are zero.
    let up = field.max(1) - 1075 + UNIT;
    let magnitude = BigInt::from(magnitude);
    let scaled = if up >= 0 { magnitude << up } else { magnitude >> -up };
    if bits >> 63 != 0 { -scaled } else { scaled }
}

/// Whether `result` is the number of a format nearest to an exact sum, of two the even one.
fn is_nearest(sum: &BigInt, result: u64, element: Element) -> bool {
    let (sign, infinite) = match element {
        Element::F16 => (1u64 << 15, 0x7c00),
        _ => (1 << 31, 0x7f80_0000),
    };
    let magnitude = result & !sign;
    let negative = *sum < BigInt::ZERO;
    if magnitude > infinite || magnitude != 0 && negative != (result & sign != 0) {
        return false;
    }
    // What is beyond the greatest number by its last place stands for infinity.
    let of = |magnitude: u64| match magnitude {
        m if m == infinite => {
            let [last, before] = [m - 1, m - 2].map(|m| units(value(m, element)));
            &last + (&last - &before)
        }
        m => units(value(m, element)),
    };
    let sum = if negative { -sum } else { sum.clone() };
    let far = |magnitude: u64| {
        let difference = &sum - of(magnitude);
        if difference < BigInt::ZERO { -difference } else { difference }
    };
    let own = far(magnitude);
    let even = magnitude & 1 == 0;
    let no_better = |other: u64| own < far(other) || own == far(other) && even;
    let below = magnitude == 0 || no_better(magnitude - 1);
    let above = match magnitude {
        m if m == infinite => true,
        m => no_better(m + 1),
    };
    let beyond = magnitude == infinite && sum >= of(infinite);
    beyond || below && above
}

const PRODUCTS: [(&str, [Element; 4]); 8] = {
    use Element::{Bf16, E4m3, E5m2, F16, F32, Tf32};
    [
        ("m16n8k16", [F32, F16, F16, F32]),
        ("m16n8k16", [F16, F16, F16, F16]),
        ("m16n8k16", [F32, Bf16, Bf16, F32]),
        ("m16n8k8", [F32, Tf32, Tf32, F32]),
        ("m16n8k32", [F32, E4m3, E5m2, F32]),
        ("m16n8k32", [F16, E5m2, E4m3, F16]),
        ("m16n8k32", [F32, E5m2, E5m2, F32]),
        ("m8n8k4", [F32, F16, F16, F16]),
    ]
};

/// One product: row 3 of A, column 5 of B, and their addend, with whatever else there is.
struct Case {
    left: Vec<f64>,
    right: Vec<f64>,
    addend: f64,
    result: u64,
    sum: Element,
}

fn cases(rule: MatrixSums, seed: u64, mut each: impl FnMut(Case)) {
    let mut random = Words(seed);
    for (shape, elements) in PRODUCTS {
        let product = Product {
            shape: Shape::parse(shape).expect("a shape"),
            elements,
            spread: Spread::Mma,
            columns: [false; 2],
            bits: BitOp::Xor,
            saturate: false,
            rounding: simt::arith::Rounding::NearestEven,
            sparse: None,
        };
        for round in 0..60 {
            // Any encodings, or exponents near each other.
            let near = |element: Element, word: u64| match (round % 3, element) {
                (0, _) => word,
                (_, Element::F16) => word & 0x87ff_87ff | 0x3800_3800,
                (_, Element::Bf16) => word & 0x81ff_81ff | 0x3e00_3e00,
                (_, Element::F32 | Element::Tf32) => word & 0x81ff_ffff | 0x3e00_0000,
                (_, Element::E4m3) => word & 0x8f8f_8f8f | 0x3030_3030,
                _ => word & 0x8787_8787 | 0x3838_3838,
            };
            let mut operands: Vec<[u64; LANES]> = Vec::new();
            for fragment in [product.a(), product.b(), product.c()] {
                for _ in 0..fragment.registers() {
                    let mut word = || near(fragment.element, random.next());
                    operands.push(std::array::from_fn(|_| word()));
                }
            }
            let results = product.multiply(rule, &operands);
            let fragments = [product.a(), product.b(), product.c(), product.d()];
            let element = |of: usize, registers: &[[u64; LANES]], at: (usize, usize)| {
                let fragment = fragments[of];
                let bits = fragment.element.bits();
                for (register, lanes) in registers.iter().enumerate() {
                    for (lane, word) in lanes.iter().enumerate() {
                        for part in 0..fragment.parts() {
                            if fragment.place(lane, register, part) == (0, at.0, at.1) {
                                return word >> (part * bits) & (u64::MAX >> (64 - bits));
                            }
                        }
                    }
                }
                unreachable!("it has the element")
            };
            let counts = [0, 1, 2].map(|of: usize| fragments[of].registers());
            let (a, rest) = operands.split_at(counts[0]);
            let (b, c) = rest.split_at(counts[1]);
            let all = 0..product.shape.k;
            each(Case {
                left: all.clone().map(|k| value(element(0, a, (3, k)), elements[1])).collect(),
                right: all.map(|k| value(element(1, b, (k, 5)), elements[2])).collect(),
                addend: value(element(2, c, (3, 5)), elements[3]),
                result: element(3, &results, (3, 5)),
                sum: elements[0],
            });
        }
    }
}

#[test]
fn exact_sums_are_rounded_once() {
    let mut finite = 0;
    cases(MatrixSums::Exact, 1, |case| {
        let products = || case.left.iter().zip(&case.right).map(|(x, y)| x * y);
        let result = value(case.result, case.sum);
        let special = |v: f64| !v.is_finite();
        let (nan, inf) = match case.sum {
            Element::F16 => (0x7fff, 0x7c00),
            _ => (0x7fff_ffff, 0x7f80_0000),
        };
        if products().chain([case.addend]).any(special) {
            // Infinities and NaN add as those of IEEE 754 do.
            let sum: f64 = products().chain([case.addend]).filter(|v| special(*v)).sum();
            let wanted = if sum.is_nan() { nan } else { inf };
            assert_eq!(case.result & nan, wanted, "{result}");
            return;
        }
        let products = case.left.iter().zip(&case.right);
        // A double has all bits of a product of these factors.
        let sum: BigInt = products.map(|(x, y)| units(x * y)).sum::<BigInt>() + units(case.addend);
        assert!(is_nearest(&sum, case.result, case.sum), "{sum} {result}");
        finite += 1;
    });
    assert!(finite > 300, "{finite}");
}

#[test]
fn chains_are_those_of_the_host() {
    cases(MatrixSums::F32, 2, |case| {
        let pairs = case.left.iter().zip(&case.right);
        let step = |sum: f32, (&x, &y): (&f64, &f64)| (x as f32).mul_add(y as f32, sum);
        let sum = pairs.fold(case.addend as f32, step);
        if sum.is_nan() {
            assert!(value(case.result, case.sum).is_nan(), "{:#x}", case.result);
        } else if case.sum == Element::F16 && sum.is_finite() {
            assert!(is_nearest(&units(sum.into()), case.result, case.sum), "{sum}");
        } else {
            assert_eq!(value(case.result, case.sum) as f32, sum);
        }
        let sign = if case.sum == Element::F16 { 1 << 15 } else { 1 << 31 };
        assert_ne!(case.result, sign, "a zero has no sign");
    });
}

/// 1, half of its last place, and a product that is smaller by far more than a word: not a tie.
#[test]
fn the_smallest_product_decides_a_tie() {
    let product = Product {
        shape: Shape { m: 16, n: 8, k: 16 },
        elements: [Element::F32, Element::Bf16, Element::Bf16, Element::F32],
        spread: Spread::Mma,
        columns: [false; 2],
        bits: BitOp::Xor,
        saturate: false,
        rounding: simt::arith::Rounding::NearestEven,
        sparse: None,
    };
    let power = |exponent: u64| (127 - exponent) << 7;
    for (small, wanted) in [(power(60), 0x3f80_0001), (0, 0x3f80_0000)] {
        // 2^-12 times itself, and the small number times itself; the other registers are zero.
        let first = std::array::from_fn(|lane| match lane % 4 {
            0 => power(12) | small << 16,
            _ => 0,
        });
        let (zero, one) = ([0; LANES], [0x3f80_0000; LANES]);
        let operands = [first, first, zero, zero, first, zero, one, one, one, one];
        let results = product.multiply(MatrixSums::Exact, &operands);
        assert_eq!(results, [[wanted; LANES]; 4]);
    }
}
