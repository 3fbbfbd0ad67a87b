//! SIMD video instructions against the steps of the PTX ISA, written out in 64-bit integers.
//!
//! Instructions are made at random from a fixed seed: every opcode, all types, selectors, masks,
//! `.sat` and `.add`. Each runs in 32 lanes on values near the ends of bytes and halves.

use std::fmt::Write as _;

use ptx::testing::Random;

use crate::video::{BATCH, LANES, TYPES, inputs, pick, program, run};

/// One instruction.
#[derive(Clone, Debug)]
struct Case {
    opcode: &'static str,
    /// Elements of a word.
    count: usize,
    signed: bool,
    /// For each source: the sign of its elements, and their numbers, the highest first, if they are
    /// selected.
    sources: [(bool, Option<Vec<usize>>); 2],
    /// Elements of the result, the highest first, if there is a mask.
    mask: Option<Vec<usize>>,
    comparison: &'static str,
    sat: bool,
    add: bool,
}

const OPCODES: [&str; 7] = ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset"];

fn case(random: &mut Random) -> Case {
    let opcode = pick(random, &OPCODES);
    let count = pick(random, &[2, 4]);
    let coin = |random: &mut Random| random.below(2) == 0;
    let source = |random: &mut Random| {
        let signed = coin(random);
        let selected =
            (random.below(3) > 0).then(|| (0..count).map(|_| random.below(2 * count)).collect());
        (signed, selected)
    };
    let sources = [source(random), source(random)];
    let mask: Vec<usize> = (0..count).rev().filter(|_| coin(random)).collect();
    let compares = opcode == "vset";
    let add = coin(random);
    Case {
        opcode,
        count,
        signed: coin(random) && !compares,
        sources,
        mask: (!mask.is_empty()).then_some(mask),
        comparison: if compares { pick(random, &["eq", "ne", "lt", "le", "gt", "ge"]) } else { "" },
        sat: coin(random) && !compares && !add,
        add,
    }
}

fn spelled(case: &Case) -> String {
    let ty = |signed: bool| TYPES[usize::from(signed)];
    let letter = if case.count == 2 { 'h' } else { 'b' };
    let word = |digits: &Option<Vec<usize>>| match digits {
        Some(digits) => {
            let digits: String = digits.iter().map(ToString::to_string).collect();
            format!(".{letter}{digits}")
        }
        None => String::new(),
    };
    let mut out = format!("{}{}", case.opcode, case.count);
    if case.opcode != "vset" {
        let _ = write!(out, ".{}", ty(case.signed));
    }
    let [a, b] = &case.sources;
    let _ = write!(out, ".{}.{}", ty(a.0), ty(b.0));
    let words = [case.comparison, if case.sat { "sat" } else { "" }];
    for word in words.into_iter().chain(case.add.then_some("add")).filter(|w| !w.is_empty()) {
        let _ = write!(out, ".{word}");
    }
    let _ = write!(out, " %d{}, %a{}, %b{}, %c;", word(&case.mask), word(&a.1), word(&b.1));
    out
}

/// The elements of a source, the lowest first.
fn elements(case: &Case, source: usize, [a, b]: [u32; 2]) -> Vec<i64> {
    let (signed, selected) = &case.sources[source];
    let bits = 32 / case.count;
    let all = u64::from(b) << 32 | u64::from(a);
    let standard: Vec<usize> = (source * case.count..(source + 1) * case.count).rev().collect();
    let numbers = selected.as_ref().unwrap_or(&standard);
    let one = |number: &usize| {
        let value = (all >> (number * bits) & ((1 << bits) - 1)) as i64;
        if *signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
    };
    numbers.iter().rev().map(one).collect()
}

/// What the text says: elements, operation, saturation, then the merge or the sum.
fn oracle(case: &Case, [a, b, c]: [u32; 3]) -> u32 {
    let bits = 32 / case.count;
    let (va, vb) = (elements(case, 0, [a, b]), elements(case, 1, [a, b]));
    let every: Vec<usize> = (0..case.count).collect();
    let mut out = c;
    for &at in case.mask.as_ref().unwrap_or(&every) {
        let (x, y) = (va[at], vb[at]);
        let mut value = match case.opcode {
            "vadd" => x + y,
            "vsub" => x - y,
            "vavrg" if x + y >= 0 => (x + y + 1) >> 1,
            "vavrg" => (x + y) >> 1,
            "vabsdiff" => (x - y).abs(),
            "vmin" => x.min(y),
            "vmax" => x.max(y),
            _ => i64::from(match case.comparison {
                "eq" => x == y,
                "ne" => x != y,
                "lt" => x < y,
                "le" => x <= y,
                "gt" => x > y,
                _ => x >= y,
            }),
        };
        if case.sat && case.signed {
            value = value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1);
        } else if case.sat {
            value = value.clamp(0, (1 << bits) - 1);
        }
        if case.add {
            out = out.wrapping_add(value as u32);
        } else {
            let mask = (((1_u64 << bits) - 1) as u32) << (at * bits);
            out = out & !mask | (value as u32) << (at * bits) & mask;
        }
    }
    out
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
