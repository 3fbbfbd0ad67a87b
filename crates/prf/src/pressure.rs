//! How many predicate registers a program needs at once: liveness of predicates along its jumps.
//!
//! A predicate is live from where it is written to its last use. Every instruction that names a
//! mask uses it. A jump through a register may go anywhere: all predicates that the program uses
//! are live there.

use std::collections::BTreeMap;

use crate::op::{Insn, Op};
use crate::program::Program;

/// The needs of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Predicates, p0 among them, that instructions name.
    pub used: u32,
    /// Most that are live at once.
    pub live: u32,
    /// The first instruction before which that many are.
    pub at: Option<u32>,
    /// Writes whose value is never used: address and predicate.
    pub unused: Vec<(u32, u8)>,
}

/// Finds the needs of a program.
#[must_use]
pub fn pressure(program: &Program) -> Pressure {
    let code: Vec<(u32, Insn)> =
        program.instructions().filter_map(|(pc, insn)| Some((pc, insn?))).collect();
    let index: BTreeMap<u32, usize> =
        code.iter().enumerate().map(|(i, (pc, _))| (*pc, i)).collect();
    let bit = |number: u8| 1u32 << (number & 31);
    // `halt` without a predicate names p31 and ends all lanes.
    let names = |insn: &Insn| insn.reads_predicate() && (insn.op, insn.pred) != (Op::Halt, 31);
    let reads = |insn: &Insn| if names(insn) { bit(insn.pred) } else { 0 };
    let writes = |insn: &Insn| if insn.writes_predicate() { bit(insn.pdst) } else { 0 };
    let all = code.iter().fold(0, |all, (_, insn)| all | reads(insn) | writes(insn));
    // Live before each instruction.
    let mut live = vec![0u32; code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..code.len()).rev() {
            let behind = behind(&code, &index, at, &live, all);
            let (_, insn) = &code[at];
            let before = behind & !writes(insn) | reads(insn);
            changed |= before != live[at];
            live[at] = before;
        }
    }
    let most = live.iter().map(|set| set.count_ones()).max().unwrap_or(0);
    let first = live.iter().position(|set| most > 0 && set.count_ones() == most);
    let unused = code.iter().enumerate().filter(|(at, (_, insn))| {
        writes(insn) != 0 && behind(&code, &index, *at, &live, all) & writes(insn) == 0
    });
    Pressure {
        used: all.count_ones(),
        live: most,
        at: first.map(|at| code[at].0),
        unused: unused.map(|(_, (pc, insn))| (*pc, insn.pdst)).collect(),
    }
}

/// What is live behind an instruction.
fn behind(
    code: &[(u32, Insn)],
    index: &BTreeMap<u32, usize>,
    at: usize,
    live: &[u32],
    all: u32,
) -> u32 {
    let (pc, insn) = &code[at];
    let there = |pc: u32| index.get(&pc).map_or(0, |i| live[*i]);
    let next = there(pc.wrapping_add(4));
    match insn.op {
        Op::Jalr => all,
        Op::Jpnz if insn.by_register => all,
        Op::Jal => there(pc.wrapping_add_signed(insn.imm)),
        Op::Jpnz => next | there(pc.wrapping_add_signed(insn.imm)),
        _ => next,
    }
}
