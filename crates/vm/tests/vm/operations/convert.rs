//! Conversions.

use crate::operations::harness::{Case, check};
use crate::operations::integer::{low, number};
use ir::{RegTy, Ty};
use simt::arith::soft::{self, IntConversion};
use simt::arith::{F16, F32, F64, FpEnv, Rounding};

const INTEGERS: [Ty; 8] = [Ty::U8, Ty::S8, Ty::U16, Ty::S16, Ty::U32, Ty::S32, Ty::U64, Ty::S64];

#[test]
fn integers_to_integers() {
    for from in INTEGERS {
        for to in INTEGERS {
            check(&format!("%x = cvt.{to}.{from} %a"), &[from], to.reg(), |[a, ..]| {
                low(number(a, from))
            });
            check(&format!("%x = cvt.sat.{to}.{from} %a"), &[from], to.reg(), |[a, ..]| {
                let (least, most) = match to.is_signed() {
                    true => (-(1i128 << (to.bits() - 1)), (1i128 << (to.bits() - 1)) - 1),
                    false => (0, (1i128 << to.bits()) - 1),
                };
                low(number(a, from).clamp(least, most))
            });
        }
    }
}

#[test]
fn narrow_results_are_extended_into_wider_registers() {
    check("%x = cvt.s8.s32 %a", &[Ty::S32], RegTy::B32, |[a, ..]| low(number(a & 0xff, Ty::S8)));
    check("%x = cvt.u8.s32 %a", &[Ty::S32], RegTy::B32, |[a, ..]| a & 0xff);
    check("%x = cvt.s16.f32 %a", &[Ty::F32], RegTy::B64, |[a, ..]| {
        low(number(
            soft::to_int::<F32, i16>(
                a,
                IntConversion::Ptx,
                FpEnv::PTX.with_rounding(Rounding::TowardZero),
            )
            .0,
            Ty::S16,
        ))
    });
}

#[test]
fn wider_registers_are_cut_to_the_source_type() {
    // An immediate must fit the source type, so there are none of these.
    let cut = |inst, ty: Ty, f: fn(u64) -> u64| {
        let case = Case { inst, operands: &[ty], results: &[ty.reg()], constants: false };
        case.check(&|[a, ..]| [f(a), 0]);
    };
    cut("%x = cvt.u32.u8 %a", Ty::B32, |a| a & 0xff);
    cut("%x = cvt.s64.s16 %a", Ty::B64, |a| low(number(a & 0xffff, Ty::S16)));
}

const ROUNDINGS: [(&str, &str, Rounding); 4] = [
    (".rn", ".rni", Rounding::NearestEven),
    (".rz", ".rzi", Rounding::TowardZero),
    (".rm", ".rmi", Rounding::TowardNegative),
    (".rp", ".rpi", Rounding::TowardPositive),
];

#[test]
fn floats_and_integers() {
    for (word, integral, rounding) in ROUNDINGS {
        let env = FpEnv::PTX.with_rounding(rounding);
        macro_rules! both {
            ($float:ty, $f:expr, $($int:ty, $i:expr);+) => { $(
                check(&format!("%x = cvt{integral}.{}.{} %a", $i, $f), &[$f], $i.reg(), |[a, ..]| {
                    soft::to_int::<$float, $int>(a, IntConversion::Ptx, env).0
                });
                check(&format!("%x = cvt{word}.{}.{} %a", $f, $i), &[$i], $f.reg(), |[a, ..]| {
                    soft::from_int::<$int, $float>(a, env).0
                });
            )+ };
        }
        both!(F32, Ty::F32, u16, Ty::U16; u32, Ty::U32; i32, Ty::S32; u64, Ty::U64; i64, Ty::S64);
        both!(F64, Ty::F64, i16, Ty::S16; u32, Ty::U32; i32, Ty::S32; u64, Ty::U64; i64, Ty::S64);
        both!(F16, Ty::F16, i16, Ty::S16; u32, Ty::U32; i32, Ty::S32);
        check(&format!("%x = cvt{word}.f32.f64 %a"), &[Ty::F64], RegTy::B32, |[a, ..]| {
            soft::convert::<F64, F32>(a, env).0
        });
        check(&format!("%x = cvt{word}.f16.f32 %a"), &[Ty::F32], RegTy::B16, |[a, ..]| {
            soft::convert::<F32, F16>(a, env).0
        });
        check(&format!("%x = cvt{integral}.f32.f32 %a"), &[Ty::F32], RegTy::B32, |[a, ..]| {
            soft::round_to_integral::<F32>(a, env).0
        });
        check(
            &format!("%x = cvt{word}.f16x2.f32 %a, %b"),
            &[Ty::F32; 2],
            RegTy::B32,
            |[a, b, ..]| {
                soft::convert::<F32, F16>(a, env).0 << 16 | soft::convert::<F32, F16>(b, env).0
            },
        );
    }
    check("%x = cvt.f64.f32 %a", &[Ty::F32], RegTy::B64, |[a, ..]| {
        soft::convert::<F32, F64>(a, FpEnv::PTX).0
    });
    check("%x = cvt.f32.f16 %a", &[Ty::F16], RegTy::B32, |[a, ..]| {
        soft::convert::<F16, F32>(a, FpEnv::PTX).0
    });
}

#[test]
fn addresses_between_spaces() {
    use simt::memory::{LOCAL_WINDOW, SHARED_WINDOW};
    for (space, start) in
        [("shared", SHARED_WINDOW.start), ("local", LOCAL_WINDOW.start), ("global", 0)]
    {
        check(&format!("%x = cvta.{space}.u64 %a"), &[Ty::U64], RegTy::B64, |[a, ..]| {
            a.wrapping_add(start)
        });
        check(&format!("%x = cvtafrom.{space}.u64 %a"), &[Ty::U64], RegTy::B64, |[a, ..]| {
            a.wrapping_sub(start)
        });
    }
    check("%x = isspacep.shared.u64 %a", &[Ty::U64], RegTy::Pred, |[a, ..]| {
        u64::from(SHARED_WINDOW.contains(&a))
    });
}

#[test]
fn packed_integers() {
    let saturate = |v: u64, ty: Ty| {
        let (least, most) = match ty.is_signed() {
            true => (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1),
            false => (0, (1i128 << ty.bits()) - 1),
        };
        low(number(v, Ty::S32).clamp(least, most)) & ((1 << ty.bits()) - 1)
    };
    for ty in [Ty::U16, Ty::S16] {
        check(
            &format!("%x = cvtpack.sat.{ty}.s32 %a, %b"),
            &[Ty::S32; 2],
            RegTy::B32,
            |[a, b, ..]| saturate(a, ty) << 16 | saturate(b, ty),
        );
    }
    for ty in [Ty::U8, Ty::S8] {
        let operands = [Ty::S32, Ty::S32, Ty::B32];
        check(
            &format!("%x = cvtpack.sat.{ty}.s32 %a, %b, %c"),
            &operands,
            RegTy::B32,
            |[a, b, c, _]| c << 16 | saturate(a, ty) << 8 | saturate(b, ty),
        );
    }
}
