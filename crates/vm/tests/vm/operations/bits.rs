//! Logic, shifts and bit fields, bit by bit as the PTX ISA defines them.

use crate::operations::harness::check;
use crate::operations::integer::{low, number};
use ir::RegTy::{B32, Pred};
use ir::Ty;

type Binary = fn(u64, u64) -> u64;

const BITS: [Ty; 3] = [Ty::B16, Ty::B32, Ty::B64];
const WIDE: [Ty; 2] = [Ty::B32, Ty::B64];

#[test]
fn logic() {
    let ops: [(&str, Binary); 4] = [
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("andn", |a, b| a & !b),
    ];
    for ty in BITS.into_iter().chain([Ty::Pred]) {
        for (op, f) in ops {
            check(&format!("%x = {op}.{ty} %a, %b"), &[ty, ty], ty.reg(), |[a, b, ..]| f(a, b));
        }
        check(&format!("%x = not.{ty} %a"), &[ty], ty.reg(), |[a, ..]| !a);
    }
    for ty in BITS {
        check(&format!("%x = cnot.{ty} %a"), &[ty], ty.reg(), |[a, ..]| u64::from(a == 0));
    }
    for table in [0x80, 0x96, 0xe8, 0x01] {
        let f = move |a: u64, b: u64, c: u64| {
            let bit = |i: u32| table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1;
            (0..32).map(|i| bit(i) << i).sum::<u64>()
        };
        check(&format!("%x = lop3.b32 %a, %b, %c, {table}"), &[Ty::B32; 3], B32, |[a, b, c, _]| {
            f(a, b, c)
        });
        let operands = [Ty::B32, Ty::B32, Ty::B32, Ty::Pred];
        let inst = format!("%y, %x = lop3.or.b32 %a, %b, %c, {table}, %d");
        crate::operations::harness::check2(&inst, &operands, [Pred, B32], |[a, b, c, d]| {
            let value = f(a, b, c);
            [u64::from(value != 0) | d, value]
        });
    }
}

#[test]
fn shifts() {
    for ty in BITS {
        check(&format!("%x = shl.{ty} %a, %b"), &[ty, Ty::B32], ty.reg(), |[a, n, ..]| {
            if n >= u64::from(ty.bits()) { 0 } else { a << n }
        });
    }
    for ty in [Ty::B16, Ty::B32, Ty::B64, Ty::U16, Ty::U32, Ty::U64, Ty::S16, Ty::S32, Ty::S64] {
        check(&format!("%x = shr.{ty} %a, %b"), &[ty, Ty::B32], ty.reg(), |[a, n, ..]| {
            low(number(a, ty) >> n.min(127))
        });
    }
    for (flag, wrap) in [("", false), (".wrap", true)] {
        let amount = move |n: u64| if wrap { n & 31 } else { n.min(32) };
        let both = |a: u64, b: u64| b << 32 | a;
        let operands = [Ty::B32; 3];
        check(&format!("%x = shfl2{flag}.b32 %a, %b, %c"), &operands, B32, |[a, b, n, _]| {
            low(((i128::from(both(a, b)) << amount(n)) >> 32) & 0xffff_ffff)
        });
        check(&format!("%x = shfr2{flag}.b32 %a, %b, %c"), &operands, B32, |[a, b, n, _]| {
            both(a, b) >> amount(n)
        });
    }
}

#[test]
fn bit_fields() {
    for ty in [Ty::U32, Ty::U64, Ty::S32, Ty::S64] {
        let top = u64::from(ty.bits() - 1);
        check(
            &format!("%x = bfe.{ty} %a, %b, %c"),
            &[ty, Ty::B32, Ty::B32],
            ty.reg(),
            |[a, b, c, _]| {
                let (position, length) = (b & 0xff, c & 0xff);
                let signed = ty.is_signed() && length > 0;
                let fill = if signed { a >> (position + length - 1).min(top) & 1 } else { 0 };
                let bit = |i| {
                    if i < length && position + i <= top { a >> (position + i) & 1 } else { fill }
                };
                (0..=top).map(|i| bit(i) << i).sum()
            },
        );
        check(&format!("%x = bfind.{ty} %a"), &[ty], B32, |[a, ..]| {
            find(a, ty).unwrap_or(u64::MAX)
        });
        check(&format!("%x = bfind.shiftamt.{ty} %a"), &[ty], B32, |[a, ..]| {
            find(a, ty).map_or(u64::MAX, |i| top - i)
        });
    }
    for ty in WIDE {
        let top = u64::from(ty.bits() - 1);
        let operands = [ty, ty, Ty::B32, Ty::B32];
        check(&format!("%x = bfi.{ty} %a, %b, %c, %d"), &operands, ty.reg(), |[a, b, c, d]| {
            let (position, length) = (c & 0xff, d & 0xff);
            let inside = |i: u64| i >= position && i - position < length;
            let bit = |i: u64| if inside(i) { a >> (i - position) & 1 } else { b >> i & 1 };
            (0..=top).map(|i| bit(i) << i).sum()
        });
        check(&format!("%x = brev.{ty} %a"), &[ty], ty.reg(), |[a, ..]| {
            (0..=top).map(|i| (a >> i & 1) << (top - i)).sum()
        });
        check(&format!("%x = popc.{ty} %a"), &[ty], B32, |[a, ..]| {
            (0..64).map(|i| a >> i & 1).sum()
        });
        check(&format!("%x = clz.{ty} %a"), &[ty], B32, |[a, ..]| {
            (0..=top).rev().take_while(|i| a >> i & 1 == 0).count() as u64
        });
    }
}

/// The position of the most significant bit that differs from the sign.
fn find(a: u64, ty: Ty) -> Option<u64> {
    let sign = if ty.is_signed() { a >> (ty.bits() - 1) & 1 } else { 0 };
    (0..u64::from(ty.bits())).rev().find(|i| a >> i & 1 != sign)
}

#[test]
fn bytes_are_picked() {
    let byte = |a: u64, b: u64, i: u64| (b << 32 | a) >> (8 * (i & 7)) & 0xff;
    check("%x = prmt.b32 %a, %b, %c", &[Ty::B32; 3], B32, |[a, b, c, _]| {
        let pick = |i: u32| {
            let selector = c >> (4 * i) & 15;
            let value = byte(a, b, selector);
            let sign = if value & 0x80 != 0 { 0xff } else { 0 };
            if selector & 8 != 0 { sign } else { value }
        };
        (0..4).map(|i| pick(i) << (8 * i)).sum()
    });
    // Which byte each mode puts at position `i`, by the two low bits of the control.
    let modes: [(&str, Binary); 6] = [
        ("f4e", |n, i| n + i),
        ("b4e", |n, i| n + 8 - i),
        ("rc8", |n, _| n),
        ("ecl", |n, i| n.max(i)),
        ("ecr", |n, i| n.min(i)),
        ("rc16", |n, i| 2 * (n & 1) + (i & 1)),
    ];
    for (mode, from) in modes {
        check(&format!("%x = prmt.{mode}.b32 %a, %b, %c"), &[Ty::B32; 3], B32, |[a, b, c, _]| {
            (0..4).map(|i| byte(a, b, from(c & 3, i)) << (8 * i)).sum()
        });
    }
}

#[test]
fn masks_of_ones_and_extensions() {
    use simt::arith::int::{self, Overshift};
    for (flag, rule) in [("", Overshift::Clamp), (".wrap", Overshift::Wrap)] {
        check(&format!("%x = bmsk{flag}.b32 %a, %b"), &[Ty::B32; 2], B32, |[a, b, ..]| {
            let wrap = rule == Overshift::Wrap;
            let (position, width) = if wrap { (a & 31, b & 31) } else { (a.min(32), b.min(32)) };
            ((1u64 << width) - 1) << position
        });
        for ty in [Ty::U32, Ty::S32] {
            check(&format!("%x = szext{flag}.{ty} %a, %b"), &[ty, Ty::B32], B32, |[a, b, ..]| {
                match ty {
                    Ty::U32 => int::szext::<u32>(a, b, rule),
                    _ => int::szext::<i32>(a, b, rule),
                }
            });
        }
    }
    check("%x = fns.b32 %a, %b, %c", &[Ty::B32; 3], B32, |[a, b, c, _]| int::fns(a, b, c));
}
