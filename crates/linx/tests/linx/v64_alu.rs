//! The 64-bit forms that compute on a lane, against formulas written here: integers, bit fields,
//! compares, selects.

use crate::common::{LANES, lanes, numbers};

fn s(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

fn z(value: u64, bits: u32) -> u64 {
    value << (64 - bits) >> (64 - bits)
}

/// Text, and the destination lane from lane number and operands.
type Case = (&'static str, fn(usize, u64, u64, u64) -> u64);

fn width(text: &str) -> u32 {
    match text.rsplit('.').next() {
        Some("w") => 32,
        Some("h") => 16,
        Some("b") => 8,
        _ => 64,
    }
}

fn check(cases: &[Case]) {
    for (text, formula) in cases {
        for seed in 0..3 {
            let (a, b, c) = (numbers(seed), numbers(seed + 10), numbers(seed + 20));
            let (got, _) = lanes(text, &a, &b, &c);
            for lane in 0..LANES {
                let want = z(formula(lane, a[lane], b[lane], c[lane]), width(text));
                let inputs = (a[lane], b[lane], c[lane]);
                assert_eq!(got[lane], want, "{text}, lane {lane}: {inputs:x?}");
            }
        }
    }
}

/// Checks `V.ADD`, `V.SUB`, `V.AND`, `V.OR`, `V.XOR`: types, widths, modifiers and shifts of the
/// right operand.
#[test]
fn arithmetic_and_logic() {
    check(&[
        ("v.add vt#1.sw, vu#1.uh<<3, ->vn.w", |_, a, b, _| {
            (s(a, 32) as u64).wrapping_add(z(b, 16) << 3)
        }),
        ("v.add vt#1.ud, vu#1.sd.neg, ->vn.d", |_, a, b, _| a.wrapping_sub(b)),
        ("v.add vt#1.ub, vu#1.sb.neg<<7, ->vn.d", |_, a, b, _| {
            z(a, 8).wrapping_add((s(b, 8).wrapping_neg() as u64) << 7)
        }),
        ("v.sub vt#1.sb, vu#1.sw, ->vn.h", |_, a, b, _| s(a, 8).wrapping_sub(s(b, 32)) as u64),
        ("v.sub vt#1.ud, vu#1.ud<<31, ->vn.d", |_, a, b, _| a.wrapping_sub(b << 31)),
        ("v.and vt#1.ud, vu#1.uw.not<<4, ->vn.d", |_, a, b, _| a & (!z(b, 32) << 4)),
        ("v.and vt#1.uw, vu#1.uw, ->vn.w", |_, a, b, _| a & b),
        ("v.or vt#1.uh, vu#1.sb, ->vn.d", |_, a, b, _| z(a, 16) | s(b, 8) as u64),
        ("v.or vt#1.ud, vu#1.ud.not, ->vn.d", |_, a, b, _| a | !b),
        ("v.xor vt#1.sh, vu#1.uw<<1, ->vn.d", |_, a, b, _| s(a, 16) as u64 ^ z(b, 32) << 1),
        ("v.xor vt#1.ub, vu#1.ub, ->vn.b", |_, a, b, _| a ^ b),
    ]);
}

/// Checks `V.ADDI`, `V.SUBI`, `V.ANDI`, `V.ORI`, `V.XORI`: unsigned immediates of sums, signed ones
/// of logic.
#[test]
fn immediates() {
    check(&[
        ("v.addi vt#1.uh, 4095, ->vn.w", |_, a, _, _| z(a, 16) + 4095),
        ("v.addi vt#1.sd, 1, ->vn.d", |_, a, _, _| a.wrapping_add(1)),
        ("v.subi vt#1.uw, 4095, ->vn.d", |_, a, _, _| z(a, 32).wrapping_sub(4095)),
        ("v.andi vt#1.sw, -5, ->vn.d", |_, a, _, _| s(a, 32) as u64 & -5i64 as u64),
        ("v.ori vt#1.uw, -2048, ->vn.d", |_, a, _, _| z(a, 32) | -2048i64 as u64),
        ("v.xori vt#1.ub, 2047, ->vn.h", |_, a, _, _| z(a, 8) ^ 2047),
    ]);
}

/// Checks `V.SLL`, `V.SRL`, `V.SRA`, `V.SLLI / V.SRLI / V.SRAI`: amounts count modulo the left
/// operand's width.
#[test]
fn shifts() {
    check(&[
        ("v.sll vt#1.uw, vu#1.uw, ->vn.w", |_, a, b, _| z(a, 32) << (b % 32)),
        ("v.sll vt#1.uh, vu#1.ub, ->vn.d", |_, a, b, _| z(a, 16) << (b % 16)),
        ("v.sll vt#1.ud, vu#1.ud, ->vn.d", |_, a, b, _| a << (b % 64)),
        ("v.srl vt#1.sw, vu#1.uw, ->vn.d", |_, a, b, _| z(a, 32) >> (b % 32)),
        ("v.srl vt#1.ud, vu#1.uw, ->vn.d", |_, a, b, _| a >> (b % 64)),
        ("v.sra vt#1.uw, vu#1.uw, ->vn.d", |_, a, b, _| (s(a, 32) >> (b % 32)) as u64),
        ("v.sra vt#1.sb, vu#1.ud, ->vn.w", |_, a, b, _| (s(a, 8) >> (b % 8)) as u64),
        ("v.slli vt#1.uw, 31, ->vn.d", |_, a, _, _| z(a, 32) << 31),
        ("v.srli vt#1.sw, 4, ->vn.d", |_, a, _, _| z(a, 32) >> 4),
        ("v.srai vt#1.sd, 63, ->vn.d", |_, a, _, _| (s(a, 64) >> 63) as u64),
    ]);
}

/// Checks `V.CMP.EQ`, `V.CMP.NE`, `V.CMP.LT`, `V.CMP.GE`, `V.CMP.LTU`, `V.CMP.GEU`: values on
/// extended operands.
#[test]
fn compares() {
    check(&[
        ("v.cmp.eq vt#1.ub, vu#1.ub, ->vn.d", |_, a, b, _| u64::from(z(a, 8) == z(b, 8))),
        ("v.cmp.ne vt#1.uh, vu#1.uh, ->vn.w", |_, a, b, _| u64::from(z(a, 16) != z(b, 16))),
        ("v.cmp.lt vt#1.sw, vu#1.sw, ->vn.d", |_, a, b, _| u64::from(s(a, 32) < s(b, 32))),
        ("v.cmp.lt vt#1.sw, vu#1.ud, ->vn.d", |_, a, b, _| u64::from(s(a, 32) < b as i64)),
        ("v.cmp.ge vt#1.sd, vu#1.sd, ->vn.d", |_, a, b, _| u64::from(a as i64 >= b as i64)),
        ("v.cmp.ltu vt#1.uw, vu#1.uw, ->vn.b", |_, a, b, _| u64::from(z(a, 32) < z(b, 32))),
        ("v.cmp.geu vt#1.ud, vu#1.ud, ->vn.d", |_, a, b, _| u64::from(a >= b)),
    ]);
}

/// Checks `V.CMP.EQI`, `V.CMP.NEI`, `V.CMP.LTI`, `V.CMP.GEI`, `V.CMP.LTUI`, `V.CMP.GEUI`: the
/// immediate's extension.
#[test]
fn compares_with_immediates() {
    check(&[
        ("v.cmp.eqi vt#1.sd, -1, ->vn.d", |_, a, _, _| u64::from(a == u64::MAX)),
        ("v.cmp.nei vt#1.ub, 127, ->vn.d", |_, a, _, _| u64::from(z(a, 8) != 127)),
        ("v.cmp.lti vt#1.sw, -7, ->vn.d", |_, a, _, _| u64::from(s(a, 32) < -7)),
        ("v.cmp.gei vt#1.sh, 2047, ->vn.d", |_, a, _, _| u64::from(s(a, 16) >= 2047)),
        ("v.cmp.ltui vt#1.uh, 4095, ->vn.d", |_, a, _, _| u64::from(z(a, 16) < 4095)),
        ("v.cmp.geui vt#1.ud, 4095, ->vn.d", |_, a, _, _| u64::from(a >= 4095)),
    ]);
}

/// Checks `V.CMP.AND / .OR`, `V.CMP.ANDI / .ORI`: logical, not bitwise.
#[test]
fn logical_compares() {
    check(&[
        ("v.cmp.and vt#1.ub, vu#1.ub, ->vn.d", |_, a, b, _| {
            u64::from(z(a, 8) != 0 && z(b, 8) != 0)
        }),
        ("v.cmp.or vt#1.ub, vu#1.ub, ->vn.d", |_, a, b, _| u64::from(z(a, 8) != 0 || z(b, 8) != 0)),
        ("v.cmp.andi vt#1.ud, 2, ->vn.d", |_, a, _, _| u64::from(a != 0)),
        ("v.cmp.ori vt#1.ud, 0, ->vn.d", |_, a, _, _| u64::from(a != 0)),
    ]);
}

/// Checks `V.CSEL`, `V.PSEL`: by a value under the mask; by a mask or a value for all lanes of the
/// group.
#[test]
fn selects() {
    check(&[
        ("v.csel vm#1.uw, vt#1.ud, vu#1.sd.neg, ->vn.d", |_, a, b, c| {
            if z(c, 32) != 0 { a } else { b.wrapping_neg() }
        }),
        ("v.csel vm#1.ub, vt#1.sw, vu#1.uw, ->vn.d", |_, a, b, c| {
            if z(c, 8) != 0 { s(a, 32) as u64 } else { z(b, 32) }
        }),
        ("v.cmp.ltui lc0.ud, 20, ->p\nv.psel p.ud, vt#1.ud, vu#1.ud, ->vn.d", |lane, a, b, _| {
            if lane < 20 { a } else { b }
        }),
        (
            "v.cmp.ltui lc0.ud, 20, ->p\nv.psel vm#1.uh, vt#1.ud, vu#1.ud.neg, ->vn.d",
            |_, a, b, c| if z(c, 16) != 0 { a } else { b.wrapping_neg() },
        ),
    ]);
}

/// Checks `V.MUL`, `V.MADD`, `V.DIV`, `V.REM`, `V.MAX / V.MIN`: division by zero, overflow, signs
/// by types.
#[test]
fn products_quotients_extremes() {
    check(&[
        ("v.mul vt#1.sw, vu#1.sw, ->vn.w", |_, a, b, _| a.wrapping_mul(b)),
        ("v.mul vt#1.ud, vu#1.ud, ->vn.d", |_, a, b, _| a.wrapping_mul(b)),
        ("v.madd vt#1.ud, vu#1.sw, vm#1.ub, ->vn.d", |_, a, b, c| {
            a.wrapping_mul(s(b, 32) as u64).wrapping_add(z(c, 8))
        }),
        ("v.div vt#1.sw, vu#1.sw, ->vn.w", |_, a, b, _| match s(b, 32) as i32 {
            0 => 0,
            b => (s(a, 32) as i32).wrapping_div(b) as u64,
        }),
        ("v.div vt#1.ud, vu#1.ud, ->vn.d", |_, a, b, _| a.checked_div(b).unwrap_or(0)),
        ("v.div vt#1.sd, vu#1.sd, ->vn.d", |_, a, b, _| match b as i64 {
            0 => 0,
            b => (a as i64).wrapping_div(b) as u64,
        }),
        ("v.rem vt#1.sd, vu#1.sd, ->vn.d", |_, a, b, _| match b as i64 {
            0 => a,
            b => (a as i64).wrapping_rem(b) as u64,
        }),
        ("v.rem vt#1.uw, vu#1.uw, ->vn.w", |_, a, b, _| {
            z(a, 32).checked_rem(z(b, 32)).unwrap_or(z(a, 32))
        }),
        ("v.max vt#1.sw, vu#1.sw, ->vn.d", |_, a, b, _| s(a, 32).max(s(b, 32)) as u64),
        ("v.max vt#1.ud, vu#1.ud, ->vn.d", |_, a, b, _| a.max(b)),
        ("v.min vt#1.sd, vu#1.ud, ->vn.d", |_, a, b, _| (a as i64).min(b as i64) as u64),
        ("v.min vt#1.uh, vu#1.uh, ->vn.d", |_, a, b, _| z(a, 16).min(z(b, 16))),
    ]);
}

/// A field of `n` bits from bit `m` on in a ring of `bits`, bit by bit.
fn field(value: u64, m: u32, n: u32, bits: u32) -> u64 {
    (0..n.min(bits)).map(|i| (value >> ((m + i) % bits) & 1) << i).sum()
}

fn ring_mask(m: u32, n: u32, bits: u32) -> u64 {
    (0..n.min(bits)).map(|i| 1u64 << ((m + i) % bits)).sum()
}

/// Checks `V.BXU / V.BXS`, `V.BIC / V.BIS`, `V.BCNT / V.CLZ / V.CTZ`, `V.REV`: fields that wrap,
/// and longer than the operand.
#[test]
fn bit_fields() {
    check(&[
        ("v.bxu vt#1.uw, 28, 9, ->vn.d", |_, a, _, _| field(a, 28, 9, 32)),
        ("v.bxu vt#1.ud, 60, 64, ->vn.d", |_, a, _, _| a.rotate_right(60)),
        ("v.bxu vt#1.uh, 3, 40, ->vn.d", |_, a, _, _| field(a, 3, 40, 16)),
        ("v.bxs vt#1.uw, 5, 6, ->vn.d", |_, a, _, _| s(field(a, 5, 6, 32), 6) as u64),
        ("v.bic vt#1.uw, 30, 4, ->vn.d", |_, a, _, _| z(a, 32) & !ring_mask(30, 4, 32)),
        ("v.bis vt#1.ud, 62, 5, ->vn.d", |_, a, _, _| a | ring_mask(62, 5, 64)),
        ("v.bcnt vt#1.ub, 6, 5, ->vn.d", |_, a, _, _| u64::from(field(a, 6, 5, 8).count_ones())),
        ("v.clz vt#1.ud, 8, 20, ->vn.d", |_, a, _, _| {
            (0..20).rev().position(|i| field(a, 8, 20, 64) >> i & 1 == 1).unwrap_or(20) as u64
        }),
        ("v.ctz vt#1.uw, 8, 20, ->vn.d", |_, a, _, _| {
            (0..20).position(|i| field(a, 8, 20, 32) >> i & 1 == 1).unwrap_or(20) as u64
        }),
        ("v.rev vt#1.ud, 0, 64, ->vn.d", |_, a, _, _| a.swap_bytes()),
        ("v.rev vt#1.uw, 8, 24, ->vn.d", |_, a, _, _| {
            let f = field(a, 8, 24, 32);
            (f & 0xff) << 16 | f & 0xff00 | f >> 16
        }),
        ("v.rev vt#1.uw, 0, 12, ->vn.d", |_, _, _, _| 0),
    ]);
}

/// Compares with `->p` clear the bits of lanes that are off; with group operands alone the
/// condition is that of all.
#[test]
fn masks() {
    let zeros = vec![0; LANES];
    let after = |body: &str| {
        let save = "v.addi p.ud, 0, ->t.d\nv.xori zero.ud, -1, ->p\nv.addi t#1.ud, 0, ->vn.d";
        lanes(&format!("{body}\n{save}"), &zeros, &zeros, &zeros).0[0]
    };
    assert_eq!(after("v.cmp.ltui lc0.ud, 12, ->p"), 0xfff);
    assert_eq!(after("v.cmp.ltui lc0.ud, 12, ->p\nv.cmp.geui lc0.ud, 4, ->p"), 0xff0);
    assert_eq!(after("v.cmp.ltui lc0.ud, 12, ->p\nv.cmp.eqi zero.ud, 0, ->p"), 0xfff);
    assert_eq!(after("v.cmp.ltui lc0.ud, 12, ->p\nv.cmp.nei zero.ud, 0, ->p"), 0);
    assert_eq!(after("v.cmp.ltui lc0.ud, 12, ->p\nv.feq vt#1.fs, vt#1.fs, ->p"), 0xfff);
    assert_eq!(after("v.addi zero.ud, 5, ->p"), 5);
}

#[test]
fn lanes_that_are_off_keep_the_entry_before() {
    let a = numbers(3);
    let body = "v.addi vt#1.ud, 0, ->vn.d
                v.cmp.lti lc0.sw, 5, ->p
                v.addi vn#1.ud, 7, ->vn.d";
    let (got, _) = lanes(body, &a, &a, &a);
    let want = a.iter().enumerate().map(|(lane, v)| if lane < 5 { v.wrapping_add(7) } else { *v });
    assert_eq!(got, want.collect::<Vec<u64>>());
}
