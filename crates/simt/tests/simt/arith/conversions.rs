//! Conversions between formats and with integers, rounding to integral values, comparisons, minimum
//! and maximum.

use std::cmp::Ordering;

use rustc_apfloat::{Float, FloatConvert};
use simt::arith::int::Int;
use simt::arith::soft::{self, IntConversion, MinMax};
use simt::arith::{
    BF16, Cmp, E4M3, E5M2, F16, F32, F64, Flags, Format, FpEnv, NanRule, Relation, Rounding, TF32,
    float,
};

use crate::arith::float_ops::{Judged, expected_nan, flags_of, mirrored, oracle, round_of};
use crate::arith::sample::{Random, special};

/// Every encoding of a format of up to 16 bits; special and random ones of a wider format.
fn encodings<F: Format>(random: &mut Random, count: u64) -> Vec<u64> {
    if F::BITS <= 16 {
        return (0..1 << F::BITS).collect();
    }
    let mut all = special::<F>();
    all.extend((0..count).map(|_| random.float::<F>()));
    all
}

fn convert_pair<S: Judged, D: Judged>(random: &mut Random)
where
    S::Oracle: FloatConvert<D::Oracle>,
{
    for a in encodings::<S>(random, 20_000) {
        for rounding in Rounding::ALL {
            let env = FpEnv::RISCV.with_rounding(rounding);
            let context = || format!("{}->{} {a:x} {rounding:?}", S::NAME, D::NAME);
            let (value, flags) = soft::convert::<S, D>(a, env);
            let mut lossy = false;
            // Asked for the magnitude: of negative overflows without infinities the oracle forgets
            // the sign.
            let negative = S::is_negative(a);
            let round = round_of(if negative { mirrored(rounding) } else { rounding });
            let mut wanted = oracle::<S>(a & S::MAGNITUDE).convert_r(round, &mut lossy);
            if negative {
                wanted.value = -wanted.value;
            }
            if S::is_nan(a) {
                assert_eq!(value, D::RISCV_NAN, "{}", context());
                assert_eq!(flags, Flags::NV.when(S::is_signalling(a)), "{}", context());
                continue;
            }
            if wanted.value.is_nan() {
                assert!(D::is_nan(value), "{}", context());
            } else {
                assert_eq!(value, wanted.value.to_bits() as u64, "{}", context());
            }
            assert_eq!(float::convert::<S, D>(a, env), value, "fast {}", context());
            let magnitude = value & D::MAGNITUDE;
            if magnitude != D::MIN_NORMAL && magnitude < D::MAX_FINITE {
                assert_eq!(flags, flags_of(wanted.status), "{}", context());
            }
            // Saturation replaces what lies beyond the largest finite number by it, and nothing
            // else.
            let saturated = float::convert_satfinite::<S, D>(a, env);
            let clamped = if magnitude > D::MAX_FINITE {
                value & D::SIGN
                    | S::SIGN.min(a & S::SIGN) >> (S::BITS - 1) << (D::BITS - 1)
                    | D::MAX_FINITE
            } else {
                value
            };
            assert_eq!(saturated, clamped, "{}", context());
        }
    }
}

macro_rules! convert_tests {
    ($($name:ident: $s:ty => $($d:ty),*;)*) => {$(
        #[test]
        fn $name() {
            let mut random = Random::new(11);
            $(convert_pair::<$s, $d>(&mut random);)*
        }
    )*};
}

convert_tests! {
    convert_from_f16: F16 => F16, BF16, F32, F64, E4M3, E5M2;
    convert_from_bf16: BF16 => F16, F32, F64, E4M3, E5M2;
    convert_from_f32: F32 => F16, BF16, F32, F64, E4M3, E5M2;
    convert_from_f64: F64 => F16, BF16, F32, E4M3, E5M2;
    convert_from_e4m3: E4M3 => F16, BF16, F32, F64, E5M2;
    convert_from_e5m2: E5M2 => F16, BF16, F32, F64, E4M3;
}

/// TensorFloat-32 keeps binary32's exponent, so rounding is integer rounding of the magnitude at
/// bit 13.
#[test]
fn convert_to_tf32() {
    let mut random = Random::new(12);
    for a in encodings::<F32>(&mut random, 50_000) {
        let (a, magnitude) = (a & F32::MASK, a & F32::MAGNITUDE);
        for rounding in Rounding::ALL {
            let value = float::to_tf32(a, rounding);
            if F32::is_nan(a) {
                assert_eq!(value, TF32::PTX_NAN);
                continue;
            }
            let (down, rest) = (magnitude & !0x1fff, magnitude & 0x1fff);
            let up = match rounding {
                Rounding::NearestEven => rest > 0x1000 || rest == 0x1000 && down >> 13 & 1 != 0,
                Rounding::NearestAway => rest >= 0x1000,
                Rounding::TowardZero => false,
                Rounding::TowardNegative => a & F32::SIGN != 0 && rest != 0,
                Rounding::TowardPositive => a & F32::SIGN == 0 && rest != 0,
            };
            let wanted = a & F32::SIGN | (down + if up { 0x2000 } else { 0 });
            assert_eq!(value, wanted, "{a:x} {rounding:?}");
            assert_eq!(float::convert::<TF32, F32>(value, FpEnv::PTX), value);
        }
    }
}

/// Payloads move with their leading bits where the environment propagates NaNs; flushing concerns
/// binary32 alone.
#[test]
fn convert_nan_and_flush() {
    let keep = FpEnv::PTX.with_nan(NanRule::Propagate);
    assert_eq!(soft::convert::<F32, F64>(0xffa0_0001, keep), (0xfffc_0000_2000_0000, Flags::NV));
    assert_eq!(soft::convert::<F64, F32>(0x7ff8_0000_2000_0000, keep).0, 0x7fc0_0001);
    assert_eq!(soft::convert::<F32, F16>(0x7fc0_0000, FpEnv::PTX).0, 0x7fff);
    let flush = FpEnv::PTX.with_ftz(true);
    assert_eq!(float::convert::<F32, F64>(F32::SIGN | 1, flush), F64::SIGN);
    assert_eq!(float::convert::<F16, F32>(1, flush), float::f32_bits(2f32.powi(-24)));
    assert_eq!(float::convert::<F32, F16>(float::f32_bits(2f32.powi(-24)), flush), 1);
    assert_eq!(float::convert::<F64, F32>(1e-40f64.to_bits(), flush), 0);
}

fn to_int_pair<F: Judged, T: Int>(random: &mut Random) {
    let mut values = encodings::<F>(random, 4_000);
    // Around the limits of the type, in steps of the format.
    for limit in [T::MIN_BITS, T::MAX_BITS] {
        let near = soft::from_int::<T, F>(limit, FpEnv::PTX).0;
        values.extend((0..9).map(|i| near.wrapping_add(i).wrapping_sub(4) & F::MASK));
    }
    for a in values {
        for rounding in Rounding::ALL {
            let env = FpEnv::RISCV.with_rounding(rounding);
            let (value, flags) = soft::to_int::<F, T>(a, IntConversion::RiscV, env);
            let context =
                || format!("{}->{} bits signed={} {a:x} {rounding:?}", F::NAME, T::BITS, T::SIGNED);
            if F::is_nan(a) {
                assert_eq!((value, flags), (T::MAX_BITS, Flags::NV), "{}", context());
                continue;
            }
            let (width, round, mut exact) = (T::BITS as usize, round_of(rounding), false);
            let (wanted, status) = if T::SIGNED {
                let r = oracle::<F>(a).to_i128_r(width, round, &mut exact);
                (r.value as u64 & T::MASK, r.status)
            } else {
                let r = oracle::<F>(a).to_u128_r(width, round, &mut exact);
                (r.value as u64, r.status)
            };
            assert_eq!(value, wanted, "{}", context());
            assert_eq!(flags, flags_of(status), "{}", context());
            assert_eq!(float::to_int::<F, T>(a, IntConversion::Ptx, env), value, "{}", context());
            let indefinite = soft::to_int::<F, T>(a, IntConversion::Indefinite, env).0;
            let invalid = flags == Flags::NV;
            assert_eq!(
                indefinite,
                if invalid { 1 << (T::BITS - 1) } else { value },
                "{}",
                context()
            );
        }
    }
}

fn to_int_all<F: Judged>() {
    let mut random = Random::new(13);
    to_int_pair::<F, i8>(&mut random);
    to_int_pair::<F, u8>(&mut random);
    to_int_pair::<F, i16>(&mut random);
    to_int_pair::<F, u16>(&mut random);
    to_int_pair::<F, i32>(&mut random);
    to_int_pair::<F, u32>(&mut random);
    to_int_pair::<F, i64>(&mut random);
    to_int_pair::<F, u64>(&mut random);
}

#[test]
fn to_int_f16() {
    to_int_all::<F16>();
}

#[test]
fn to_int_bf16() {
    to_int_all::<BF16>();
}

#[test]
fn to_int_f32() {
    to_int_all::<F32>();
}

#[test]
fn to_int_f64() {
    to_int_all::<F64>();
}

#[test]
fn to_int_of_nan() {
    let ptx = |value: u64| (value, Flags::NV);
    assert_eq!(soft::to_int::<F32, i32>(F32::PTX_NAN, IntConversion::Ptx, FpEnv::PTX), ptx(0));
    assert_eq!(soft::to_int::<F16, u8>(F16::PTX_NAN, IntConversion::Ptx, FpEnv::PTX), ptx(0));
    assert_eq!(
        soft::to_int::<F64, i32>(F64::PTX_NAN, IntConversion::Ptx, FpEnv::PTX),
        ptx(1 << 31)
    );
    assert_eq!(
        soft::to_int::<F64, u32>(F64::PTX_NAN, IntConversion::Ptx, FpEnv::PTX),
        ptx(1 << 31)
    );
    assert_eq!(
        soft::to_int::<F32, i64>(F32::PTX_NAN, IntConversion::Ptx, FpEnv::PTX),
        ptx(1 << 63)
    );
    assert_eq!(soft::to_int::<F64, i64>(F64::PTX_NAN, IntConversion::NanZero, FpEnv::PTX), ptx(0));
}

fn from_int_pair<T: Int, F: Judged>(random: &mut Random) {
    let mut values =
        vec![0, 1, T::MIN_BITS, T::MIN_BITS + 1, T::MAX_BITS, T::MAX_BITS - 1, T::MASK];
    values.extend((0..6_000).map(|_| random.next() >> random.below(64)));
    for a in values {
        for rounding in Rounding::ALL {
            let env = FpEnv::RISCV.with_rounding(rounding);
            let (value, flags) = soft::from_int::<T, F>(a, env);
            let extended = T::extend(a);
            let round = round_of(rounding);
            let wanted = if T::SIGNED {
                F::Oracle::from_i128_r(i128::from(extended as i64), round)
            } else {
                F::Oracle::from_u128_r(u128::from(extended), round)
            };
            let context = || format!("{} bits->{} {a:x} {rounding:?}", T::BITS, F::NAME);
            assert_eq!(value, wanted.value.to_bits() as u64, "{}", context());
            // The oracle reports no overflow where rounding delivers the largest finite number.
            if value & F::MAGNITUDE != F::MAX_FINITE {
                assert_eq!(flags, flags_of(wanted.status), "{}", context());
            }
            assert_eq!(float::from_int::<T, F>(a, env), value, "fast {}", context());
        }
    }
}

fn from_int_all<F: Judged>() {
    let mut random = Random::new(14);
    from_int_pair::<i8, F>(&mut random);
    from_int_pair::<u16, F>(&mut random);
    from_int_pair::<i32, F>(&mut random);
    from_int_pair::<u32, F>(&mut random);
    from_int_pair::<i64, F>(&mut random);
    from_int_pair::<u64, F>(&mut random);
}

#[test]
fn from_int() {
    from_int_all::<F16>();
    from_int_all::<BF16>();
    from_int_all::<F32>();
    from_int_all::<F64>();
}

fn integral<F: Judged>() {
    let mut random = Random::new(15);
    for a in encodings::<F>(&mut random, 30_000) {
        for rounding in Rounding::ALL {
            let env = FpEnv::RISCV.with_rounding(rounding);
            let (value, flags) = soft::round_to_integral::<F>(a, env);
            let context = || format!("{} {a:x} {rounding:?}", F::NAME);
            if F::is_nan(a) {
                let wanted = (F::RISCV_NAN, Flags::NV.when(F::is_signalling(a)));
                assert_eq!((value, flags), wanted, "{}", context());
                continue;
            }
            let wanted = oracle::<F>(a).round_to_integral(round_of(rounding));
            assert_eq!(value, wanted.value.to_bits() as u64, "{}", context());
            assert_eq!(flags, Flags::NX.when(value != a & F::MASK), "{}", context());
            assert_eq!(float::round_to_integral::<F>(a, env), value, "fast {}", context());
        }
    }
}

#[test]
fn round_to_integral() {
    integral::<F16>();
    integral::<BF16>();
    integral::<F32>();
    integral::<F64>();
    integral::<E5M2>();
}

fn ordering<F: Judged>() {
    let mut random = Random::new(16);
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    let special = special::<F>();
    for &a in &special {
        pairs.extend(special.iter().map(|&b| (a, b)));
    }
    for _ in 0..30_000 {
        let a = random.float::<F>();
        let b = if random.below(4) == 0 { a ^ 1 } else { random.float::<F>() };
        pairs.push((a, b));
    }
    for (a, b) in pairs {
        let env = FpEnv {
            rounding: Rounding::NearestEven,
            ftz: random.below(3) == 0,
            nan: [NanRule::Ptx, NanRule::RiscV, NanRule::Propagate][random.below(3) as usize],
        };
        let context = || format!("{} {a:x} {b:x} {env:?}", F::NAME);
        let (fa, fb) = (soft::flush::<F>(a, env.ftz), soft::flush::<F>(b, env.ftz));
        let (oa, ob) = (oracle::<F>(fa), oracle::<F>(fb));
        let relation = match oa.partial_cmp(&ob) {
            Some(Ordering::Less) => Relation::Less,
            Some(Ordering::Equal) => Relation::Equal,
            Some(Ordering::Greater) => Relation::Greater,
            None => Relation::Unordered,
        };
        let signalling = Flags::NV.when(F::is_signalling(a) || F::is_signalling(b));
        let nan = Flags::NV.when(relation == Relation::Unordered);
        assert_eq!(soft::compare::<F>(a, b, env), (relation, signalling), "{}", context());
        assert_eq!(soft::compare_signalling::<F>(a, b, env), (relation, nan), "{}", context());

        let wanted = |number: F::Oracle, strict: F::Oracle| {
            let fix = |x: F::Oracle| match x.is_nan() {
                true => expected_nan::<F>(&[a, b], env.nan),
                false => x.to_bits() as u64,
            };
            [(MinMax::Number, fix(number)), (MinMax::Propagate, fix(strict))]
        };
        // The oracle's `min` leaves the order of zeros open; `minimum` orders them.
        let zeros = F::is_zero(fa) && F::is_zero(fb);
        let (least, greatest) = (oa.minimum(ob), oa.maximum(ob));
        let number_min = if zeros { least } else { oa.min(ob) };
        let number_max = if zeros { greatest } else { oa.max(ob) };
        for (rule, value) in wanted(number_min, least) {
            assert_eq!(
                soft::min::<F>(a, b, rule, env),
                (value, signalling),
                "{rule:?} {}",
                context()
            );
            assert_eq!(float::min::<F>(a, b, rule, env), value);
        }
        for (rule, value) in wanted(number_max, greatest) {
            assert_eq!(
                soft::max::<F>(a, b, rule, env),
                (value, signalling),
                "{rule:?} {}",
                context()
            );
            assert_eq!(float::max::<F>(a, b, rule, env), value);
        }
    }
}

#[test]
fn compare_min_max() {
    ordering::<F16>();
    ordering::<BF16>();
    ordering::<F32>();
    ordering::<F64>();
}

/// All operators of `setp`, by their definitions on host numbers.
#[test]
fn operators() {
    for a in [f32::NAN, f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, 2.0] {
        for b in [f32::NAN, f32::INFINITY, -1.0, -0.0, 0.0, 1.0, 2.0] {
            let unordered = a.is_nan() || b.is_nan();
            let (x, y) = (float::f32_bits(a), float::f32_bits(b));
            let ordered = [a == b, !unordered && a != b, a < b, a <= b, a > b, a >= b];
            for (op, wanted) in Cmp::ALL.iter().zip(ordered) {
                assert_eq!(float::holds::<F32>(*op, x, y, FpEnv::PTX), wanted, "{op:?} {a} {b}");
            }
            for (op, wanted) in Cmp::ALL[6..].iter().zip(ordered) {
                let wanted = wanted || unordered;
                assert_eq!(float::holds::<F32>(*op, x, y, FpEnv::PTX), wanted, "{op:?} {a} {b}");
            }
            assert_eq!(float::holds::<F32>(Cmp::Num, x, y, FpEnv::PTX), !unordered);
            assert_eq!(float::holds::<F32>(Cmp::Nan, x, y, FpEnv::PTX), unordered);
        }
    }
}

/// `fclass` and `testp` agree with the host's own classification.
#[test]
fn classes() {
    use simt::arith::float::Property;
    use std::num::FpCategory;
    let mut random = Random::new(17);
    for bits in encodings::<F32>(&mut random, 20_000) {
        let x = float::f32_value(bits);
        let negative = x.is_sign_negative();
        let bit = match (x.classify(), negative) {
            (FpCategory::Infinite, true) => 0,
            (FpCategory::Normal, true) => 1,
            (FpCategory::Subnormal, true) => 2,
            (FpCategory::Zero, true) => 3,
            (FpCategory::Zero, false) => 4,
            (FpCategory::Subnormal, false) => 5,
            (FpCategory::Normal, false) => 6,
            (FpCategory::Infinite, false) => 7,
            (FpCategory::Nan, _) => 8 + (bits >> 22 & 1),
        };
        assert_eq!(float::classify::<F32>(bits), 1 << bit, "{bits:x}");
        let testp = [
            (Property::Finite, x.is_finite()),
            (Property::Infinite, x.is_infinite()),
            (Property::Number, !x.is_nan()),
            (Property::NotANumber, x.is_nan()),
            (Property::Normal, x.is_normal() || x == 0.0),
            (Property::Subnormal, x.is_subnormal()),
        ];
        for (property, wanted) in testp {
            assert_eq!(property.holds::<F32>(bits), wanted, "{property:?} {bits:x}");
        }
    }
}

#[test]
fn sign_and_clamp() {
    let bits = float::f32_bits;
    let mut random = Random::new(18);
    for a in encodings::<F32>(&mut random, 5_000) {
        let (low, x) = (a & F32::MASK, float::f32_value(a));
        assert_eq!(float::abs::<F32>(a, false), low & 0x7fff_ffff);
        assert_eq!(float::neg::<F32>(a, false), low ^ 0x8000_0000);
        let saturated = if x > 0.0 { x.min(1.0) } else { 0.0 };
        assert_eq!(float::saturate::<F32>(a), bits(saturated), "{a:x}");
        let relu = if x.is_nan() { F32::PTX_NAN } else { bits(if x > 0.0 { x } else { 0.0 }) };
        assert_eq!(float::relu::<F32>(a, FpEnv::PTX), relu, "{a:x}");
    }
    assert_eq!(float::abs::<F32>(F32::SIGN | 5, true), 0);
    assert_eq!(float::neg::<F32>(5, true), F32::SIGN);
    assert_eq!(float::copysign::<F32>(bits(-1.0), bits(2.0)), bits(-2.0));
    let (rule, env) = (MinMax::Number, FpEnv::PTX);
    assert_eq!(float::min_xorsign_abs::<F32>(bits(-3.0), bits(2.0), rule, env), bits(-2.0));
    assert_eq!(float::max_xorsign_abs::<F32>(bits(-3.0), bits(-2.0), rule, env), bits(3.0));
}
