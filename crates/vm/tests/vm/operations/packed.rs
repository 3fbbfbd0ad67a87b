//! Pairs in one word: of 16-bit integers, and of single-precision numbers.
//!
//! Pairs of integers are judged by 32-bit host arithmetic on each half, those of singles by the
//! exact reference on each half.

use crate::operations::harness::check;
use ir::{RegTy, Ty};
use simt::arith::{F32, Flags, FpEnv, Rounding, soft};

/// Applies a function to both halves, each as a number of the type.
fn halves<const N: usize>(signed: bool, row: [u64; N], f: impl Fn([i32; N]) -> i32) -> u64 {
    let half = |shift: u32| {
        let operand = |v: u64| {
            let bits = (v >> shift) as u16;
            if signed { i32::from(bits as i16) } else { i32::from(bits) }
        };
        u64::from(f(row.map(operand)) as u16)
    };
    half(16) << 16 | half(0)
}

#[test]
fn pairs_of_16_bit_integers() {
    for (ty, signed) in [(Ty::U16x2, false), (Ty::S16x2, true)] {
        check(&format!("%x = add.{ty} %a, %b"), &[ty; 2], RegTy::B32, |[a, b, ..]| {
            halves(signed, [a, b], |[a, b]| a + b)
        });
        check(&format!("%x = min.{ty} %a, %b"), &[ty; 2], RegTy::B32, |[a, b, ..]| {
            halves(signed, [a, b], |[a, b]| a.min(b))
        });
        check(&format!("%x = max.{ty} %a, %b"), &[ty; 2], RegTy::B32, |[a, b, ..]| {
            halves(signed, [a, b], |[a, b]| a.max(b))
        });
    }
    check("%x = min.relu.s16x2 %a, %b", &[Ty::S16x2; 2], RegTy::B32, |[a, b, ..]| {
        halves(true, [a, b], |[a, b]| a.min(b).max(0))
    });
    check("%x = max.relu.s16x2 %a, %b", &[Ty::S16x2; 2], RegTy::B32, |[a, b, ..]| {
        halves(true, [a, b], |[a, b]| a.max(b).max(0))
    });
}

type Binary = fn(u64, u64, FpEnv) -> (u64, Flags);

#[test]
fn pairs_of_singles() {
    let roundings = [
        (".rn", Rounding::NearestEven),
        (".rz", Rounding::TowardZero),
        (".rm", Rounding::TowardNegative),
        (".rp", Rounding::TowardPositive),
    ];
    let ops: [(&str, Binary); 3] =
        [("add", soft::add::<F32>), ("sub", soft::sub::<F32>), ("mul", soft::mul::<F32>)];
    let low = |v: u64| v & 0xffff_ffff;
    for (word, rounding) in roundings {
        for (flush, ftz) in [("", false), (".ftz", true)] {
            let env = FpEnv::PTX.with_rounding(rounding).with_ftz(ftz);
            for (op, f) in ops {
                let inst = format!("%x = {op}{word}{flush}.f32x2 %a, %b");
                check(&inst, &[Ty::F32x2; 2], RegTy::B64, |[a, b, ..]| {
                    f(a >> 32, b >> 32, env).0 << 32 | f(low(a), low(b), env).0
                });
            }
            let inst = format!("%x = fma{word}{flush}.f32x2 %a, %b, %c");
            check(&inst, &[Ty::F32x2; 3], RegTy::B64, |[a, b, c, _]| {
                let high = soft::fma::<F32>(a >> 32, b >> 32, c >> 32, env).0;
                high << 32 | soft::fma::<F32>(low(a), low(b), low(c), env).0
            });
        }
    }
}
