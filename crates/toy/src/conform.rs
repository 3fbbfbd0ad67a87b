//! The toy machine's conformance table and what runs it.
//!
//! Beside the facts of [`isa::conform`] it has `run`: a program, the number of threads, the width
//! of a group, and what must come out, separated by blanks: `NAME=V,V,...` 32-bit words at a label;
//! `on=`, `predicated_off=`, ... lane slots; `vector=`, `uniform=` issues; `trap=CODE` the code of
//! the fault, or `end` for none.

use isa::FileId;
use isa::asm::Image;
use isa::conform::{Report, check};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Width};
use simt::slots::SlotCause;
use simt::trap::Cause as _;

use crate::machine::{Launch, State, Toy};

/// The conformance table that comes with the machine.
pub const TABLE: &str = include_str!("conform.tsv");

/// A program that has not ended after this many issues fails.
const LIMIT: u64 = 1_000_000;

/// Checks a conformance table.
#[must_use]
pub fn conform(table: &str) -> Report {
    check(crate::dialect(), table, |columns| match columns {
        ["run", program, threads, width, expected] => {
            Some(run(program, threads, width).and_then(|(image, state, end)| {
                let mut facts = expected.split_whitespace();
                facts.try_for_each(|fact| check_fact(fact, &image, &state, &end))
            }))
        }
        _ => None,
    })
}

/// Runs a program to its end: what is left, and the code of the fault or `end`.
fn run(program: &str, threads: &str, width: &str) -> Result<(Image, State, String), String> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
    let image = crate::assemble(FileId::default(), program).map_err(|errors| {
        let first = errors.iter().next().map_or("", |d| d.message.as_str());
        format!("does not assemble: {first}")
    })?;
    let binary = crate::binary(&image).map_err(|e| e.to_string())?;
    let loaded = Toy.load(&binary).map_err(|e| e.to_string())?;
    let (threads, width) = (number(threads)?, number(width)?);
    let launch = Launch { threads, width, arguments: Vec::new(), memory: MemoryMap::new() };
    let mut state = Toy.launch(&loaded, launch).map_err(|e| e.to_string())?;
    let end = match Toy.run_unobserved(&loaded, &mut state, LIMIT) {
        Step::Done => "end".to_owned(),
        Step::Fault(fault) => fault.cause.code().to_owned(),
        Step::Issued | Step::Hang(_) => return Err(format!("has not ended after {LIMIT} issues")),
    };
    if !Toy.slots(&state).identity_holds() {
        return Err(format!("slots do not add up: {:?}", Toy.slots(&state)));
    }
    Ok((image, state, end))
}

fn check_fact(fact: &str, image: &Image, state: &State, end: &str) -> Result<(), String> {
    let same = |got: String, expected: &str| {
        if got == expected { Ok(()) } else { Err(format!("`{fact}` is {got}")) }
    };
    let slots = Toy.slots(state);
    let Some((name, value)) = fact.split_once('=') else { return same(end.to_owned(), fact) };
    if let Some(cause) = SlotCause::ALL.into_iter().find(|cause| cause.name() == name) {
        return same(slots.of(cause).to_string(), value);
    }
    match name {
        "trap" => same(end.to_owned(), value),
        "vector" => same(slots.vector_issues.to_string(), value),
        "uniform" => same(slots.uniform_issues.to_string(), value),
        _ => {
            let symbol = image.symbol(name).ok_or_else(|| format!("there is no `{name}`"))?;
            let word = |i: usize| {
                let loaded = state.memory.load(Addr(symbol.value + 4 * i as u64), Width::B4);
                loaded.map_or_else(|e| e.to_string(), |word| (word as i32).to_string())
            };
            let got: Vec<String> = (0..value.split(',').count()).map(word).collect();
            same(got.join(","), value)
        }
    }
}
