//! Which descriptors each block type must have, may have and must not have.

use crate::common::run;
use linx::{Options, Trap};

const FORMAT: u64 = 0x4000_0002_0000_0005;

/// Families by their numbers in TRAPARG0.
const DIM: u64 = 1;
const TEXT: u64 = 2;
const ARG: u64 = 3;
const IOR: u64 = 4;
const IOT: u64 = 5;

/// A block type: its marker, and descriptors with family and whether they are mandatory. Together
/// they are valid.
struct Block {
    marker: &'static str,
    descriptors: &'static [(u64, bool, &'static str)],
}

/// What must stand before the block: tiles, and an accumulator.
const BEFORE: &str = "BSTART.TLOAD FP32
    B.ARG NORM.normal
    B.IOR [a0],[]
    B.IOTI [], last ->t<512B>
    BSTART.TMATMUL FP32
    B.ARG NORM.normal
    B.IOTI [t#1, t#1], last ->acc<4KB>
    C.B.DIMI 4, ->lb0
    C.B.DIMI 4, ->lb1
    C.B.DIMI 4, ->lb2";

fn execute(marker: &str, descriptors: &[&str]) -> Option<Trap> {
    let source = format!(
        "_start: {BEFORE}\n{marker}\n{}\nend: C.BSTOP\nC.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody: C.BSTOP\n",
        descriptors.join("\n")
    );
    run(&source, &[vec![0; 4096], Vec::new()], Options::default()).1
}

/// The numbers by which missing families are told, the first one wins.
const PRIORITY: [u64; 5] = [ARG, TEXT, IOT, IOR, DIM];

fn check(block: &Block, simt: bool) {
    let texts = |keep: &dyn Fn(u64, bool) -> bool| -> Vec<&str> {
        let kept = block.descriptors.iter().filter(|(family, must, _)| keep(*family, *must));
        kept.map(|(_, _, text)| *text).collect()
    };
    let marker = block.marker;
    let run = |list: &[&str]| execute(marker, list);
    assert_eq!(run(&texts(&|_, _| true)), None, "{marker} with everything");
    assert_eq!(run(&texts(&|_, must| must)), None, "{marker} with what is mandatory");
    let format = |trap: Option<Trap>| {
        let trap = trap.unwrap_or_else(|| panic!("{marker}: no trap"));
        assert_eq!((trap.trapno(), trap.bi), (FORMAT, false), "{marker}: {trap}");
        trap.arg
    };
    let mandatory: Vec<u64> =
        block.descriptors.iter().filter(|(_, must, _)| *must).map(|(f, _, _)| *f).collect();
    for family in &mandatory {
        let arg = format(run(&texts(&|other, _| other != *family)));
        assert_eq!(arg, Some(*family), "{marker} without family {family}");
    }
    if let Some(first) = PRIORITY.into_iter().find(|family| mandatory.contains(family)) {
        assert_eq!(format(run(&[])), Some(first), "{marker} with nothing");
    }
    let mut twice = texts(&|_, _| true);
    twice.push("B.TEXT body");
    assert_eq!(format(run(&twice)), Some(TEXT | 2 << 8), "{marker} with one B.TEXT too many");
    if !simt {
        // It comes before what is missing.
        assert_eq!(format(run(&["B.TEXT body"])), Some(TEXT | 2 << 8), "{marker} with B.TEXT only");
    }
}

/// Checks `BSTART.MPAR`, `BSTART.MSEQ`: B.DIM and B.TEXT; B.IOR and B.IOT as the kernel wants.
#[test]
fn kernels() {
    for marker in ["BSTART.MPAR 0", "BSTART.MSEQ 0", "C.BSTART.MPAR", "C.BSTART.MSEQ"] {
        check(
            &Block {
                marker,
                descriptors: &[
                    (DIM, true, "C.B.DIMI 4, ->lb0"),
                    (TEXT, true, "B.TEXT body"),
                    (IOR, false, "B.IOR [a0,a1],[s0]"),
                    (IOT, false, "B.IOTI [t#1], last ->u<1KB>"),
                    (ARG, false, "B.ARG NORM.normal"),
                ],
            },
            true,
        );
    }
}

/// Checks `BSTART.VPAR`, `BSTART.VSEQ`: the same; their bodies are linear and have tile memory
/// only.
#[test]
fn tile_kernels() {
    for marker in ["BSTART.VPAR 0", "BSTART.VSEQ 0"] {
        check(
            &Block {
                marker,
                descriptors: &[
                    (DIM, true, "B.DIM zero, 4, ->lb0"),
                    (TEXT, true, "B.TEXT body"),
                    (IOR, false, "B.IOR [a0,a1],[s0]"),
                    (IOT, false, "B.IOTI [t#1], last ->u<1KB>"),
                ],
            },
            true,
        );
        for text in
            ["b.nz end", "j body", "v.lw.brg [ri0, zero.ud], ->vt.w", "BSTART.STD DIRECT, end"]
        {
            let source = format!(
                "_start: {marker}\nB.TEXT body\nB.IOR [a0],[]\nC.B.DIMI 1, ->lb0\nC.BSTART.STD\nebreak 0\nbody: v.addi zero.ud, 1, ->t.d\nhere: {text}\nend: C.BSTOP\n"
            );
            let options = Options { strict_linear: true, ..Options::default() };
            let (_, trap) = run(&source, &[vec![0; 16]], options);
            let trap = trap.expect("a trap");
            assert_eq!((trap.trapno(), trap.bi), (0x4000_0001_0000_0004, true), "{marker}: {text}");
            // A marker ends the body unless the option makes it illegal.
            let (_, trap) = run(&source, &[vec![0; 16]], Options::default());
            assert_eq!(trap.is_none(), text.starts_with("BSTART"), "{marker}: {text}");
        }
    }
}

/// Checks `BSTART.TLOAD`, `BSTART.TSTORE`: B.ARG, address and tile; dimensions if wanted.
#[test]
fn tile_memory() {
    check(
        &Block {
            marker: "BSTART.TLOAD FP32",
            descriptors: &[
                (ARG, true, "B.ARG NORM.normal"),
                (IOR, true, "B.IOR [a0],[]"),
                (IOT, true, "B.IOTI [], last ->t<512B>"),
                (DIM, false, "C.B.DIMI 4, ->lb0"),
            ],
        },
        false,
    );
    check(
        &Block {
            marker: "BSTART.TSTORE FP32",
            descriptors: &[
                (ARG, true, "B.ARG NORM.normal"),
                (IOR, true, "B.IOR [a1],[]"),
                (IOT, true, "B.IOTI [t#1], last"),
                (DIM, false, "C.B.DIMI 4, ->lb0"),
            ],
        },
        false,
    );
}

/// Checks `BSTART.TMOV`: a tile is mandatory; B.ARG, B.IOR and B.DIM are not.
#[test]
fn tile_move() {
    check(
        &Block {
            marker: "BSTART.TMOV FP32",
            descriptors: &[
                (IOT, true, "B.IOTI [t#1], last ->u<512B>"),
                (ARG, false, "B.ARG V2V"),
                (IOR, false, "B.IOR [a0],[]"),
                (DIM, false, "C.B.DIMI 4, ->lb0"),
            ],
        },
        false,
    );
}

const MATRIX: &[(u64, bool, &str)] = &[
    (ARG, true, "B.ARG NORM.normal"),
    (DIM, true, "C.B.DIMI 4, ->lb0\nC.B.DIMI 4, ->lb1\nC.B.DIMI 4, ->lb2"),
    (IOT, true, "B.IOTI [t#1, t#1], last ->acc<4KB>"),
    (IOR, false, "B.IOR [a0],[]"),
];

/// Checks `BSTART.TMATMUL`, `BSTART.TMATMUL.ACC`: B.ARG, B.DIM and tiles; by option B.ARG is
/// optional.
#[test]
fn matrices() {
    check(&Block { marker: "BSTART.TMATMUL FP32", descriptors: MATRIX }, false);
    check(&Block { marker: "BSTART.TMATMUL.ACC FP32", descriptors: MATRIX }, false);
    let source = format!(
        "_start: {}\nC.BSTART.STD\nebreak 0",
        BEFORE.replacen("B.ARG", "#", 2).replacen("# NORM", "B.ARG NORM", 1)
    );
    let lenient = Options { lenient_arg: true, ..Options::default() };
    assert_eq!(run(&source, &[vec![0; 4096]], lenient).1, None);
    assert_eq!(run(&source, &[vec![0; 4096]], Options::default()).1.unwrap().arg, Some(ARG));
}

/// Checks `BSTART.ACCCVT`: B.ARG, B.DIM, scale and zero point, a destination.
#[test]
fn accumulator_conversion() {
    check(
        &Block {
            marker: "BSTART.ACCCVT FP32",
            descriptors: &[
                (ARG, true, "B.ARG NORM.normal"),
                (DIM, true, "C.B.DIMI 4, ->lb0"),
                (IOR, true, "B.IOR [a0,a1],[]"),
                (IOT, true, "B.IOTI [], last ->t<512B>"),
            ],
        },
        false,
    );
}

/// Checks `BSTART.TEPL`: LB0 and tiles; scalars and B.ARG as the operation needs them.
#[test]
fn tile_operations() {
    let scalar = (IOR, true, "B.IOR [a0],[]");
    let none = (IOR, false, "B.IOR [a0],[]");
    for op in linx::names::TILE_OPS {
        let needs_scalar = op.v04 >= 0x20 || matches!(op.name, "TDIV" | "TCVT" | "TEXPANDS");
        let arg = if op.name == "TCVT" {
            (ARG, true, "B.ARG 16")
        } else {
            (ARG, false, "B.ARG NORM.normal")
        };
        let tiles = [
            "B.IOTI [], last ->u<1KB>",
            "B.IOTI [t#1], last ->u<1KB>",
            "B.IOTI [t#1, t#1], last ->u<1KB>",
        ];
        let integers = ["TAND", "TOR", "TXOR", "TSHL", "TSHR"];
        let ty = if integers.iter().any(|i| op.name.starts_with(i)) { "INT32" } else { "FP32" };
        let marker: &'static str =
            Box::leak(format!("BSTART.TEPL {}, {ty}", op.name).into_boxed_str());
        let list: &'static [(u64, bool, &'static str)] = Box::leak(Box::new([
            (DIM, true, "C.B.DIMI 4, ->lb0"),
            (IOT, true, tiles[usize::from(op.sources)]),
            if needs_scalar { scalar } else { none },
            arg,
        ]));
        check(&Block { marker, descriptors: list }, false);
    }
}

/// Checks `BSTART.FIXP`: no operation is assigned, whatever the function is.
#[test]
fn fixed_pipe() {
    for function in 0..32 {
        let trap =
            execute(&format!("BSTART.FIXP {function}, FP32"), &["C.B.DIMI 4, ->lb0"]).unwrap();
        assert_eq!((trap.trapno(), trap.bi), (0x4000_0001_0000_0004, false));
    }
}

/// Checks `BSTART.STD/.FP/.SYS`: descriptors in coupled blocks say nothing.
#[test]
fn coupled_blocks() {
    let all = [
        "B.TEXT body",
        "C.B.DIMI 4, ->lb0",
        "B.ARG NORM.normal",
        "B.IOR [a0],[a1]",
        "B.IOTI [t#1], last ->u<512B>",
        "B.TEXT body",
    ];
    for marker in ["C.BSTART.STD", "BSTART.FP FALL", "C.BSTART.SYS FALL"] {
        assert_eq!(execute(marker, &all), None, "{marker}");
    }
}

/// Headers that bind too much, too little or to the wrong place: family 5 (tiles) or 4 (scalars),
/// detail 0 for what is missing and 2 for what must not be there. The option takes what is too
/// much.
#[test]
fn exact_bindings() {
    let header = |marker: &str, descriptors: &str, lenient_tiles: bool| {
        let source = format!(
            "_start: C.BSTART.STD\nc.movi 1, ->a3\n\
             BSTART.TLOAD FP32\nB.ARG NORM.normal\nB.IOR [a0],[]\nB.IOTI [], last ->t<512B>\n\
             BSTART.{marker}\nC.B.DIMI 2, ->lb0\nC.B.DIMI 2, ->lb1\nC.B.DIMI 2, ->lb2\n\
             {descriptors}\nC.BSTART.STD\nebreak 0\n"
        );
        let options = Options { lenient_tiles, ..Options::default() };
        let (_, trap) = run(&source, &[vec![0; 512]], options);
        trap.map(|t| (t.trapno(), t.arg.unwrap_or(0)))
    };
    let format = 0x4000_0002_0000_0005;
    let (missing_tile, surplus_tile, missing_scalar) = (5, 0x205, 4);
    let arg = "B.ARG NORM.normal";
    let cases = [
        ("TMATMUL FP32", "B.IOTI [t#1, t#1], last ->acc<512B>", None),
        ("TMATMUL FP32", "B.IOTI [t#1, t#1], last ->t<512B>", Some(surplus_tile)),
        ("TMATMUL FP32", "B.IOTI [t#1, t#1], last", Some(missing_tile)),
        ("TMATMUL FP32", "B.IOTI [t#1], last ->acc<512B>", Some(missing_tile)),
        ("TEPL TADD, FP32", "B.IOTI [t#1, t#1], last ->u<512B>", None),
        ("TEPL TADD, FP32", "B.IOTI [t#1, t#1]\nB.IOTI [t#1], last ->u<512B>", Some(surplus_tile)),
        (
            "TEPL TADD, FP32",
            "B.IOTI [t#1, t#1] ->t<512B>\nB.IOTI [], last ->u<512B>",
            Some(surplus_tile),
        ),
        ("TEPL TRELU, FP32", "B.IOTI [t#1, t#1], last ->u<512B>", Some(surplus_tile)),
        ("TEPL TADDS, FP32", "B.IOR [a3],[]\nB.IOTI [t#1], last ->u<512B>", None),
        (
            "TEPL TADDS, FP32",
            "B.IOR [a3],[]\nB.IOTI [t#1, t#1], last ->u<512B>",
            Some(surplus_tile),
        ),
        ("TEPL TADDS, FP32", "B.IOR [],[a3]\nB.IOTI [t#1], last ->u<512B>", Some(missing_scalar)),
        ("TEPL TEXPANDS, FP32", "B.IOR [a3],[]\nB.IOTI [t#1], last ->u<512B>", Some(surplus_tile)),
        ("TLOAD FP32", "B.IOR [a0],[]\nB.IOTI [t#1], last ->u<512B>", Some(surplus_tile)),
        ("TSTORE FP32", "B.IOR [a0],[]\nB.IOTI [t#1], last", None),
        ("TSTORE FP32", "B.IOR [a0],[]\nB.IOTI [t#1], last ->u<512B>", Some(surplus_tile)),
        ("ACCCVT FP32", "B.IOR [a3],[]\nB.IOTI [], last ->u<512B>", Some(0x105)),
        ("TMOV FP32", "B.IOTI [t#1] ->u<512B>", Some(surplus_tile)),
        ("TMOV FP32", "B.IOTI [], last\nB.IOTI [t#1], last ->u<512B>", Some(surplus_tile)),
    ];
    for (marker, descriptors, wanted) in cases {
        let descriptors = format!("{arg}\n{descriptors}");
        let wanted = wanted.map(|arg| (format, arg));
        assert_eq!(header(marker, &descriptors, false), wanted, "{marker}: {descriptors}");
        if wanted == Some((format, surplus_tile)) {
            assert_eq!(header(marker, &descriptors, true), None, "{marker}: {descriptors}");
        }
    }
}
