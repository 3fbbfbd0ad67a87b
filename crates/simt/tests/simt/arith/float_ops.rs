//! Arithmetic, conversions, comparisons of every format against `rustc_apfloat`.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, Round, Status, StatusAnd};
use simt::arith::soft;
use simt::arith::{
    BF16, E4M3, E5M2, F16, F32, F64, Flags, Format, FpEnv, NanRule, Rounding, float,
};

use crate::arith::sample::{Random, special};

/// A format that the oracle has too.
pub(crate) trait Judged: Format {
    type Oracle: Float;
}
impl Judged for F16 {
    type Oracle = Half;
}
impl Judged for BF16 {
    type Oracle = BFloat;
}
impl Judged for F32 {
    type Oracle = Single;
}
impl Judged for F64 {
    type Oracle = Double;
}
impl Judged for E4M3 {
    type Oracle = Float8E4M3FN;
}
impl Judged for E5M2 {
    type Oracle = Float8E5M2;
}

pub(crate) fn oracle<F: Judged>(bits: u64) -> F::Oracle {
    F::Oracle::from_bits(u128::from(bits & F::MASK))
}

pub(crate) fn round_of(rounding: Rounding) -> Round {
    match rounding {
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::TowardZero => Round::TowardZero,
        Rounding::TowardNegative => Round::TowardNegative,
        Rounding::TowardPositive => Round::TowardPositive,
        Rounding::NearestAway => Round::NearestTiesToAway,
    }
}

pub(crate) fn flags_of(status: Status) -> Flags {
    [
        (Status::INVALID_OP, Flags::NV),
        (Status::DIV_BY_ZERO, Flags::DZ),
        (Status::OVERFLOW, Flags::OF),
        (Status::UNDERFLOW, Flags::UF),
        (Status::INEXACT, Flags::NX),
    ]
    .into_iter()
    .fold(Flags::NONE, |all, (s, f)| all | f.when(status.intersects(s)))
}

const NAN_RULES: [NanRule; 3] = [NanRule::Ptx, NanRule::RiscV, NanRule::Propagate];

pub(crate) fn expected_nan<F: Format>(operands: &[u64], rule: NanRule) -> u64 {
    match rule {
        NanRule::Ptx => F::PTX_NAN,
        NanRule::RiscV => F::RISCV_NAN,
        NanRule::Propagate => operands
            .iter()
            .find(|&&x| F::is_nan(x))
            .map_or(F::RISCV_NAN, |&x| x & F::MASK | F::QUIET),
    }
}

/// Checks an operation of `N` operands of one format in one environment: flags and value of the
/// exact implementation, and the value of the flag-free one.
fn check<F: Judged, const N: usize>(
    what: &str,
    operands: [u64; N],
    env: FpEnv,
    exact: impl Fn([u64; N], FpEnv) -> (u64, Flags),
    fast: impl Fn([u64; N], FpEnv) -> u64,
    judge: impl Fn([F::Oracle; N], Round) -> StatusAnd<F::Oracle>,
) {
    let flushed = operands.map(|x| soft::flush::<F>(x, env.ftz));
    let wanted = judge(flushed.map(oracle::<F>), round_of(env.rounding));
    let (value, flags) = exact(operands, env);
    let context = || format!("{what}.{} {operands:x?} {env:?}", F::NAME);
    let mut wanted_flags = flags_of(wanted.status);
    let signalling = operands.iter().any(|&x| F::is_signalling(x));
    let wanted_value = if wanted.value.is_nan() {
        // The oracle leaves the flag of signalling operands to its caller in some operations.
        wanted_flags |= Flags::NV.when(signalling);
        expected_nan::<F>(&operands, env.nan)
    } else {
        let bits = wanted.value.to_bits() as u64;
        if env.ftz && F::is_subnormal(bits) {
            wanted_flags = Flags::UF | Flags::NX;
        }
        soft::flush::<F>(bits, env.ftz)
    };
    assert_eq!(value, wanted_value, "{} got {value:x} wanted {wanted_value:x}", context());
    // The oracle sees underflow by the delivered result, so it misses numbers that only the coarser
    // spacing of subnormals carries up to the smallest normal one. `underflow_is_after_rounding`
    // covers those.
    if value & F::MAGNITUDE == F::MIN_NORMAL && flags.contains(Flags::NX) {
        wanted_flags |= Flags::UF.when(flags.contains(Flags::UF));
    }
    // Nor does it report overflow where the rounding delivers the largest finite number:
    // `overflow_is_by_exponent`.
    if value & F::MAGNITUDE == F::MAX_FINITE && flags.contains(Flags::NX) {
        wanted_flags |= Flags::OF.when(flags.contains(Flags::OF));
    }
    assert_eq!(flags, wanted_flags, "{} value {value:x}", context());
    assert_eq!(fast(operands, env), value, "fast {}", context());
}

fn environments(random: &mut Random) -> FpEnv {
    FpEnv {
        rounding: Rounding::ALL[random.below(5) as usize],
        ftz: random.below(4) == 0,
        nan: NAN_RULES[random.below(3) as usize],
    }
}

fn check_all<F: Judged>(a: u64, b: u64, c: u64, env: FpEnv) {
    check::<F, 2>(
        "add",
        [a, b],
        env,
        |[a, b], env| soft::add::<F>(a, b, env),
        |[a, b], env| float::add::<F>(a, b, env),
        |[a, b], r| a.add_r(b, r),
    );
    check::<F, 2>(
        "sub",
        [a, b],
        env,
        |[a, b], env| soft::sub::<F>(a, b, env),
        |[a, b], env| float::sub::<F>(a, b, env),
        |[a, b], r| a.sub_r(b, r),
    );
    check::<F, 2>(
        "mul",
        [a, b],
        env,
        |[a, b], env| soft::mul::<F>(a, b, env),
        |[a, b], env| float::mul::<F>(a, b, env),
        |[a, b], r| a.mul_r(b, r),
    );
    check::<F, 2>(
        "div",
        [a, b],
        env,
        |[a, b], env| soft::div::<F>(a, b, env),
        |[a, b], env| float::div::<F>(a, b, env),
        |[a, b], r| a.div_r(b, r),
    );
    check_fma::<F>(a, b, c, env);
}

fn check_fma<F: Judged>(a: u64, b: u64, c: u64, env: FpEnv) {
    check::<F, 3>(
        "fma",
        [a, b, c],
        env,
        |[a, b, c], env| soft::fma::<F>(a, b, c, env),
        |[a, b, c], env| float::fma::<F>(a, b, c, env),
        |[a, b, c], r| {
            let mut wanted = a.mul_add_r(b, c, r);
            let zero_times_infinity =
                a.is_zero() && b.is_infinite() || a.is_infinite() && b.is_zero();
            if zero_times_infinity {
                wanted.status |= Status::INVALID_OP;
            }
            wanted
        },
    );
}

fn arithmetic<F: Judged>(seed: u64, random_cases: u64) {
    let special = special::<F>();
    let mut random = Random::new(seed);
    for &a in &special {
        for &b in &special {
            for rounding in Rounding::ALL {
                let env = environments(&mut random).with_rounding(rounding);
                let c = special[random.below(special.len() as u64) as usize];
                check_all::<F>(a, b, c, env);
            }
            for &c in &special {
                check_fma::<F>(a, b, c, environments(&mut random));
            }
        }
    }
    for _ in 0..random_cases {
        let [a, b, c] = random.triple::<F>();
        let env = environments(&mut random);
        check_all::<F>(a, b, c, env);
        check_all::<F>(a, b, c, env.with_rounding(Rounding::NearestEven));
    }
}

#[test]
fn arithmetic_f16() {
    arithmetic::<F16>(1, 40_000);
}

#[test]
fn arithmetic_bf16() {
    arithmetic::<BF16>(2, 40_000);
}

#[test]
fn arithmetic_f32() {
    arithmetic::<F32>(3, 60_000);
}

#[test]
fn arithmetic_f64() {
    arithmetic::<F64>(4, 60_000);
}

/// Every pair of operands in every rounding.
#[test]
fn arithmetic_e5m2() {
    let mut random = Random::new(5);
    for a in 0..256 {
        for b in 0..256 {
            for rounding in Rounding::ALL {
                let env = environments(&mut random).with_rounding(rounding);
                check_all::<E5M2>(a, b, random.next(), env);
            }
        }
    }
}

#[test]
#[ignore = "millions of operands: about a minute in release builds"]
fn campaign() {
    arithmetic::<F16>(51, 4_000_000);
    arithmetic::<BF16>(52, 4_000_000);
    arithmetic::<F32>(53, 4_000_000);
    arithmetic::<F64>(54, 4_000_000);
}

/// The mode that rounds `-x` to minus what `rounding` rounds `x` to.
pub(crate) fn mirrored(rounding: Rounding) -> Rounding {
    match rounding {
        Rounding::TowardNegative => Rounding::TowardPositive,
        Rounding::TowardPositive => Rounding::TowardNegative,
        other => other,
    }
}

/// Every pair of operands in every rounding. The oracle forgets to mirror the rounding of a
/// negative result between the largest number and the next step of a format without infinities, so
/// it is asked for positive results only.
#[test]
fn arithmetic_e4m3() {
    type Oracle = <E4M3 as Judged>::Oracle;
    let positive =
        |judge: &dyn Fn(Oracle, Oracle, Round) -> Oracle, flip_b: bool, a, b, rounding| {
            let (a, b) = (oracle::<E4M3>(a), oracle::<E4M3>(b));
            let first = judge(a, b, round_of(rounding));
            if first.is_negative() {
                -judge(-a, if flip_b { -b } else { b }, round_of(mirrored(rounding)))
            } else {
                first
            }
        };
    for a in 0..256 {
        for b in 0..256 {
            for rounding in Rounding::ALL {
                let env = FpEnv::RISCV.with_rounding(rounding);
                let sum = positive(&|a, b, r| a.add_r(b, r).value, true, a, b, rounding);
                let product = positive(&|a, b, r| a.mul_r(b, r).value, false, a, b, rounding);
                let quotient = positive(&|a, b, r| a.div_r(b, r).value, false, a, b, rounding);
                let ours = [soft::add::<E4M3>, soft::mul::<E4M3>, soft::div::<E4M3>];
                for (operation, wanted) in ours.into_iter().zip([sum, product, quotient]) {
                    let value = operation(a, b, env).0;
                    if wanted.is_nan() {
                        assert!(E4M3::is_nan(value), "{a:x} {b:x} {rounding:?}");
                    } else {
                        assert_eq!(value, wanted.to_bits() as u64, "{a:x} {b:x} {rounding:?}");
                    }
                }
            }
        }
    }
}

/// Underflow where the result is delivered as the smallest normal number: raised exactly if
/// rounding to 24 digits with an unbounded exponent stays below it.
#[test]
fn underflow_is_after_rounding() {
    let times = |a: f32, b: f32| {
        let scale = 2f32.powi(-63);
        let [a, b] = [a * scale, b * scale].map(float::f32_bits);
        soft::mul::<F32>(a, b, FpEnv::RISCV)
    };
    // 1 - 2^-24 has 24 digits, so it stays tiny, though the coarser spacing of subnormals carries
    // it up.
    assert_eq!(times(1.0 - f32::EPSILON / 2.0, 1.0), (F32::MIN_NORMAL, Flags::UF | Flags::NX));
    // 1 - 2e6 * 2^-47 lies above 1 - 2^-25, so 24 digits carry it to 1 already: not tiny.
    let (up, down) = (1.0 + 1000.0 * f32::EPSILON, 1.0 - 1000.0 * f32::EPSILON);
    assert_eq!(times(up, down), (F32::MIN_NORMAL, Flags::NX));
}

/// Overflow where the rounding delivers the largest finite number: raised exactly from 2^128 on.
#[test]
fn overflow_is_by_exponent() {
    let env = FpEnv::RISCV.with_rounding(Rounding::TowardZero);
    let max = F32::MAX_FINITE;
    let half_unit = float::f32_bits(2f32.powi(103));
    assert_eq!(soft::add::<F32>(max, half_unit, env), (max, Flags::NX));
    let unit = float::f32_bits(2f32.powi(104));
    assert_eq!(soft::add::<F32>(max, unit, env), (max, Flags::OF | Flags::NX));
    assert_eq!(
        soft::add::<F32>(max, half_unit, FpEnv::RISCV),
        (F32::INFINITY, Flags::OF | Flags::NX)
    );
}
