//! Tile memory and the matrix unit: TLOAD, TSTORE, TMOV, TMATMUL, ACCCVT.

use crate::common::{bytes, run};
use linx::{Options, State, Trap};

/// Runs blocks between the loading of registers and the end. `a0` to `a3` are buffers, `s0` 1.0,
/// `s1` 3, `s2` 40.
fn blocks(text: &str, buffers: &[Vec<u8>]) -> (State, Option<Trap>) {
    let source = format!(
        "_start: C.BSTART.STD
         hl.liu 0x3f800000, ->s0
         c.movi 3, ->s1
         addi zero, 40, ->s2
         {text}
         C.BSTART.STD
         c.movi 0, ->a0
         ebreak 0"
    );
    run(&source, buffers, Options::default())
}

fn counted(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256) as u8).collect()
}

/// Rows of LB0 elements, a stride apart, out of a buffer and back to another with its own stride.
#[test]
fn loads_and_stores_have_strides() {
    let text = "BSTART.TLOAD INT16\nB.ARG NORM.normal\nB.IOR [s2,a0],[]\nB.IOTI [], last ->t<512B>\nC.B.DIMI 5, ->lb0\nC.B.DIMI 4, ->lb1
        BSTART.TSTORE INT16\nB.ARG NORM.normal\nB.IOR [s3,a1],[]\nB.IOTI [t#1], last\nC.B.DIMI 5, ->lb0\nC.B.DIMI 4, ->lb1";
    let text = format!("addi zero, 16, ->s3\n{text}");
    let memory = counted(512);
    let (state, trap) = blocks(&text, &[memory.clone(), Vec::new()]);
    assert_eq!(trap, None);
    let mut want = vec![0; 64];
    for row in 0..4 {
        want[row * 16..row * 16 + 10].copy_from_slice(&memory[row * 40..row * 40 + 10]);
    }
    assert_eq!(bytes(&state, 1, 64), want);
}

/// Without dimensions the whole tile moves, and one scalar is the base.
#[test]
fn loads_without_dimensions() {
    let text = "BSTART.TLOAD FP32\nB.ARG NORM.normal\nB.IOR [a0],[]\nB.IOTI [], last ->m<1KB>
        BSTART.TSTORE FP32\nB.ARG NORM.normal\nB.IOR [a1],[]\nB.IOTI [m#1], last";
    let memory = counted(2048);
    let (state, trap) = blocks(text, &[memory.clone(), Vec::new()]);
    assert_eq!(trap, None);
    assert_eq!(bytes(&state, 1, 1024), memory[..1024]);
    assert_eq!(bytes(&state, 1, 2048)[1024..], [0; 1024]);
}

fn trap(text: &str) -> (u64, Option<u64>, bool) {
    let (_, trap) = blocks(text, &[counted(4096), Vec::new()]);
    let trap = trap.expect("a trap");
    (trap.trapno(), trap.arg, trap.bi)
}

const FORMAT: u64 = 0x4000_0002_0000_0005;

/// A tile is pushed on its hand; A2V would read the accumulator, whose layout no source gives:
/// refused, with the family.
#[test]
fn tiles_move() {
    let load = "BSTART.TLOAD FP32\nB.ARG NORM.normal\nB.IOR [a0],[]\nB.IOTI [], last ->t<512B>\n";
    let store = "BSTART.TSTORE FP32\nB.ARG NORM.normal\nB.IOR [a1],[]\nB.IOTI [u#1], last";
    for arg in ["", "B.ARG V2V\n"] {
        let text = format!("{load}BSTART.TMOV FP32\n{arg}B.IOTI [t#1], last ->u<1KB>\n{store}");
        let (state, trap) = blocks(&text, &[counted(512), Vec::new()]);
        assert_eq!(trap, None);
        assert_eq!(bytes(&state, 1, 512), counted(512));
    }
    let refused = |text: &str| trap(&format!("{load}{text}"));
    assert_eq!(
        refused("BSTART.TMOV FP32\nB.ARG A2V\nB.IOTI [t#1], last ->u<1KB>"),
        (FORMAT, Some(3 | 1 << 8), false)
    );
    let bigger = load.replace("512B", "2KB");
    let small = format!("{bigger}BSTART.TMOV FP32\nB.IOTI [t#1], last ->u<512B>");
    assert_eq!(trap(&small), (FORMAT, Some(5 | 1 << 8), false));
    // No source, no destination.
    assert_eq!(refused("BSTART.TMOV FP32\nB.IOTI [], last ->u<512B>"), (FORMAT, Some(5), false));
    assert_eq!(refused("BSTART.TMOV FP32\nB.IOTI [t#1], last"), (FORMAT, Some(5), false));
}

/// Layouts that have no numbers anywhere are refused, and so are types without a format.
#[test]
fn unsettled_layouts_and_types() {
    for arg in ["ND2NZ", "ND2ZN", "DN2ZN", "DN2NZ"] {
        let text =
            format!("BSTART.TLOAD FP32\nB.ARG {arg}\nB.IOR [a0],[]\nB.IOTI [], last ->t<512B>");
        assert_eq!(trap(&text), (FORMAT, Some(3 | 1 << 8), false), "{arg}");
    }
    for ty in ["FP8", "FPL8", "FP4", "FPL4", "INT4", "UINT4"] {
        let text = format!(
            "BSTART.TLOAD {ty}\nB.ARG NORM.normal\nB.IOR [a0],[]\nB.IOTI [], last ->t<512B>"
        );
        assert_eq!(trap(&text).0, 0x4000_0001_0000_0004, "{ty}");
    }
}

/// Shapes beyond a tile, sources that are too short, destinations that are too small.
#[test]
fn shapes_are_checked() {
    let load = |dims: &str| {
        trap(&format!(
            "BSTART.TLOAD FP32\nB.ARG NORM.normal\nB.IOR [s2,a0],[]\nB.IOTI [], last ->t<512B>\n{dims}"
        ))
    };
    let dim = (FORMAT, Some(1 | 1 << 8), false);
    assert_eq!(load("B.DIM zero, 1025, ->lb0"), dim);
    assert_eq!(load("B.DIM zero, 129, ->lb0"), dim);
    assert_eq!(
        load("B.DIM zero, 131071, ->lb0\nB.DIM zero, 131071, ->lb1\nB.DIM zero, 131071, ->lb2"),
        dim
    );
    let short = "BSTART.TEPL TADD, FP32\nB.IOTI [t#1, t#2], last ->u<512B>\nC.B.DIMI 4, ->lb0";
    assert_eq!(trap(short), (FORMAT, Some(5 | 1 << 8), false));
    // Nothing has been pushed, and nothing is written to memory beyond the rows.
    let beyond = "BSTART.TLOAD FP32\nB.ARG NORM.normal\nB.IOR [a3,a0],[]\nB.IOTI [], last ->t<512B>\nC.B.DIMI 4, ->lb0\nC.B.DIMI 4, ->lb1";
    let (_, fault) = blocks(beyond, &[counted(64), Vec::new(), Vec::new(), Vec::new()]);
    assert_eq!(fault.unwrap().trapno(), 1 << 62 | 35);
}

/// A and B in one type, their product converted to another.
fn product(
    ty: &str,
    out: &str,
    (m, n, k): (usize, usize, usize),
    a: Vec<u8>,
    b: Vec<u8>,
    accumulate: bool,
) -> Vec<u8> {
    let load = |buffer: &str| {
        format!(
            "BSTART.TLOAD {ty}\nB.ARG NORM.normal\nB.IOR [{buffer}],[]\nB.IOTI [], last ->t<1KB>\n"
        )
    };
    let dims = format!("C.B.DIMI {m}, ->lb0\nC.B.DIMI {n}, ->lb1\nC.B.DIMI {k}, ->lb2\n");
    let multiply = |acc: &str| {
        format!(
            "BSTART.TMATMUL{acc} {ty}\nB.ARG NORM.normal\nB.IOTI [t#2, t#1], last ->acc<4KB>\n{dims}"
        )
    };
    let again = if accumulate { multiply(".ACC") } else { String::new() };
    let text = format!(
        "{}{}{}{again}BSTART.ACCCVT {out}\nB.ARG NORM.normal\nB.IOR [s0,s1],[]\nB.IOTI [], last ->u<1KB>\n{dims}
         BSTART.TSTORE {out}\nB.ARG NORM.normal\nB.IOR [a2],[]\nB.IOTI [u#1], last",
        load("a0"),
        load("a1"),
        multiply("")
    );
    let (state, trap) = blocks(&text, &[a, b, Vec::new()]);
    assert_eq!(trap, None);
    bytes(&state, 2, 1024)
}

/// Integers accumulate exactly; the conversion scales by 1.0 and adds the zero point 3.
#[test]
fn products_of_bytes() {
    let (m, n, k) = (5, 3, 7);
    let a: Vec<i8> = (0..m * k).map(|i| (i * 37 % 251) as u8 as i8).collect();
    let b: Vec<i8> = (0..k * n).map(|i| (i * 91 % 241) as u8 as i8).collect();
    let raw = |v: &[i8]| v.iter().map(|&x| x as u8).collect::<Vec<u8>>();
    for accumulate in [false, true] {
        let out = product("INT8", "INT32", (m, n, k), raw(&a), raw(&b), accumulate);
        for row in 0..m {
            for column in 0..n {
                let step = |s: usize| i32::from(a[row * k + s]) * i32::from(b[s * n + column]);
                let sum: i32 = (0..k).map(step).sum();
                let want = if accumulate { 2 * sum + 3 } else { sum + 3 };
                let at = 4 * (row * n + column);
                assert_eq!(i32::from_le_bytes(out[at..at + 4].try_into().unwrap()), want);
            }
        }
    }
}

/// Singles and doubles: one rounding a step, in ascending order.
#[test]
fn products_of_floats() {
    let (m, n, k) = (4, 5, 6);
    let number = |i: usize| (i as f64 * 0.37 - 3.0) / 1.7;
    let (a, b): (Vec<f64>, Vec<f64>) =
        ((0..m * k).map(number).collect(), (0..k * n).map(|i| number(i * 3 % 29)).collect());
    let singles = |v: &[f64]| v.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect::<Vec<u8>>();
    let doubles = |v: &[f64]| v.iter().flat_map(|&x| x.to_le_bytes()).collect::<Vec<u8>>();
    let out = product("FP32", "FP32", (m, n, k), singles(&a), singles(&b), false);
    let wide = product("FP64", "FP64", (m, n, k), doubles(&a), doubles(&b), false);
    for row in 0..m {
        for column in 0..n {
            let (mut single, mut double) = (0.0f32, 0.0f64);
            for s in 0..k {
                let (x, y) = (a[row * k + s], b[s * n + column]);
                single = (x as f32).mul_add(y as f32, single);
                double = x.mul_add(y, double);
            }
            let at = row * n + column;
            assert_eq!(out[4 * at..4 * at + 4], single.to_le_bytes());
            assert_eq!(wide[8 * at..8 * at + 8], double.to_le_bytes());
        }
    }
}

/// Accumulation wants the shape and the kind that are there.
#[test]
fn accumulators_have_a_shape() {
    let load = "BSTART.TLOAD INT8\nB.ARG NORM.normal\nB.IOR [a0],[]\nB.IOTI [], last ->t<1KB>\n";
    let multiply = |acc: &str, m: u32| {
        format!(
            "BSTART.TMATMUL{acc} INT8\nB.ARG NORM.normal\nB.IOTI [t#1, t#1], last ->acc<4KB>\nC.B.DIMI {m}, ->lb0\nC.B.DIMI 2, ->lb1\nC.B.DIMI 2, ->lb2\n"
        )
    };
    let dim = (FORMAT, Some(1 | 1 << 8), false);
    assert_eq!(trap(&format!("{load}{}", multiply(".ACC", 2))), dim);
    assert_eq!(trap(&format!("{load}{}{}", multiply("", 2), multiply(".ACC", 3))), dim);
    let floats = multiply(".ACC", 2).replace("INT8", "FP16");
    assert_eq!(trap(&format!("{load}{}{floats}", multiply("", 2))), dim);
}
