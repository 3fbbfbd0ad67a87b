//! The approximate functions against `libm` in binary64: measured errors, special operands, and
//! bits that must never change.

use simt::arith::{BF16, F16, F32, F64, Format, FpEnv, approx, float};

use crate::arith::sample::{Random, special};

/// A function under test: ours, the reference, and the largest error allowed, in units in the last
/// place of the exact result (of the smallest normal number, below it).
struct Subject {
    name: &'static str,
    ours: fn(u64, FpEnv) -> u64,
    reference: fn(f64) -> f64,
    ulps: f64,
}

const SUBJECTS: [Subject; 9] = [
    Subject { name: "rcp", ours: approx::rcp::<F32>, reference: |x| 1.0 / x, ulps: 0.500_001 },
    Subject { name: "sqrt", ours: approx::sqrt::<F32>, reference: f64::sqrt, ulps: 0.500_001 },
    Subject {
        name: "rsqrt",
        ours: approx::rsqrt::<F32>,
        reference: |x| 1.0 / x.sqrt(),
        ulps: 0.500_001,
    },
    Subject { name: "ex2", ours: approx::ex2::<F32>, reference: libm::exp2, ulps: 0.51 },
    Subject { name: "exp", ours: approx::exp::<F32>, reference: libm::exp, ulps: 0.51 },
    Subject { name: "lg2", ours: approx::lg2::<F32>, reference: libm::log2, ulps: 0.51 },
    Subject { name: "sin", ours: approx::sin::<F32>, reference: libm::sin, ulps: 0.51 },
    Subject { name: "cos", ours: approx::cos::<F32>, reference: libm::cos, ulps: 0.51 },
    Subject { name: "tanh", ours: approx::tanh::<F32>, reference: libm::tanh, ulps: 0.51 },
];

/// The error of `value` in units in the last place of `exact`.
fn error_in_ulps(value: f32, exact: f64) -> f64 {
    let exponent = (exact.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let ulp = libm::ldexp(1.0, exponent.max(-126) - 23);
    (f64::from(value) - exact).abs() / ulp
}

/// The largest error over operands `0, step, 2 step, ...`, checked to be allowed. A result is
/// infinite or a NaN exactly where the reference, rounded, is.
fn measure(subject: &Subject, step: usize) -> f64 {
    let mut worst = 0.0;
    for bits in (0..1u64 << 32).step_by(step) {
        let x = float::f32_value(bits);
        let value = float::f32_value((subject.ours)(bits, FpEnv::PTX));
        let exact = (subject.reference)(f64::from(x));
        if exact.is_nan() || value.is_nan() {
            assert!(exact.is_nan() && value.is_nan(), "{}({x:e}) = {value:e}", subject.name);
            continue;
        }
        if value.is_infinite() || (exact as f32).is_infinite() {
            assert_eq!(value, exact as f32, "{}({x:e})", subject.name);
            continue;
        }
        let error = error_in_ulps(value, exact);
        assert!(error <= subject.ulps, "{}({x:e}) = {value:e}: {error} ulp", subject.name);
        if error > worst {
            worst = error;
        }
    }
    worst
}

#[test]
fn sampled_errors() {
    for subject in &SUBJECTS {
        let worst = measure(subject, 9973);
        assert!(worst > 0.4, "{}: the sample is too thin to mean anything", subject.name);
    }
}

macro_rules! exhaustive {
    ($($test:ident $index:literal;)*) => {$(
        #[test]
        #[ignore = "all 2^32 operands: minutes"]
        #[allow(clippy::print_stderr, reason = "the figure is what the test is run for")]
        fn $test() {
            let subject = &SUBJECTS[$index];
            eprintln!("{}: {:.6} ulp", subject.name, measure(subject, 1));
        }
    )*};
}

exhaustive! {
    every_binary32_rcp 0;
    every_binary32_sqrt 1;
    every_binary32_rsqrt 2;
    every_binary32_ex2 3;
    every_binary32_exp 4;
    every_binary32_lg2 5;
    every_binary32_sin 6;
    every_binary32_cos 7;
    every_binary32_tanh 8;
}

/// The tables of special operands in the PTX ISA; `None` is a NaN.
#[test]
fn special_operands() {
    type Rows = [(f32, Option<f32>); 7];
    type Function = fn(u64, FpEnv) -> u64;
    const INF: f32 = f32::INFINITY;
    let tiny = f32::from_bits(1);
    let tables: [(&str, Function, Rows); 8] = [
        (
            "rcp",
            approx::rcp::<F32>,
            [
                (-INF, Some(-0.0)),
                (-tiny, Some(-INF)),
                (-0.0, Some(-INF)),
                (0.0, Some(INF)),
                (tiny, Some(INF)),
                (INF, Some(0.0)),
                (-2.0, Some(-0.5)),
            ],
        ),
        (
            "rsqrt",
            approx::rsqrt::<F32>,
            [
                (-INF, None),
                (-1.0, None),
                (-tiny, Some(-INF)),
                (-0.0, Some(-INF)),
                (0.0, Some(INF)),
                (tiny, Some(INF)),
                (INF, Some(0.0)),
            ],
        ),
        (
            "sqrt",
            approx::sqrt::<F32>,
            [
                (-INF, None),
                (-1.0, None),
                (-tiny, Some(-0.0)),
                (-0.0, Some(-0.0)),
                (0.0, Some(0.0)),
                (tiny, Some(0.0)),
                (INF, Some(INF)),
            ],
        ),
        (
            "sin",
            approx::sin::<F32>,
            [
                (-INF, None),
                (-tiny, Some(-0.0)),
                (-0.0, Some(-0.0)),
                (0.0, Some(0.0)),
                (tiny, Some(0.0)),
                (INF, None),
                (1e-30, Some(1e-30)),
            ],
        ),
        (
            "cos",
            approx::cos::<F32>,
            [
                (-INF, None),
                (-tiny, Some(1.0)),
                (-0.0, Some(1.0)),
                (0.0, Some(1.0)),
                (tiny, Some(1.0)),
                (INF, None),
                (1e-30, Some(1.0)),
            ],
        ),
        (
            "lg2",
            approx::lg2::<F32>,
            [
                (-INF, None),
                (-1.0, None),
                (-tiny, Some(-INF)),
                (-0.0, Some(-INF)),
                (0.0, Some(-INF)),
                (tiny, Some(-INF)),
                (INF, Some(INF)),
            ],
        ),
        (
            "ex2",
            approx::ex2::<F32>,
            [
                (-INF, Some(0.0)),
                (-tiny, Some(1.0)),
                (-0.0, Some(1.0)),
                (0.0, Some(1.0)),
                (tiny, Some(1.0)),
                (INF, Some(INF)),
                (-126.5, Some(0.0)),
            ],
        ),
        (
            "tanh",
            approx::tanh::<F32>,
            [
                (-INF, Some(-1.0)),
                (-0.0, Some(-0.0)),
                (0.0, Some(0.0)),
                (INF, Some(1.0)),
                (1e-30, Some(1e-30)),
                (-1e-30, Some(-1e-30)),
                (30.0, Some(1.0)),
            ],
        ),
    ];
    for (name, function, rows) in tables {
        let env = FpEnv::PTX.with_ftz(true);
        for (x, wanted) in rows {
            let value = function(float::f32_bits(x), env);
            let wanted = wanted.map_or(F32::PTX_NAN, float::f32_bits);
            assert_eq!(value, wanted, "{name}.ftz({x:e})");
        }
        assert_eq!(function(0xffc0_0001, env), F32::PTX_NAN, "{name}");
        assert_eq!(function(0xffc0_0001, FpEnv::RISCV), F32::RISCV_NAN, "{name}");
    }
    // Without flushing, subnormals are numbers.
    assert_eq!(approx::lg2::<F32>(1, FpEnv::PTX), float::f32_bits(-149.0));
    assert_eq!(approx::lg2::<F32>(F32::SIGN | 1, FpEnv::PTX), F32::PTX_NAN);
    assert_eq!(approx::ex2::<F32>(float::f32_bits(-149.0), FpEnv::PTX), 1);
    assert_eq!(approx::tanh::<F32>(F32::SIGN | 5, FpEnv::PTX), F32::SIGN | 5);
    assert_eq!(approx::sin::<F32>(5, FpEnv::PTX), 5);
}

#[test]
fn exact_results() {
    for n in -149..=127 {
        let power = libm::ldexp(1.0, n) as f32;
        let (n, power) = (float::f32_bits(n as f32), float::f32_bits(power));
        assert_eq!(approx::ex2::<F32>(n, FpEnv::PTX), power);
        assert_eq!(approx::lg2::<F32>(power, FpEnv::PTX), n);
    }
}

#[test]
fn divisions() {
    let mut random = Random::new(41);
    let mut operands: Vec<(u64, u64)> = Vec::new();
    let special = special::<F32>();
    for &a in &special {
        operands.extend(special.iter().map(|&b| (a, b)));
    }
    operands.extend((0..50_000).map(|_| (random.float::<F32>(), random.float::<F32>())));
    for (a, b) in operands {
        let env = FpEnv::PTX.with_ftz(random.below(2) == 0);
        let exact = float::div::<F32>(a, b, env);
        assert_eq!(approx::div_full(a, b, env), exact);
        let divisor = float::f32_value(b).abs();
        let wanted = if divisor > 2f32.powi(126) && divisor.is_finite() {
            if F32::is_nan(a) || F32::is_infinite(a) { F32::PTX_NAN } else { (a ^ b) & F32::SIGN }
        } else {
            exact
        };
        assert_eq!(approx::div(a, b, env), wanted, "{a:x} {b:x}");
    }
}

/// The binary64 forms that look at one word and deliver one word.
#[test]
fn upper_words() {
    let mut random = Random::new(42);
    for _ in 0..50_000 {
        let a = random.float::<F64>();
        let upper = f64::from_bits(a & !0xffff_ffff);
        let flushed = if upper.is_subnormal() { 0f64.copysign(upper) } else { upper };
        let pairs = [
            (approx::rcp_upper_f64(a), 1.0 / flushed),
            (approx::rsqrt_upper_f64(a), 1.0 / flushed.sqrt()),
        ];
        for (value, exact) in pairs {
            assert_eq!(value & 0xffff_ffff, 0);
            let result = f64::from_bits(value);
            if exact.is_nan() {
                assert_eq!(value, 0x7fff_ffff_0000_0000, "{a:x}");
            } else if exact.abs() < f64::MIN_POSITIVE || exact.is_infinite() {
                assert_eq!(result, if exact.is_infinite() { exact } else { 0.0 }, "{a:x}");
            } else {
                assert!((result / exact - 1.0).abs() <= 2f64.powi(-21), "{a:x}");
            }
        }
    }
    let root = approx::rsqrt_f64(float_bits(4.0), FpEnv::PTX);
    assert_eq!(f64::from_bits(root), 0.5);
    assert_eq!(approx::rsqrt_f64(float_bits(-0.0), FpEnv::PTX), F64::SIGN | F64::INFINITY);
    assert_eq!(approx::rsqrt_f64(float_bits(-1.0), FpEnv::PTX), F64::PTX_NAN);
}

fn float_bits(x: f64) -> u64 {
    x.to_bits()
}

/// Every half: within half a unit of the reference, but for the reference's own rounding.
#[test]
fn every_half() {
    fn check<F: Format>(ours: fn(u64, FpEnv) -> u64, reference: fn(f64) -> f64) {
        for bits in 0..1 << 16 {
            let x = f64::from_bits(float::convert::<F, F64>(bits, FpEnv::PTX));
            let exact = reference(x).to_bits();
            let wanted = float::convert::<F64, F>(exact, FpEnv::PTX);
            assert_eq!(ours(bits, FpEnv::PTX), wanted, "{} {x:e}", F::NAME);
        }
    }
    check::<F16>(approx::ex2::<F16>, libm::exp2);
    check::<F16>(approx::tanh::<F16>, libm::tanh);
    check::<BF16>(approx::ex2::<BF16>, libm::exp2);
    check::<BF16>(approx::tanh::<BF16>, libm::tanh);
}

/// The bits are a contract: a digest of every function over a fixed sample of operands.
#[test]
fn bits_never_change() {
    let digests = SUBJECTS.map(|subject| {
        let operands = (0..1u64 << 32).step_by(65_537);
        let digest = operands.fold(0xcbf2_9ce4_8422_2325u64, |digest, bits| {
            let value = (subject.ours)(bits, FpEnv::PTX);
            (digest ^ value).wrapping_mul(0x0100_0000_01b3)
        });
        (subject.name, digest)
    });
    let recorded = [
        ("rcp", 0xae45_7835_6efb_df70),
        ("sqrt", 0x6900_0f7a_adb9_a771),
        ("rsqrt", 0x7268_e7c4_a589_b0b8),
        ("ex2", 0x2f96_1cf9_fd0b_3198),
        ("exp", 0xe922_24ea_39df_e9f1),
        ("lg2", 0x4d03_cf5f_56e6_e3b3),
        ("sin", 0x247e_f83b_fe2e_1343),
        ("cos", 0x7080_e177_5d2a_27c7),
        ("tanh", 0x8326_6ab2_14c1_0ad3),
    ];
    assert_eq!(digests, recorded, "{digests:#x?}");
}
