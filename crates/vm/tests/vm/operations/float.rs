//! Floating-point arithmetic.

use crate::operations::harness::check;
use ir::{RegTy, Ty};
use simt::arith::soft::{self, MinMax};
use simt::arith::{BF16, F16, F32, F64, Flags, Format, FpEnv, Rounding, approx, float};

const ROUNDINGS: [(&str, Rounding); 4] = [
    (".rn", Rounding::NearestEven),
    (".rz", Rounding::TowardZero),
    (".rm", Rounding::TowardNegative),
    (".rp", Rounding::TowardPositive),
];

type Property = fn(f64) -> bool;
type Binary = fn(u64, u64, FpEnv) -> (u64, Flags);

fn binary<F: Format>() -> [(&'static str, Binary); 3] {
    [("add", soft::add::<F>), ("sub", soft::sub::<F>), ("mul", soft::mul::<F>)]
}

/// Every rounding, flush and saturation of the operations of a format that has them all.
fn arithmetic<F: Format>(ty: Ty) {
    let ftz = if ty == Ty::F32 { &["", ".ftz"][..] } else { &[""] };
    for (word, rounding) in ROUNDINGS {
        for flag in ftz {
            let env = FpEnv::PTX.with_rounding(rounding).with_ftz(!flag.is_empty());
            for (op, f) in binary::<F>().into_iter().chain([("div", soft::div::<F> as Binary)]) {
                check(
                    &format!("%x = {op}{word}{flag}.{ty} %a, %b"),
                    &[ty, ty],
                    ty.reg(),
                    |[a, b, ..]| f(a, b, env).0,
                );
            }
            check(
                &format!("%x = fma{word}{flag}.{ty} %a, %b, %c"),
                &[ty; 3],
                ty.reg(),
                |[a, b, c, _]| soft::fma::<F>(a, b, c, env).0,
            );
            check(&format!("%x = sqrt{word}{flag}.{ty} %a"), &[ty], ty.reg(), |[a, ..]| {
                soft::sqrt::<F>(a, env).0
            });
            check(&format!("%x = rcp{word}{flag}.{ty} %a"), &[ty], ty.reg(), |[a, ..]| {
                let one = if ty == Ty::F32 { 1f32.to_bits().into() } else { 1f64.to_bits() };
                soft::div::<F>(one, a, env).0
            });
        }
    }
}

#[test]
fn single_precision() {
    arithmetic::<F32>(Ty::F32);
}

#[test]
fn double_precision() {
    arithmetic::<F64>(Ty::F64);
}

#[test]
fn the_host_agrees_where_it_rounds_to_nearest() {
    let canonical = |v: f32| if v.is_nan() { 0x7fff_ffff } else { v.to_bits().into() };
    let value = |v: u64| f32::from_bits(v as u32);
    check("%x = add.f32 %a, %b", &[Ty::F32; 2], RegTy::B32, |[a, b, ..]| {
        canonical(value(a) + value(b))
    });
    check("%x = mul.f32 %a, %b", &[Ty::F32; 2], RegTy::B32, |[a, b, ..]| {
        canonical(value(a) * value(b))
    });
    check("%x = fma.f32 %a, %b, %c", &[Ty::F32; 3], RegTy::B32, |[a, b, c, _]| {
        canonical(value(a).mul_add(value(b), value(c)))
    });
}

#[test]
fn half_precision() {
    fn format<F: Format>(ty: Ty, pair: Ty) {
        let both = |f: &dyn Fn([u64; 3]) -> u64, row: [u64; 3]| {
            f(row.map(|v| v >> 16)) << 16 | f(row.map(|v| v & 0xffff))
        };
        for (op, f) in binary::<F>() {
            let inst = |ty| format!("%x = {op}.{ty} %a, %b");
            check(&inst(ty), &[ty, ty], ty.reg(), |[a, b, ..]| f(a, b, FpEnv::PTX).0);
            check(&inst(pair), &[pair, pair], pair.reg(), |[a, b, ..]| {
                both(&|[a, b, _]| f(a, b, FpEnv::PTX).0, [a, b, 0])
            });
        }
        let fma = |[a, b, c]: [u64; 3]| soft::fma::<F>(a, b, c, FpEnv::PTX).0;
        check(&format!("%x = fma.{ty} %a, %b, %c"), &[ty; 3], ty.reg(), |[a, b, c, _]| {
            fma([a, b, c])
        });
        check(&format!("%x = fma.{pair} %a, %b, %c"), &[pair; 3], pair.reg(), |[a, b, c, _]| {
            both(&fma, [a, b, c])
        });
        check(&format!("%x = neg.{pair} %a"), &[pair], pair.reg(), |[a, ..]| a ^ 0x8000_8000);
        check(&format!("%x = abs.{ty} %a"), &[ty], ty.reg(), |[a, ..]| a & 0x7fff);
    }
    format::<F16>(Ty::F16, Ty::F16x2);
    format::<BF16>(Ty::Bf16, Ty::Bf16x2);
}

#[test]
fn saturation_and_clamping() {
    let saturated = |v: u64| {
        let value = f32::from_bits(v as u32);
        // NaN becomes +0.0.
        if value.is_nan() || value <= 0.0 { 0 } else { value.min(1.0).to_bits().into() }
    };
    check("%x = add.sat.f32 %a, %b", &[Ty::F32; 2], RegTy::B32, |[a, b, ..]| {
        saturated(soft::add::<F32>(a, b, FpEnv::PTX).0)
    });
    check("%x = fma.rn.sat.f32 %a, %b, %c", &[Ty::F32; 3], RegTy::B32, |[a, b, c, _]| {
        saturated(soft::fma::<F32>(a, b, c, FpEnv::PTX).0)
    });
    check("%x = fma.relu.f16 %a, %b, %c", &[Ty::F16; 3], RegTy::B16, |[a, b, c, _]| {
        float::relu::<F16>(soft::fma::<F16>(a, b, c, FpEnv::PTX).0, FpEnv::PTX)
    });
}

#[test]
fn minimum_and_maximum() {
    for (flag, rule) in [("", MinMax::Number), (".nan", MinMax::Propagate)] {
        check(&format!("%x = min{flag}.f32 %a, %b"), &[Ty::F32; 2], RegTy::B32, |[a, b, ..]| {
            soft::min::<F32>(a, b, rule, FpEnv::PTX).0
        });
        check(
            &format!("%x = max{flag}.f32 %a, %b, %c"),
            &[Ty::F32; 3],
            RegTy::B32,
            |[a, b, c, _]| {
                soft::max::<F32>(soft::max::<F32>(a, b, rule, FpEnv::PTX).0, c, rule, FpEnv::PTX).0
            },
        );
        check(&format!("%x = max{flag}.f64 %a, %b"), &[Ty::F64; 2], RegTy::B64, |[a, b, ..]| {
            soft::max::<F64>(a, b, rule, FpEnv::PTX).0
        });
        check(
            &format!("%x = min{flag}.xorsign.f16 %a, %b"),
            &[Ty::F16; 2],
            RegTy::B16,
            |[a, b, ..]| float::min_xorsign_abs::<F16>(a, b, rule, FpEnv::PTX),
        );
    }
}

#[test]
fn signs_and_properties() {
    for (ty, top) in [(Ty::F32, 31), (Ty::F64, 63)] {
        let sign = 1u64 << top;
        check(&format!("%x = neg.{ty} %a"), &[ty], ty.reg(), |[a, ..]| a ^ sign);
        check(&format!("%x = abs.{ty} %a"), &[ty], ty.reg(), |[a, ..]| a & !sign);
        check(&format!("%x = copysign.{ty} %a, %b"), &[ty, ty], ty.reg(), |[a, b, ..]| {
            a & sign | b & !sign
        });
    }
    let tests: [(&str, Property); 6] = [
        ("finite", f64::is_finite),
        ("infinite", f64::is_infinite),
        ("number", |v| !v.is_nan()),
        ("notanumber", f64::is_nan),
        // As the PTX ISA has it, zeros are normal.
        ("normal", |v| v.is_normal() || v == 0.0),
        ("subnormal", f64::is_subnormal),
    ];
    for (word, f) in tests {
        check(&format!("%x = testp.{word}.f64 %a"), &[Ty::F64], RegTy::Pred, |[a, ..]| {
            u64::from(f(f64::from_bits(a)))
        });
    }
}

#[test]
fn approximations_are_the_published_sequences() {
    type Unary = fn(u64, FpEnv) -> u64;
    let functions: [(&str, Unary); 8] = [
        ("rcp.approx", approx::rcp::<F32>),
        ("sqrt.approx", approx::sqrt::<F32>),
        ("rsqrt.approx", approx::rsqrt::<F32>),
        ("sin.approx", approx::sin::<F32>),
        ("cos.approx", approx::cos::<F32>),
        ("ex2.approx", approx::ex2::<F32>),
        ("lg2.approx", approx::lg2::<F32>),
        ("tanh.approx", approx::tanh::<F32>),
    ];
    for (op, f) in functions {
        check(&format!("%x = {op}.f32 %a"), &[Ty::F32], RegTy::B32, |[a, ..]| f(a, FpEnv::PTX));
        if op != "tanh.approx" {
            let env = FpEnv::PTX.with_ftz(true);
            check(&format!("%x = {op}.ftz.f32 %a"), &[Ty::F32], RegTy::B32, |[a, ..]| f(a, env));
        }
    }
    for (word, f) in
        [("approx", approx::div as fn(u64, u64, FpEnv) -> u64), ("full", approx::div_full)]
    {
        check(&format!("%x = div.{word}.f32 %a, %b"), &[Ty::F32; 2], RegTy::B32, |[a, b, ..]| {
            f(a, b, FpEnv::PTX)
        });
    }
}
