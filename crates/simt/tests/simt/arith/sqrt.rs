//! Square roots, which the oracle lacks, proven by exact integer squaring.

use simt::arith::{BF16, F16, F32, F64, Flags, Format, FpEnv, Rounding, float, soft};

use crate::arith::sample::{Random, special};

/// A positive finite number as `integer * 2^exponent`.
fn exact<F: Format>(bits: u64) -> (u128, i32) {
    let magnitude = bits & F::MAGNITUDE;
    let biased = (magnitude >> F::FRACTION_BITS) as i32;
    let fraction = u128::from(magnitude & ((1 << F::FRACTION_BITS) - 1));
    let lowest = F::MIN_EXPONENT - F::FRACTION_BITS as i32;
    if biased == 0 {
        (fraction, lowest)
    } else {
        (fraction | 1 << F::FRACTION_BITS, lowest + biased - 1)
    }
}

/// Compares `(root + quarters/4 units)^2` with `x`, exactly. Neighbouring numbers lie a unit apart
/// except below a power of two, where half a unit is the neighbour.
fn compare_square<F: Format>(root: u64, quarters: i128, x: u64) -> std::cmp::Ordering {
    let ((mr, er), (mx, ex)) = (exact::<F>(root), exact::<F>(x));
    let scaled = ((4 * mr) as i128 + quarters) as u128;
    let (square, shift) = (scaled * scaled, 2 * (er - 2) - ex);
    // Both sides as integers at the smaller exponent; x has at most 53 digits, the square at most
    // 112.
    if shift >= 0 {
        assert!(square.leading_zeros() as i32 >= shift, "square fits");
        (square << shift).cmp(&mx)
    } else if mx.leading_zeros() as i32 >= -shift {
        square.cmp(&(mx << -shift))
    } else {
        std::cmp::Ordering::Less
    }
}

fn check<F: Format>(x: u64) {
    use std::cmp::Ordering::{Equal, Greater, Less};
    for rounding in Rounding::ALL {
        let (root, flags) = soft::sqrt::<F>(x, FpEnv::RISCV.with_rounding(rounding));
        let context = format!("{} {x:x} {rounding:?} {root:x}", F::NAME);
        // Below a power of two the next number down is half a unit away.
        let half_down = root & ((1 << F::FRACTION_BITS) - 1) == 0;
        let (down, tie_down) = if half_down { (-2, -1) } else { (-4, -2) };
        let here = compare_square::<F>(root, 0, x);
        assert_eq!(flags, Flags::NX.when(here != Equal), "{context}");
        if here == Equal {
            continue;
        }
        match rounding {
            Rounding::TowardZero | Rounding::TowardNegative => {
                assert_eq!(here, Less, "{context}");
                assert_eq!(compare_square::<F>(root, 4, x), Greater, "{context}");
            }
            Rounding::TowardPositive => {
                assert_eq!(here, Greater, "{context}");
                assert_eq!(compare_square::<F>(root, down, x), Less, "{context}");
            }
            // A root is never a tie: the midpoint has one digit more than fits, its square too
            // many.
            Rounding::NearestEven | Rounding::NearestAway => {
                assert_eq!(compare_square::<F>(root, 2, x), Greater, "{context}");
                assert_eq!(compare_square::<F>(root, tie_down, x), Less, "{context}");
            }
        }
    }
    let env = FpEnv::RISCV;
    assert_eq!(float::sqrt::<F>(x, env), soft::sqrt::<F>(x, env).0, "fast {} {x:x}", F::NAME);
}

fn positive<F: Format>(bits: u64) -> Option<u64> {
    let x = bits & F::MAGNITUDE;
    (x != 0 && x <= F::MAX_FINITE).then_some(x)
}

#[test]
fn every_f16_and_bf16() {
    (0..1 << 15).filter_map(positive::<F16>).for_each(check::<F16>);
    (0..1 << 15).filter_map(positive::<BF16>).for_each(check::<BF16>);
}

#[test]
fn sampled_f32_and_f64() {
    let mut random = Random::new(21);
    special::<F32>().into_iter().filter_map(positive::<F32>).for_each(check::<F32>);
    special::<F64>().into_iter().filter_map(positive::<F64>).for_each(check::<F64>);
    for _ in 0..40_000 {
        positive::<F32>(random.float::<F32>()).into_iter().for_each(check::<F32>);
        positive::<F64>(random.float::<F64>()).into_iter().for_each(check::<F64>);
        // Squares and their neighbours.
        let root = 1 << 23 | random.next() >> 41;
        let square = soft::from_int::<u64, F64>(root * root, FpEnv::PTX).0;
        for x in [square - 1, square, square + 1] {
            check::<F64>(x);
        }
    }
}

#[test]
fn specials() {
    let sqrt = |x| soft::sqrt::<F32>(x, FpEnv::PTX);
    assert_eq!(sqrt(F32::SIGN), (F32::SIGN, Flags::NONE));
    assert_eq!(sqrt(F32::INFINITY), (F32::INFINITY, Flags::NONE));
    assert_eq!(sqrt(F32::SIGN | F32::ONE), (F32::PTX_NAN, Flags::NV));
    assert_eq!(sqrt(F32::SIGN | F32::INFINITY), (F32::PTX_NAN, Flags::NV));
    assert_eq!(sqrt(F32::INFINITY | 1), (F32::PTX_NAN, Flags::NV));
    assert_eq!(sqrt(0xffff_ffff), (F32::PTX_NAN, Flags::NONE));
    assert_eq!(soft::sqrt::<F32>(F32::SIGN | 1, FpEnv::PTX.with_ftz(true)).0, F32::SIGN);
}
