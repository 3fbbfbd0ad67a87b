//! The 64-bit forms on floats and conversions, against the host's IEEE arithmetic and conversions.

use crate::common::{LANES, lanes};
use isa::testing::Rng;

const NAN: u32 = 0x7fc0_0000;
const NAN64: u64 = 0x7ff8_0000_0000_0000;

/// Finite numbers of many sizes, zeros, infinities, a quiet NaN.
fn singles(seed: u64) -> Vec<u32> {
    const EDGES: [u32; 10] = [
        0,
        0x8000_0000,
        0x7f80_0000,
        0xff80_0000,
        NAN,
        1,
        0x007f_ffff,
        0x7f7f_ffff,
        0x3f80_0000,
        0xbf80_0000,
    ];
    let mut random = Rng::new(seed);
    let mut one = |lane: usize| {
        let bits = random.bits();
        match (lane + seed as usize) % 4 {
            0 => EDGES[bits as usize % EDGES.len()],
            // Near 1, so that sums round.
            1 => ((bits as u32 & 0x83ff_ffff) | 0x3c00_0000) & 0xbfff_ffff,
            _ => (((bits >> 40) as f32 - 8e6) / 1000.0).to_bits(),
        }
    };
    (0..LANES).map(&mut one).collect()
}

fn doubles(seed: u64) -> Vec<u64> {
    let widen = |v: &u32| match f64::from(f32::from_bits(*v)) {
        v if v.is_nan() => NAN64,
        v => (v * 1.000_000_000_1).to_bits(),
    };
    singles(seed).iter().map(widen).collect()
}

fn wide(values: &[u32]) -> Vec<u64> {
    // What lies above a single's bits must not matter.
    values.iter().map(|&v| 0xdead_0000_0000_0000 | u64::from(v)).collect()
}

fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

fn bits64(value: f64) -> u64 {
    if value.is_nan() { NAN64 } else { value.to_bits() }
}

type Single = (&'static str, fn(f32, f32, f32) -> f32);
type Double = (&'static str, fn(f64, f64, f64) -> f64);

fn check_singles(cases: &[Single]) {
    for (text, formula) in cases {
        for seed in 0..4 {
            let (a, b, c) = (singles(seed), singles(seed + 10), singles(seed + 20));
            let (got, _) = lanes(text, &wide(&a), &wide(&b), &wide(&c));
            for lane in 0..LANES {
                let f = f32::from_bits;
                let want = bits(formula(f(a[lane]), f(b[lane]), f(c[lane])));
                assert_eq!(got[lane], u64::from(want), "{text} {:x?}", (a[lane], b[lane], c[lane]));
            }
        }
    }
}

fn check_doubles(cases: &[Double]) {
    for (text, formula) in cases {
        for seed in 0..4 {
            let (a, b, c) = (doubles(seed), doubles(seed + 10), doubles(seed + 20));
            let (got, _) = lanes(text, &a, &b, &c);
            for lane in 0..LANES {
                let f = f64::from_bits;
                let want = bits64(formula(f(a[lane]), f(b[lane]), f(c[lane])));
                assert_eq!(got[lane], want, "{text} {:x?}", (a[lane], b[lane], c[lane]));
            }
        }
    }
}

/// Checks `V.FADD`, `V.FSUB`, `V.FMUL`, `V.FDIV`: rounding to nearest even in both formats,
/// canonical NaNs.
#[test]
fn arithmetic() {
    check_singles(&[
        ("v.fadd vt#1.fs, vu#1.fs, ->vn.w", |a, b, _| a + b),
        ("v.fsub vt#1.fs, vu#1.fs, ->vn.w", |a, b, _| a - b),
        ("v.fmul vt#1.fs, vu#1.fs, ->vn.w", |a, b, _| a * b),
        ("v.fdiv vt#1.fs, vu#1.fs, ->vn.w", |a, b, _| a / b),
    ]);
    check_doubles(&[
        ("v.fadd vt#1.fd, vu#1.fd, ->vn.d", |a, b, _| a + b),
        ("v.fsub vt#1.fd, vu#1.fd, ->vn.d", |a, b, _| a - b),
        ("v.fmul vt#1.fd, vu#1.fd, ->vn.d", |a, b, _| a * b),
        ("v.fdiv vt#1.fd, vu#1.fd, ->vn.d", |a, b, _| a / b),
    ]);
}

/// Checks `V.FMADD`, `V.FMSUB`, `V.FNMADD`, `V.FNMSUB`: one rounding, signs by the RISC-V
/// convention.
#[test]
fn fused() {
    check_singles(&[
        ("v.fmadd vt#1.fs, vu#1.fs, vm#1.fs, ->vn.w", |a, b, c| a.mul_add(b, c)),
        ("v.fmsub vt#1.fs, vu#1.fs, vm#1.fs, ->vn.w", |a, b, c| a.mul_add(b, -c)),
        ("v.fnmadd vt#1.fs, vu#1.fs, vm#1.fs, ->vn.w", |a, b, c| (-a).mul_add(b, -c)),
        ("v.fnmsub vt#1.fs, vu#1.fs, vm#1.fs, ->vn.w", |a, b, c| (-a).mul_add(b, c)),
    ]);
    check_doubles(&[("v.fmadd vt#1.fd, vu#1.fd, vm#1.fd, ->vn.d", |a, b, c| a.mul_add(b, c))]);
}

/// Units in the last place between two floats of the same sign.
fn ulps(a: u32, b: u32) -> u32 {
    a.abs_diff(b)
}

/// Checks `V.FSQRT / V.FRECIP / V.FEXP / V.FABS`: the first two rounded correctly, the exponential
/// within one ulp.
#[test]
fn unary() {
    check_singles(&[
        ("v.fsqrt vt#1.fs, ->vn.w", |a, _, _| a.sqrt()),
        ("v.frecip vt#1.fs, ->vn.w", |a, _, _| 1.0 / a),
        ("v.fabs vt#1.fs, ->vn.w", |a, _, _| a.abs()),
    ]);
    check_doubles(&[
        ("v.fsqrt vt#1.fd, ->vn.d", |a, _, _| a.sqrt()),
        ("v.frecip vt#1.fd, ->vn.d", |a, _, _| 1.0 / a),
    ]);
    for seed in 0..4 {
        let a: Vec<u32> = singles(seed)
            .iter()
            .map(|&v| if f32::from_bits(v).abs() > 80.0 { v % 0x42a0_0000 } else { v })
            .collect();
        let (got, _) = lanes("v.fexp vt#1.fs, ->vn.w", &wide(&a), &wide(&a), &wide(&a));
        for lane in 0..LANES {
            let x = f32::from_bits(a[lane]);
            let want = bits(f64::from(x).exp() as f32);
            assert!(ulps(got[lane] as u32, want) <= 1, "exp({x}) = {:x}, {want:x}", got[lane]);
        }
    }
}

/// Checks `V.FCLASS`: ten classes, as RISC-V numbers them.
#[test]
fn classes() {
    let samples: [(u32, u64); 10] = [
        (0xff80_0000, 1),
        (0xbf80_0000, 1 << 1),
        (0x8000_0001, 1 << 2),
        (0x8000_0000, 1 << 3),
        (0, 1 << 4),
        (1, 1 << 5),
        (0x3f80_0000, 1 << 6),
        (0x7f80_0000, 1 << 7),
        (0x7f80_0001, 1 << 8),
        (NAN, 1 << 9),
    ];
    let a: Vec<u32> = (0..LANES).map(|lane| samples[lane % 10].0).collect();
    let (got, _) = lanes("v.fclass vt#1.fs, ->vn.w", &wide(&a), &wide(&a), &wide(&a));
    for lane in 0..LANES {
        assert_eq!(got[lane], samples[lane % 10].1, "{:x}", a[lane]);
    }
}

/// Checks `V.FEQ / V.FEQS`, `V.FNE / V.FNES`, `V.FLT / V.FLTS`, `V.FGE / V.FGES`: NaNs, zeros, and
/// which raise invalid.
#[test]
fn compares() {
    type Case = (&'static str, fn(f32, f32) -> bool);
    let cases: [Case; 4] = [
        ("feq", |a, b| a == b),
        ("fne", |a, b| a != b),
        ("flt", |a, b| a < b),
        ("fge", |a, b| a >= b),
    ];
    for (name, holds) in cases {
        for suffix in ["", "s"] {
            let text = format!("v.{name}{suffix} vt#1.fs, vu#1.fs, ->vn.w");
            for seed in 0..4 {
                let (a, b) = (singles(seed), singles(seed + 10));
                let (got, _) = lanes(&text, &wide(&a), &wide(&b), &wide(&b));
                for lane in 0..LANES {
                    let want = holds(f32::from_bits(a[lane]), f32::from_bits(b[lane]));
                    assert_eq!(got[lane], u64::from(want), "{text} {:x?}", (a[lane], b[lane]));
                }
            }
            // A quiet NaN is invalid for the signalling ones only; bit 4 of the flags is NV.
            let nan = wide(&[NAN; LANES]);
            let (_, state) = lanes(&text, &nan, &wide(&[0; LANES]), &nan);
            assert_eq!(
                state.float_flags() >> 4 & 1 | state.float_flags() & 1,
                u64::from(suffix == "s")
            );
        }
    }
}

/// Checks `V.FMAX / V.FMIN`: one NaN gives the other, two the canonical one; zeros by sign.
#[test]
fn extremes() {
    check_singles(&[
        (
            "v.fmax vt#1.fs, vu#1.fs, ->vn.w",
            |a, b, _| {
                if a == 0.0 && b == 0.0 { 0.0 } else { a.max(b) }
            },
        ),
        ("v.fmin vt#1.fs, vu#1.fs, ->vn.w", |a, b, _| match a == 0.0 && b == 0.0 {
            true if a.is_sign_negative() || b.is_sign_negative() => -0.0,
            true => 0.0,
            false => a.min(b),
        }),
    ]);
}

/// Checks `V.FCVT / V.FCVTI / V.ICVT / V.ICVTF`: against the host's casts, which saturate toward
/// zero with NaN as 0.
#[test]
fn conversions() {
    type Case = (&'static str, fn(u64) -> u64);
    let cases: [Case; 16] = [
        ("v.fcvt.fs2fd vt#1.fs, ->vn.d", |v| bits64(f64::from(f32::from_bits(v as u32)))),
        ("v.fcvt.fd2fs vt#1.fd, ->vn.w", |v| u64::from(bits(f64::from_bits(v) as f32))),
        ("v.fcvti.fs2sw vt#1.fs, ->vn.w", |v| u64::from(f32::from_bits(v as u32) as i32 as u32)),
        ("v.fcvti.fs2uw vt#1.fs, ->vn.w", |v| u64::from(f32::from_bits(v as u32) as u32)),
        ("v.fcvti.fs2sd vt#1.fs, ->vn.d", |v| f32::from_bits(v as u32) as i64 as u64),
        ("v.fcvti.fd2ud vt#1.fd, ->vn.d", |v| f64::from_bits(v) as u64),
        ("v.fcvti.fd2sb vt#1.fd, ->vn.b", |v| u64::from(f64::from_bits(v) as i8 as u8)),
        ("v.fcvti.fd2uh vt#1.fd, ->vn.h", |v| u64::from(f64::from_bits(v) as u16)),
        ("v.icvt.sw2ub vt#1.sw, ->vn.b", |v| v & 0xff),
        ("v.icvt.sb2sd vt#1.sb, ->vn.d", |v| v as i8 as i64 as u64),
        ("v.icvt.uh2ud vt#1.uh, ->vn.d", |v| u64::from(v as u16)),
        ("v.icvt.ud2bool vt#1.ud, ->vn.b", |v| u64::from(v != 0)),
        ("v.icvtf.sw2fs vt#1.sw, ->vn.w", |v| u64::from((v as i32 as f32).to_bits())),
        ("v.icvtf.ud2fs vt#1.ud, ->vn.w", |v| u64::from((v as f32).to_bits())),
        ("v.icvtf.sd2fd vt#1.sd, ->vn.d", |v| (v as i64 as f64).to_bits()),
        ("v.icvtf.ub2fd vt#1.ub, ->vn.d", |v| f64::from(v as u8).to_bits()),
    ];
    for (text, formula) in cases {
        for seed in 0..4 {
            let a = if text.contains(".fd,") {
                doubles(seed)
            } else if text.contains(".fs,") {
                wide(&singles(seed))
            } else {
                crate::common::numbers(seed)
            };
            let (got, _) = lanes(text, &a, &a, &a);
            for lane in 0..LANES {
                assert_eq!(got[lane], formula(a[lane]), "{text} {:x}", a[lane]);
            }
        }
    }
}

/// Rounding follows FRM: the same quotient in four modes.
#[test]
fn rounding_modes() {
    let one_third = |mode: u64| {
        let source = format!(
            "_start: C.BSTART.STD
             hl.liu {:#x}, ->t
             slli t#1, 32, ->t
             ssrset t#1, CSTATE
             BSTART.MSEQ 0
             B.TEXT body
             B.IOR [a0],[]
             C.B.DIMI 1, ->lb0
             C.BSTART.STD
             ebreak 0
             body: v.lwi.brg [ri0, 0], ->vt.w
             v.lwi.brg [ri0, 4], ->vu.w
             v.fdiv vt#1.fs, vu#1.fs, ->vn.w
             v.swi.brg vn#1.uw, [ri0, 8]
             C.BSTOP",
            mode << 5
        );
        let data = [-1.0f32, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let (state, trap) = crate::common::run(&source, &[data], linx::Options::default());
        assert_eq!(trap, None);
        crate::common::words(&state, 0, 2)[1] as u32
    };
    let nearest = (-1.0f32 / 3.0).to_bits();
    // -0.333..: nearest is away from zero here, as is down; up and toward zero cut off.
    assert_eq!([0, 1, 2, 3].map(one_third), [nearest, nearest, nearest - 1, nearest - 1]);
}
