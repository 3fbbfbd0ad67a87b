//! The 43 tile operations against formulas written here, in every element type that is specified;
//! both numberings.

use crate::common::{assembled, bytes, run_with};
use isa::testing::Rng;
use linx::names::TILE_OPS;
use linx::{Options, TileOps, Trap};

const COLUMNS: usize = 6;
const ROWS: usize = 5;
const COUNT: usize = COLUMNS * ROWS;

/// An element type: name, bits, kind.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
    /// The upper half of a single.
    Brain,
}

type Type = (&'static str, u32, Kind);

const TYPES: [Type; 12] = [
    ("INT64", 64, Kind::Signed),
    ("INT32", 32, Kind::Signed),
    ("INT16", 16, Kind::Signed),
    ("INT8", 8, Kind::Signed),
    ("UINT64", 64, Kind::Unsigned),
    ("UINT32", 32, Kind::Unsigned),
    ("UINT16", 16, Kind::Unsigned),
    ("UINT8", 8, Kind::Unsigned),
    ("FP64", 64, Kind::Float),
    ("FP32", 32, Kind::Float),
    ("FP16", 16, Kind::Float),
    ("BF16", 16, Kind::Brain),
];

/// A half-precision number's value.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

fn value(raw: u64, (_, bits, kind): Type) -> f64 {
    match (kind, bits) {
        (Kind::Brain, _) => f64::from(f32::from_bits((raw as u32) << 16)),
        (_, 64) => f64::from_bits(raw),
        (_, 32) => f64::from(f32::from_bits(raw as u32)),
        _ => half(raw as u16),
    }
}

/// The nearest number of a type; the float tests use numbers whose results are exact, or compare by
/// units.
fn nearest(x: f64, ty: Type) -> u64 {
    let wrong = |raw: u64| (value(raw, ty) - x).abs();
    match (ty.2, ty.1) {
        (_, 64) => x.to_bits(),
        (Kind::Float, 32) => u64::from((x as f32).to_bits()),
        (Kind::Brain, _) => {
            let low = u64::from((x as f32).to_bits() >> 16);
            // Cut off, or one up; ties do not occur.
            if wrong(low) <= wrong(low + 1) { low } else { low + 1 }
        }
        _ => {
            // Positive halves ascend with their bits; the largest finite one is 0x7bff.
            let size = x.abs();
            let (mut best, mut step) = (0u64, 0x4000);
            while step > 0 {
                if best + step <= 0x7bff && value(best + step, ty) <= size {
                    best += step;
                }
                step /= 2;
            }
            if best < 0x7bff && value(best + 1, ty) - size < size - value(best, ty) {
                best += 1;
            }
            best | if x.is_sign_negative() { 0x8000 } else { 0 }
        }
    }
}

fn extended(raw: u64, (_, bits, kind): Type) -> i128 {
    let unused = 64 - bits;
    match kind {
        Kind::Signed => i128::from((raw << unused) as i64 >> unused),
        _ => i128::from(raw << unused >> unused),
    }
}

fn cut(x: i128, bits: u32) -> u64 {
    x as u64 & (u64::MAX >> (64 - bits))
}

/// One element of an element-wise operation on integers; none where it has none.
fn integer(op: &str, a: u64, b: u64, ty: Type) -> Option<u64> {
    let (x, y, bits) = (extended(a, ty), extended(b, ty), ty.1);
    let amount = (b & u64::from(bits - 1)) as u32;
    let least = -(1i128 << (bits - 1));
    let result = match op {
        "TADD" => x + y,
        "TSUB" => x - y,
        "TMUL" => x.wrapping_mul(y),
        "TDIV" if y == 0 || (ty.2 == Kind::Signed && x == least && y == -1) => 0,
        "TDIV" => x / y,
        "TMAX" => x.max(y),
        "TMIN" => x.min(y),
        "TAND" => x & y,
        "TOR" => x | y,
        "TXOR" => x ^ y,
        "TSHL" => x << amount,
        "TSHR" => x >> amount,
        "TRELU" => x.max(0),
        "TPRELU" => {
            if x > 0 {
                x
            } else {
                x.wrapping_mul(y)
            }
        }
        _ => return None,
    };
    Some(cut(result, bits))
}

fn float(op: &str, x: f64, y: f64) -> Option<f64> {
    Some(match op {
        "TADD" => x + y,
        "TSUB" => x - y,
        "TMUL" => x * y,
        "TDIV" => x / y,
        "TMAX" => x.max(y),
        "TMIN" => x.min(y),
        "TRELU" => x.max(0.0),
        "TPRELU" => {
            if x > 0.0 {
                x
            } else {
                x * y
            }
        }
        "TEXP" => x.exp(),
        "TLOG" => x.ln(),
        "TSQRT" => x.sqrt(),
        "TRSQRT" => 1.0 / x.sqrt(),
        "TRECIP" => 1.0 / x,
        _ => return None,
    })
}

fn one(op: &str, a: u64, b: u64, ty: Type) -> Option<u64> {
    match ty.2 {
        Kind::Signed | Kind::Unsigned => integer(op, a, b, ty),
        _ => float(op, value(a, ty), value(b, ty)).map(|x| nearest(x, ty)),
    }
}

fn fold(op: &str, values: impl Iterator<Item = u64>, ty: Type) -> Option<u64> {
    let op = match op {
        "MAX" => "TMAX",
        "MIN" => "TMIN",
        _ => "TADD",
    };
    values.map(Some).reduce(|t, v| one(op, t?, v?, ty))?
}

/// The whole result by the operation's plain reading.
fn expected(op: &str, a: &[u64], b: &[u64], scalar: u64, ty: Type) -> Option<Vec<u64>> {
    let at = |r: usize, c: usize| a[r * COLUMNS + c];
    let scalar = scalar & (u64::MAX >> (64 - ty.1));
    let index = |i: usize| usize::try_from(extended(b[i], ty)).ok().filter(|&k| k < COUNT);
    Some(match op {
        "TEXPANDS" => vec![scalar; COUNT],
        "TRESHAPE" => a[..COUNT].to_vec(),
        "TTRANSPOSE" => (0..COUNT).map(|i| at(i % ROWS, i / ROWS)).collect(),
        "TCOLEXPAND" => (0..COUNT).map(|i| a[i / COLUMNS]).collect(),
        "TROWEXPAND" => (0..COUNT).map(|i| a[i % COLUMNS]).collect(),
        "TGATHER" => (0..COUNT).map(|i| index(i).map_or(0, |k| a[k])).collect(),
        "TSCATTER" => {
            let mut out = vec![0; COUNT];
            (0..COUNT).filter_map(|i| Some((i, index(i)?))).for_each(|(i, k)| out[k] = a[i]);
            out
        }
        _ if op.starts_with("TROW") => {
            let row = |r: usize| fold(&op[4..], (0..COLUMNS).map(|c| at(r, c)), ty);
            (0..ROWS).map(row).collect::<Option<_>>()?
        }
        _ if op.starts_with("TCOL") => {
            let column = |c: usize| fold(&op[4..], (0..ROWS).map(|r| at(r, c)), ty);
            (0..COLUMNS).map(column).collect::<Option<_>>()?
        }
        _ => {
            let by_scalar = TILE_OPS.iter().any(|o| o.name == op && o.v04 >= 0x20);
            let stem = if by_scalar { op.strip_suffix('S')? } else { op };
            let second = |i: usize| if by_scalar { scalar } else { b[i] };
            (0..COUNT).map(|i| one(stem, a[i], second(i), ty)).collect::<Option<_>>()?
        }
    })
}

fn packed(values: &[u64], bits: u32) -> Vec<u8> {
    let size = bits as usize / 8;
    values.iter().flat_map(|v| v.to_le_bytes()[..size].to_vec()).collect()
}

fn unpacked(bytes: &[u8], bits: u32) -> Vec<u64> {
    let wide = |c: &[u8]| c.iter().rev().fold(0, |t, &b| t << 8 | u64::from(b));
    bytes.chunks(bits as usize / 8).map(wide).collect()
}

/// Loads tiles A and B, applies an operation, stores the result tile. `a3` is the scalar, `s1`
/// takes the export.
fn apply(
    op: &str,
    ty: Type,
    (a, b, scalar): (&[u64], &[u64], u64),
    extra: &str,
    tile_ops: TileOps,
) -> Result<(Vec<u8>, u64), Trap> {
    let sources = TILE_OPS.iter().find(|o| o.name == op).map_or(0, |o| o.sources);
    let inputs = ["", "t#2", "t#2, t#1"][usize::from(sources)];
    let load = |buffer: &str| {
        format!(
            "BSTART.TLOAD {}\nB.ARG NORM.normal\nB.IOR [{buffer}],[]\nB.IOTI [], last ->t<4KB>\n",
            ty.0
        )
    };
    let source = format!(
        "_start: C.BSTART.STD
         ldi [a3, 0], ->s0
         {}{}BSTART.TEPL {op}, {}
         B.IOR [s0],[s1]
         B.IOTI [{inputs}], last ->u<1KB>
         C.B.DIMI {COLUMNS}, ->lb0
         C.B.DIMI {ROWS}, ->lb1
         {extra}
         BSTART.TSTORE {}
         B.ARG NORM.normal
         B.IOR [a2],[]
         B.IOTI [u#1], last
         C.BSTART.STD
         c.movi 0, ->a0
         ebreak 0",
        load("a0"),
        load("a1"),
        ty.0,
        ty.0
    );
    let buffers = [packed(a, ty.1), packed(b, ty.1), Vec::new(), scalar.to_le_bytes().to_vec()];
    let (state, trap) = run_with(&source, &buffers, Options::default(), tile_ops);
    match trap {
        Some(trap) => Err(trap),
        None => Ok((bytes(&state, 2, 1024), state.register(12).unwrap())),
    }
}

fn inputs(seed: u64, ty: Type, positive: bool) -> (Vec<u64>, Vec<u64>, u64) {
    let mut random = Rng::new(seed);
    let mut draw = |small: bool| -> u64 {
        let bits = random.bits();
        match ty.2 {
            Kind::Signed | Kind::Unsigned if small => cut(i128::from(bits % 40) - 5, ty.1),
            Kind::Signed | Kind::Unsigned => {
                let edges = [0, u64::MAX, 1 << (ty.1 - 1), bits];
                cut(i128::from(edges[bits as usize % 4]), ty.1)
            }
            _ => {
                // Quarters: sums and products are exact in every format.
                let quarter = (bits % 33) as f64 / 4.0 - if positive { -0.25 } else { 4.0 };
                nearest(quarter, ty)
            }
        }
    };
    let a = (0..COUNT).map(|_| draw(false)).collect();
    let b = (0..COUNT).map(|i| draw(i % 2 == 0)).collect();
    let low = draw(true);
    // What lies above the element's bits must not matter.
    let scalar = if ty.1 == 64 { low } else { low | 0xabcd_ef00 << 32 };
    (a, b, scalar)
}

fn close(got: u64, want: u64, ty: Type) -> bool {
    let (x, y) = (value(got, ty), value(want, ty));
    let unit = match (ty.2, ty.1) {
        (Kind::Brain, _) => 2f64.powi(-7),
        (_, 64) => 2f64.powi(-51),
        (_, 32) => 2f64.powi(-22),
        _ => 2f64.powi(-10),
    };
    got == want || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1.5 * unit * y.abs()
}

/// Runs operations in every type against the formulas; a type that an operation does not have is
/// illegal.
fn check(ops: &[&str]) {
    for &op in ops {
        for ty in TYPES {
            let inexact =
                matches!(op, "TDIV" | "TDIVS" | "TEXP" | "TLOG" | "TSQRT" | "TRSQRT" | "TRECIP");
            for seed in 0..3 {
                let (a, mut b, scalar) = inputs(seed, ty, inexact);
                if matches!(op, "TGATHER" | "TSCATTER") {
                    let index = |(i, v): (usize, &u64)| {
                        if i % 7 == 6 { *v } else { (i as u64 * 11) % COUNT as u64 }
                    };
                    b = b.iter().enumerate().map(index).collect();
                }
                let got = apply(op, ty, (&a, &b, scalar), "", TileOps::V04);
                let Some(want) = expected(op, &a, &b, scalar, ty) else {
                    let trap = got.expect_err("an operation that this type does not have");
                    assert_eq!(
                        (trap.trapno(), trap.bi),
                        (0x4000_0001_0000_0004, false),
                        "{op} {ty:?}"
                    );
                    continue;
                };
                let got = unpacked(&got.unwrap().0, ty.1);
                for (i, &w) in want.iter().enumerate() {
                    let same = if inexact && !matches!(ty.2, Kind::Signed | Kind::Unsigned) {
                        close(got[i], w, ty)
                    } else {
                        got[i] == w
                    };
                    assert!(same, "{op} {} element {i}: {:x}, expected {w:x}", ty.0, got[i]);
                }
                assert!(got[want.len()..].iter().all(|&v| v == 0), "{op}: beyond the result");
            }
        }
    }
}

/// Checks `TADD`, `TSUB`, `TMUL`, `TDIV`, `TMAX`, `TMIN`: two tiles; integers wrap, a quotient
/// without a value is 0.
#[test]
fn arithmetic() {
    check(&["TADD", "TSUB", "TMUL", "TDIV", "TMAX", "TMIN"]);
}

/// Checks `TAND`, `TOR`, `TXOR`, `TSHL`, `TSHR`: integers only; amounts modulo the width, the sign
/// by the type.
#[test]
fn bits() {
    check(&["TAND", "TOR", "TXOR", "TSHL", "TSHR"]);
}

/// Checks `TRELU`, `TPRELU`.
#[test]
fn rectifiers() {
    check(&["TRELU", "TPRELU"]);
}

/// Checks `TEXP`, `TLOG`, `TSQRT`, `TRSQRT`, `TRECIP`: floats only, within one and a half units of
/// double precision.
#[test]
fn functions() {
    check(&["TEXP", "TLOG", "TSQRT", "TRSQRT", "TRECIP"]);
}

/// Checks `TROWMAX`, `TROWMIN`, `TROWSUM`, `TCOLMAX`, `TCOLMIN`, `TCOLSUM`: one result a row, or a
/// column.
#[test]
fn reductions() {
    check(&["TROWMAX", "TROWMIN", "TROWSUM", "TCOLMAX", "TCOLMIN", "TCOLSUM"]);
}

/// Checks `TEXPANDS`, `TCOLEXPAND`, `TROWEXPAND`, `TRESHAPE`, `TTRANSPOSE`, `TGATHER`, `TSCATTER`:
/// what moves elements.
#[test]
fn movements() {
    check(&[
        "TEXPANDS",
        "TCOLEXPAND",
        "TROWEXPAND",
        "TRESHAPE",
        "TTRANSPOSE",
        "TGATHER",
        "TSCATTER",
    ]);
}

/// Checks `TADDS`, `TSUBS`, `TMULS`, `TDIVS`, `TMAXS`, `TMINS`, `TANDS`, `TORS`, `TXORS`, `TSHLS`,
/// `TSHRS`: the scalar's low bits with the element's sign; B.ARG has no effect on it.
#[test]
fn scalars() {
    let ops = [
        "TADDS", "TSUBS", "TMULS", "TDIVS", "TMAXS", "TMINS", "TANDS", "TORS", "TXORS", "TSHLS",
        "TSHRS",
    ];
    check(&ops);
    let ty = TYPES[3];
    for op in ops {
        let (a, b, scalar) = inputs(9, ty, false);
        let plain = apply(op, ty, (&a, &b, scalar), "", TileOps::V04).unwrap();
        for arg in ["B.ARG NORM.normal", "B.ARG 17", "B.ARG ND2NZ"] {
            assert_eq!(
                apply(op, ty, (&a, &b, scalar), arg, TileOps::V04).unwrap(),
                plain,
                "{op} {arg}"
            );
        }
    }
}

/// Checks `TCVT`: to the type that B.ARG names by its number, against the host's casts.
#[test]
fn conversions() {
    let number = |name: &str| linx::names::DATA_TYPES.iter().find(|(n, _)| *n == name).unwrap().1;
    for from in TYPES {
        for to in TYPES {
            let (a, b, scalar) = inputs(4, from, false);
            let arg = format!("B.ARG {}", number(to.0));
            let got = apply("TCVT", from, (&a, &b, scalar), &arg, TileOps::V04).unwrap().0;
            let got = unpacked(&got, to.1);
            for i in 0..COUNT {
                let want = match (from.2, to.2) {
                    (Kind::Signed | Kind::Unsigned, Kind::Signed | Kind::Unsigned) => {
                        cut(extended(a[i], from), to.1)
                    }
                    (Kind::Signed | Kind::Unsigned, _) => {
                        let x = extended(a[i], from);
                        match (to.2, to.1) {
                            (_, 64) => (x as f64).to_bits(),
                            (Kind::Float, 32) => u64::from((x as f32).to_bits()),
                            // Large numbers do not fit halves: compare what is exact.
                            _ if x.abs() < 256 => nearest(x as f64, to),
                            _ => continue,
                        }
                    }
                    (_, Kind::Signed | Kind::Unsigned) => {
                        let x = value(a[i], from).trunc();
                        let low =
                            if to.2 == Kind::Signed { -(2f64.powi(to.1 as i32 - 1)) } else { 0.0 };
                        cut(x.max(low) as i128, to.1)
                    }
                    _ => nearest(value(a[i], from), to),
                };
                assert_eq!(got[i], want, "{} to {}, {:x}", from.0, to.0, a[i]);
            }
        }
    }
}

/// The export of a division tells what happened: a zero divisor, an overflow, a NaN.
#[test]
fn division_status() {
    let ty = TYPES[1];
    let ones = vec![1; COUNT];
    let status = |ty: Type, a: u64, b: u64| {
        let (mut x, mut y) = (ones.clone(), ones.clone());
        (x[7], y[7]) = (a, b);
        apply("TDIV", ty, (&x, &y, 0), "", TileOps::V04).unwrap().1
    };
    assert_eq!([status(ty, 5, 2), status(ty, 5, 0)], [0, 1]);
    assert_eq!(status(ty, 0x8000_0000, 0xffff_ffff), 2);
    assert_eq!(status(TYPES[5], 0x8000_0000, 0xffff_ffff), 0);
    assert_eq!(status(TYPES[9], 0, 0), 1 | 4);
    assert_eq!(apply("TDIVS", ty, (&ones, &ones, 0), "", TileOps::V04).unwrap().1, 1);
}

/// Both numberings: every name has its number, or says why not; every other number is refused
/// everywhere.
#[test]
fn numberings() {
    let word = |number: u64| 0x8800_1181u32 | 0x0200_0000 | (number as u32) << 15;
    for tile_ops in [TileOps::V04, TileOps::V03] {
        let table = linx::table(tile_ops);
        for number in 0..1024u64 {
            let op = tile_ops.find(number);
            let decoded = table.decode_bytes(&word(number).to_le_bytes());
            assert_eq!(decoded.is_ok(), op.is_some(), "{number:#x}");
            let text = format!("BSTART.TEPL {number:#x}, INT32");
            let assembled = linx::assemble(isa::FileId::default(), &text, tile_ops);
            assert_eq!(assembled.is_ok(), op.is_some(), "{number:#x}");
            if op.is_some() || number % 13 != 0 {
                continue;
            }
            let source = format!("_start: .word {:#x}\nC.BSTART.STD\nebreak 0", word(number));
            let (_, trap) = run_with(&source, &[], Options::default(), tile_ops);
            assert_eq!(trap.unwrap().trapno(), 0x4000_0001_0000_0004, "{number:#x}");
        }
    }
    let (a, b, scalar) = inputs(1, TYPES[1], false);
    for op in TILE_OPS {
        let operands = (&a[..], &b[..], scalar);
        let arg = if op.name == "TCVT" { "B.ARG 17" } else { "" };
        match TileOps::V03.by_name(op.name) {
            Ok(number) => {
                assert_eq!(number, op.v03);
                let both = [TileOps::V04, TileOps::V03].map(|ops| {
                    apply(op.name, TYPES[1], operands, arg, ops).map_err(|t| t.trapno())
                });
                assert_eq!(both[0], both[1], "{}", op.name);
            }
            Err(why) => {
                assert!((0x040..=0x045).contains(&op.v03), "{}", op.name);
                assert!(why.contains("no encoding") && why.contains(op.name), "{why}");
            }
        }
    }
    assert_eq!(TileOps::V03.by_name("TCOLEXPAND"), Ok(0x0c0));
    assert_eq!(TileOps::V03.by_name("TROWEXPAND"), Ok(0x0c1));
}

/// 0x027 of v0.3 is refused by assembler, disassembler and machine, and each says why.
#[test]
fn the_legacy_number() {
    let says = "0x027 is legacy, not canonical";
    let text = "BSTART.TEPL 0x027, INT32";
    let errors = linx::assemble(isa::FileId::default(), text, TileOps::V03).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().message, says);
    let word = 0x8a00_1181u32 | 0x27 << 15;
    let listing = linx::listing(&word.to_le_bytes(), TileOps::V03);
    assert!(listing.contains(says) && !listing.contains("TORS"), "{listing}");
    assert!(linx::listing(&word.to_le_bytes(), TileOps::V04).contains("BSTART.TEPL TORS, INT32"));
    let source = format!("_start: .word {word:#x}\nC.BSTART.STD\nebreak 0");
    let (_, trap) = run_with(&source, &[], Options::default(), TileOps::V03);
    assert!(trap.unwrap().detail.contains(says));
    // The same program with the number's v0.4 reading assembles.
    assembled("BSTART.TEPL 0x027, INT32", TileOps::V04);
}
