//! Integer arithmetic, over 128-bit host integers.

use crate::operations::harness::{check, check2};
use ir::RegTy::{B32, Pred};
use ir::{RegTy, Ty};

const TYPES: [Ty; 6] = [Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64];

/// The number that bits stand for.
pub(crate) fn number(bits: u64, ty: Ty) -> i128 {
    let unused = 128 - ty.bits();
    let raised = u128::from(bits) << unused;
    if ty.is_signed() { raised.cast_signed() >> unused } else { (raised >> unused).cast_signed() }
}

/// The low 64 bits of a number; the harness cuts them to the result's width.
pub(crate) fn low(n: i128) -> u64 {
    n as u64
}

fn clamp(n: i128, ty: Ty) -> u64 {
    let top = 1i128 << (ty.bits() - 1);
    low(n.clamp(-top, top - 1))
}

/// Checks a function of one type's numbers.
fn each(types: &[Ty], op: &str, operands: usize, f: impl Fn([i128; 3], Ty) -> i128) {
    for &ty in types {
        let names = ["%a", "%a, %b", "%a, %b, %c"][operands - 1];
        let inst = format!("%x = {op}.{ty} {names}");
        check(&inst, &[ty; 3][..operands], ty.reg(), |[a, b, c, _]| {
            low(f([number(a, ty), number(b, ty), number(c, ty)], ty))
        });
    }
}

#[test]
fn sums_and_products() {
    each(&TYPES, "add", 2, |[a, b, _], _| a + b);
    each(&TYPES, "sub", 2, |[a, b, _], _| a - b);
    each(&TYPES, "mul", 2, |[a, b, _], _| a.wrapping_mul(b));
    each(&TYPES, "mad", 3, |[a, b, c], _| a.wrapping_mul(b).wrapping_add(c));
    each(&TYPES, "sad", 3, |[a, b, c], _| (a - b).abs() + c);
}

/// The high half of a product, which of 64-bit unsigned numbers takes all 128 bits.
fn high(a: i128, b: i128, ty: Ty) -> i128 {
    if ty.is_signed() {
        return (a * b) >> ty.bits();
    }
    ((a.cast_unsigned() * b.cast_unsigned()) >> ty.bits()).cast_signed()
}

#[test]
fn high_and_wide_products() {
    each(&TYPES, "mulhi", 2, |[a, b, _], ty| high(a, b, ty));
    each(&TYPES, "madhi", 3, |[a, b, c], ty| high(a, b, ty) + c);
    check("%x = madhi.sat.s32 %a, %b, %c", &[Ty::S32; 3], B32, |[a, b, c, _]| {
        let [a, b, c] = [a, b, c].map(|v| number(v, Ty::S32));
        clamp(high(a, b, Ty::S32) + c, Ty::S32)
    });
    for ty in [Ty::U16, Ty::S16, Ty::U32, Ty::S32] {
        let wide = ty.widened().unwrap();
        check(&format!("%x = mulwide.{ty} %a, %b"), &[ty, ty], wide.reg(), |[a, b, ..]| {
            low(number(a, ty) * number(b, ty))
        });
        check(
            &format!("%x = madwide.{ty} %a, %b, %c"),
            &[ty, ty, wide],
            wide.reg(),
            |[a, b, c, _]| low(number(a, ty) * number(b, ty) + number(c, wide)),
        );
    }
}

#[test]
fn products_of_24_bits() {
    let cut = |n: i128, ty: Ty| {
        let low = n & 0xff_ffff;
        if ty.is_signed() && low >= 0x80_0000 { low - 0x100_0000 } else { low }
    };
    let types = [Ty::U32, Ty::S32];
    each(&types, "mul24", 2, |[a, b, _], ty| cut(a, ty) * cut(b, ty));
    each(&types, "mul24hi", 2, |[a, b, _], ty| (cut(a, ty) * cut(b, ty)) >> 16);
    each(&types, "mad24", 3, |[a, b, c], ty| cut(a, ty) * cut(b, ty) + c);
    each(&types, "mad24hi", 3, |[a, b, c], ty| {
        // The high 32 bits are a 32-bit number of the type before the addition.
        number(low((cut(a, ty) * cut(b, ty)) >> 16) & 0xffff_ffff, ty) + c
    });
}

#[test]
fn saturation() {
    for (op, sign) in [("add", 1), ("sub", -1)] {
        check(&format!("%x = {op}.sat.s32 %a, %b"), &[Ty::S32; 2], B32, |[a, b, ..]| {
            clamp(number(a, Ty::S32) + sign * number(b, Ty::S32), Ty::S32)
        });
    }
    for op in ["min", "max"] {
        check(&format!("%x = {op}.relu.s32 %a, %b"), &[Ty::S32; 2], B32, |[a, b, ..]| {
            let (a, b) = (number(a, Ty::S32), number(b, Ty::S32));
            low(if op == "min" { a.min(b) } else { a.max(b) }.max(0))
        });
    }
}

#[test]
fn carries() {
    for ty in [Ty::U32, Ty::U64, Ty::S32, Ty::S64] {
        let mask = u128::from(u64::MAX >> (64 - ty.bits()));
        let results = [ty.reg(), Pred];
        let split = |sum: u128| [sum as u64, u64::from(sum > mask)];
        let wide = |v: u64| u128::from(v);
        check2(
            &format!("%x, %y = addc.{ty} %a, %b, %c"),
            &[ty, ty, Ty::Pred],
            results,
            |[a, b, c, _]| split(wide(a) + wide(b) + wide(c)),
        );
        check2(
            &format!("%x, %y = subc.{ty} %a, %b, %c"),
            &[ty, ty, Ty::Pred],
            results,
            |[a, b, c, _]| {
                let borrow = 1 - c;
                [
                    a.wrapping_sub(b).wrapping_sub(borrow),
                    u64::from(wide(a) >= wide(b) + wide(borrow)),
                ]
            },
        );
        let four = [ty, ty, ty, Ty::Pred];
        check2(&format!("%x, %y = madc.{ty} %a, %b, %c, %d"), &four, results, |[a, b, c, d]| {
            split(((wide(a) * wide(b)) & mask) + wide(c) + wide(d))
        });
        check2(&format!("%x, %y = madchi.{ty} %a, %b, %c, %d"), &four, results, |[a, b, c, d]| {
            let product = high(number(a, ty), number(b, ty), ty).cast_unsigned() & mask;
            split(product + wide(c) + wide(d))
        });
    }
}

#[test]
fn quotients() {
    each(&TYPES, "div", 2, |[a, b, _], _| if b == 0 { -1 } else { a / b });
    each(&TYPES, "rem", 2, |[a, b, _], _| if b == 0 { a } else { a % b });
}

#[test]
fn order_and_sign() {
    each(&TYPES, "min", 2, |[a, b, _], _| a.min(b));
    each(&TYPES, "max", 2, |[a, b, _], _| a.max(b));
    each(&TYPES, "neg", 1, |[a, ..], _| -a);
    each(&TYPES, "abs", 1, |[a, ..], _| a.abs());
}

#[test]
fn dot_products() {
    let byte = |word: u64, i: u32, signed: bool| {
        number(word >> (8 * i) & 0xff, if signed { Ty::S8 } else { Ty::U8 })
    };
    let half = |word: u64, i: u32, signed: bool| {
        number(word >> (16 * i) & 0xffff, if signed { Ty::S16 } else { Ty::U16 })
    };
    for (a_ty, b_ty) in
        [(Ty::U32, Ty::U32), (Ty::U32, Ty::S32), (Ty::S32, Ty::U32), (Ty::S32, Ty::S32)]
    {
        let operands = [a_ty, b_ty, Ty::B32];
        let (s, t) = (a_ty.is_signed(), b_ty.is_signed());
        check(&format!("%x = dp4a.{a_ty}.{b_ty} %a, %b, %c"), &operands, B32, |[a, b, c, _]| {
            low((0..4).map(|i| byte(a, i, s) * byte(b, i, t)).sum::<i128>() + i128::from(c))
        });
        for (flag, first) in [("", 0), (".upper", 2)] {
            let inst = format!("%x = dp2a{flag}.{a_ty}.{b_ty} %a, %b, %c");
            check(&inst, &operands, B32, |[a, b, c, _]| {
                let terms = (0..2).map(|i| half(a, i, s) * byte(b, first + i, t));
                low(terms.sum::<i128>() + i128::from(c))
            });
        }
    }
}

#[test]
fn registers_have_all_their_bits() {
    check("%x = mov.b64 %a", &[Ty::B64], RegTy::B64, |[a, ..]| a);
    check("%x = mov.b8 %a", &[Ty::B8], RegTy::B8, |[a, ..]| a);
    check("%x = mov.pred %a", &[Ty::Pred], Pred, |[a, ..]| a);
    check("%x = pack.b64.b16 %a, %b, %c, %d", &[Ty::B16; 4], RegTy::B64, |[a, b, c, d]| {
        a | b << 16 | c << 32 | d << 48
    });
    check2("%x, %y = unpack.b64.b32 %a", &[Ty::B64], [B32, B32], |[a, ..]| [a, a >> 32]);
}
