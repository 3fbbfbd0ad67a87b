//! Scalar video instructions against the steps of the PTX ISA, written out in 128-bit integers.
//!
//! Instructions are made at random from a fixed seed: every opcode, all types, selectors, `.sat`,
//! secondary operations, parts of the destination, negated operands. Each runs in 32 lanes on
//! values near the ends of bytes, halves and words.

use isa::FileId;
use ptx::testing::Random;
use ptx::{Select, lower, parse};
use simt::machine::{Machine as _, Step};
use std::fmt::Write as _;
use vm::{Engine, Launch, Program, catalogued, load_variables};

pub(crate) const LANES: usize = 32;
/// Instructions of one kernel.
pub(crate) const BATCH: usize = 50;
const EDGES: [u32; 18] = [
    0,
    1,
    2,
    7,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
];
const PARTS: [(&str, u32, u32); 7] = [
    ("", 0, 32),
    (".b0", 0, 8),
    (".b1", 8, 8),
    (".b2", 16, 8),
    (".b3", 24, 8),
    (".h0", 0, 16),
    (".h1", 16, 16),
];
pub(crate) const TYPES: [&str; 2] = ["u32", "s32"];

/// A part of a word: its spelling, position and length.
type Part = (&'static str, u32, u32);

#[derive(Clone, Copy, Debug)]
struct Source {
    part: Part,
    signed: bool,
    negated: bool,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
struct Case {
    opcode: &'static str,
    signed: bool,
    a: Source,
    b: Source,
    c_negated: bool,
    sat: bool,
    mode: &'static str,
    secondary: &'static str,
    to: Part,
    plus_one: bool,
    scale: u32,
}

pub(crate) fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

fn case(random: &mut Random) -> Case {
    let opcode =
        pick(random, &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset"]);
    let coin = |random: &mut Random| random.below(2) == 0;
    let source = |random: &mut Random| Source {
        part: if coin(random) { PARTS[0] } else { pick(random, &PARTS) },
        signed: coin(random),
        negated: false,
    };
    let (mut a, mut b) = (source(random), source(random));
    let shifts = matches!(opcode, "vshl" | "vshr");
    b.signed &= !shifts;
    let mad = opcode == "vmad";
    let plus_one = mad && random.below(4) == 0;
    a.negated = mad && !plus_one && random.below(3) == 0;
    b.negated = mad && !plus_one && random.below(4) == 0;
    let c_negated = mad && !plus_one && a.negated == b.negated && random.below(3) == 0;
    let more = if mad { 0 } else { random.below(5) };
    let compares = opcode == "vset";
    Case {
        opcode,
        signed: coin(random) && !compares,
        a,
        b,
        c_negated,
        sat: coin(random) && !compares,
        mode: match () {
            () if shifts => pick(random, &["wrap", "clamp"]),
            () if compares => pick(random, &["eq", "ne", "lt", "le", "gt", "ge"]),
            () => "",
        },
        secondary: ["", "add", "min", "max", ""][more],
        to: if more == 4 { pick(random, &PARTS[1..]) } else { PARTS[0] },
        plus_one,
        scale: if mad { pick(random, &[0, 7, 15]) } else { 0 },
    }
}

fn spelled(case: &Case) -> String {
    let ty = |signed: bool| TYPES[usize::from(signed)];
    let mut out = case.opcode.to_owned();
    if case.opcode != "vset" {
        let _ = write!(out, ".{}", ty(case.signed));
    }
    let _ = write!(out, ".{}.{}", ty(case.a.signed), ty(case.b.signed));
    if case.plus_one {
        out.push_str(".po");
    }
    if case.sat {
        out.push_str(".sat");
    }
    for word in [case.mode, case.secondary].into_iter().filter(|w| !w.is_empty()) {
        let _ = write!(out, ".{word}");
    }
    if case.scale > 0 {
        let _ = write!(out, ".shr{}", case.scale);
    }
    let source =
        |s: Source, name: &str| format!("{}%{name}{}", if s.negated { "-" } else { "" }, s.part.0);
    let third = case.opcode == "vmad" || !case.secondary.is_empty() || !case.to.0.is_empty();
    let _ = write!(out, " %d{}, {}, {}", case.to.0, source(case.a, "a"), source(case.b, "b"));
    if third {
        let _ = write!(out, ", {}%c", if case.c_negated { "-" } else { "" });
    }
    out + ";"
}

fn extended(word: u32, signed: bool) -> i128 {
    if signed { i128::from(word as i32) } else { word.into() }
}

fn selected(word: u32, Source { part: (_, at, bits), signed, .. }: Source) -> i128 {
    let value = i128::from(word >> at) & ((1 << bits) - 1);
    if signed && value >> (bits - 1) & 1 == 1 { value - (1 << bits) } else { value }
}

fn clamped(value: i128, signed: bool, bits: u32) -> i128 {
    match signed {
        true => value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => value.clamp(0, (1 << bits) - 1),
    }
}

/// What the text says: sources, operation, saturation, secondary operation, merge.
fn oracle(case: &Case, [a, b, c]: [u32; 3]) -> u32 {
    let (ta, tb) = (selected(a, case.a), selected(b, case.b));
    if case.opcode == "vmad" {
        return product(case, ta, tb, c);
    }
    let amount = if case.mode == "wrap" { tb & 31 } else { tb.min(32) };
    let tmp = match case.opcode {
        "vadd" => ta + tb,
        "vsub" => ta - tb,
        "vabsdiff" => (ta - tb).abs(),
        "vmin" => ta.min(tb),
        "vmax" => ta.max(tb),
        // An intermediate result has 34 bits.
        "vshl" => (ta << amount) << (128 - 34) >> (128 - 34),
        "vshr" => ta >> amount,
        _ => i128::from(match case.mode {
            "eq" => ta == tb,
            "ne" => ta != tb,
            "lt" => ta < tb,
            "le" => ta <= tb,
            "gt" => ta > tb,
            _ => ta >= tb,
        }),
    };
    let (_, at, bits) = case.to;
    let tmp = if case.sat { clamped(tmp, case.signed, bits) } else { tmp };
    let third = extended(c, case.signed);
    let result = match case.secondary {
        "add" => tmp + third,
        "min" => tmp.min(third),
        "max" => tmp.max(third),
        _ => tmp,
    };
    if bits == 32 {
        return result as u32;
    }
    let mask = ((1_u32 << bits) - 1) << at;
    c & !mask | (result as u32) << at & mask
}

fn product(case: &Case, ta: i128, tb: i128, c: u32) -> u32 {
    let negated = case.a.negated != case.b.negated;
    let signed = case.a.signed || case.b.signed || negated || case.c_negated;
    let mut tmp = ta * tb;
    let mut c = c;
    let mut low = i128::from(case.plus_one);
    if negated {
        (tmp, low) = (!tmp, 1);
    } else if case.c_negated {
        (c, low) = (!c, 1);
    }
    let result = (tmp + extended(c, signed) + low) >> case.scale;
    let result = if case.sat { clamped(result, signed, 32) } else { result };
    result as u32
}

/// Values of the three sources in each lane.
pub(crate) fn inputs(random: &mut Random) -> Vec<[u32; 3]> {
    let value = |random: &mut Random| match random.below(3) {
        0 => (random.below(1 << 16) << 16 | random.below(1 << 16)) as u32,
        _ => pick(random, &EDGES),
    };
    (0..LANES).map(|_| [value(random), value(random), value(random)]).collect()
}

/// A kernel that stores what each instruction leaves in `%d`.
pub(crate) fn program(instructions: &[String], inputs: &[[u32; 3]]) -> String {
    let data: Vec<String> = inputs.iter().flatten().map(ToString::to_string).collect();
    let mut out = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 data[{}] = {{{}}};
        .visible .entry k(.param .u64 out) {{
        .reg .u32 %a, %b, %c, %d, %t; .reg .u64 %out, %o;
        ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %out, %t, 4, %out;
        mov.u64 %o, data; mad.wide.u32 %o, %t, 12, %o;
        ld.const.u32 %a, [%o]; ld.const.u32 %b, [%o+4]; ld.const.u32 %c, [%o+8];\n",
        data.len(),
        data.join(", ")
    );
    for (k, line) in instructions.iter().enumerate() {
        let _ = writeln!(out, "{line} st.global.u32 [%out+{}], %d;", k * LANES * 4);
    }
    out + "ret;\n}\n"
}

pub(crate) fn run(text: &str, words: usize) -> Vec<u32> {
    let (tree, mut found) = parse(FileId(0), text);
    let (module, more) = lower(&tree, Select::Kernel("k"));
    found.append(more);
    let messages: Vec<_> = found.iter().map(|d| d.message.clone()).collect();
    assert!(messages.is_empty(), "{messages:#?}\n{text}");
    let program = Program::link(module.unwrap()).unwrap();
    let entry = converge::catalogue::Entry::find("ipdom").unwrap();
    let kernel = program.module().function("k").unwrap();
    let mut launch: Launch<1> = Launch::new(kernel, catalogued(entry));
    let out = launch.memory.allocate("out", 4 * words as u64).unwrap();
    launch.variables = load_variables(&program, &mut launch.memory).unwrap();
    launch.params = out.0.to_le_bytes().to_vec();
    launch.block = [LANES as u32, 1, 1];
    let mut state = Engine::<1>.launch(&program, launch).unwrap();
    assert_eq!(Engine::<1>.run_unobserved(&program, &mut state, 1_000_000), Step::Done);
    let mut bytes = vec![0; 4 * words];
    state.memory().read_bytes(out, &mut bytes).unwrap();
    bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

#[test]
fn results_are_those_of_the_text() {
    let mut random = Random::new(1);
    for _ in 0..40 {
        let cases: Vec<Case> = (0..BATCH).map(|_| case(&mut random)).collect();
        let inputs = inputs(&mut random);
        let lines: Vec<String> = cases.iter().map(spelled).collect();
        let found = run(&program(&lines, &inputs), BATCH * LANES);
        for (case, results) in cases.iter().zip(found.chunks(LANES)) {
            for (values, result) in inputs.iter().zip(results) {
                let expected = oracle(case, *values);
                assert_eq!(*result, expected, "{} of {values:x?}", spelled(case));
            }
        }
    }
}
