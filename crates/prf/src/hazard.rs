//! Hazards inside a packet, and the check of a program's text for them.
//!
//! The instructions of a packet are in flight together, and nothing but the end of the packet
//! orders them: none may read or write a register or a predicate that an earlier one writes, write
//! one that an earlier one reads, or access memory that an earlier one stores to; a jump or a
//! `halt` is the last. The check of a text takes packets as they stand in memory, up to the next
//! instruction that ends one; it knows no lanes, so it accepts no packet that could go wrong for
//! some lanes. Memory accesses are compared only if they have the same base register.

use std::fmt;

use crate::op::{Insn, Op};
use crate::program::Program;

/// A hazard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HazardKind {
    /// Reads a register that an earlier instruction writes.
    Read(u8),
    /// Writes a register that an earlier instruction writes.
    Overwrite(u8),
    /// Writes a register that an earlier instruction reads.
    EarlyWrite(u8),
    /// Reads a predicate that an earlier instruction writes.
    PredicateRead(u8),
    /// Writes a predicate that an earlier instruction writes.
    PredicateOverwrite(u8),
    /// Writes a predicate that an earlier instruction reads.
    PredicateEarlyWrite(u8),
    /// Accesses memory that an earlier instruction stores to, or stores to memory that one
    /// accesses.
    Memory,
    /// Comes after a jump.
    Jump,
    /// Comes after a `halt`.
    Halt,
    /// The packet has no end.
    Open,
}

impl fmt::Display for HazardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(r) => write!(f, "x{r} is read after it is written"),
            Self::Overwrite(r) => write!(f, "x{r} is written twice"),
            Self::EarlyWrite(r) => write!(f, "x{r} is written after it is read"),
            Self::PredicateRead(p) => write!(f, "p{p} is read after it is written"),
            Self::PredicateOverwrite(p) => write!(f, "p{p} is written twice"),
            Self::PredicateEarlyWrite(p) => write!(f, "p{p} is written after it is read"),
            Self::Memory => write!(f, "the same memory is accessed, and one access stores"),
            Self::Jump => write!(f, "an instruction follows a jump"),
            Self::Halt => write!(f, "an instruction follows `halt`"),
            Self::Open => write!(f, "the packet has no end"),
        }
    }
}

/// A hazard in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hazard {
    /// Address of the earlier instruction.
    pub first: u32,
    /// Address of the later one; the same for a packet without an end.
    pub second: u32,
    /// The kind of hazard.
    pub kind: HazardKind,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, second, kind } = self;
        if first == second {
            write!(f, "{first:#x}: {kind}")
        } else {
            write!(f, "{first:#x} and {second:#x} in one packet: {kind}")
        }
    }
}

/// Returns the hazards between two instructions of a packet, whatever their lanes.
#[must_use]
pub(crate) fn between(first: &Insn, second: &Insn) -> Vec<HazardKind> {
    let mut found = Vec::new();
    let written = |i: &Insn| i.writes_register().then_some(i.rd);
    if let Some(rd) = written(first) {
        found.extend(second.sources().any(|r| r == rd).then_some(HazardKind::Read(rd)));
        found.extend((written(second) == Some(rd)).then_some(HazardKind::Overwrite(rd)));
    }
    if let Some(rd) = written(second) {
        found.extend(first.sources().any(|r| r == rd).then_some(HazardKind::EarlyWrite(rd)));
    }
    let read = |i: &Insn| i.reads_predicate().then_some(i.pred);
    let written = |i: &Insn| i.writes_predicate().then_some(i.pdst);
    if let Some(p) = written(first) {
        found.extend((read(second) == Some(p)).then_some(HazardKind::PredicateRead(p)));
        found.extend((written(second) == Some(p)).then_some(HazardKind::PredicateOverwrite(p)));
    }
    if let Some(p) = written(second) {
        found.extend((read(first) == Some(p)).then_some(HazardKind::PredicateEarlyWrite(p)));
    }
    found.extend(first.jumps().then_some(HazardKind::Jump));
    found.extend((first.op == Op::Halt).then_some(HazardKind::Halt));
    found.extend(same_memory(first, second).then_some(HazardKind::Memory));
    found
}

/// Base register, offset, bytes, and whether it stores.
fn access(insn: &Insn) -> Option<(u8, i32, i32, bool)> {
    let (base, size, store) = match insn.op {
        Op::Lw => (insn.rs1, 4, false),
        Op::Lh => (insn.rs1, 2, false),
        Op::Lb => (insn.rs1, 1, false),
        Op::Sw => (insn.rs1, 4, true),
        Op::Sh => (insn.rs1, 2, true),
        Op::Sb => (insn.rs1, 1, true),
        Op::Prlw => (insn.rs2, 4, false),
        Op::Prsw => (insn.rs2, 4, true),
        _ => return None,
    };
    Some((base, insn.imm, size, store))
}

/// Returns whether the text shows that two instructions access the same bytes and one stores.
fn same_memory(first: &Insn, second: &Insn) -> bool {
    let (Some((a, x, m, s)), Some((b, y, n, t))) = (access(first), access(second)) else {
        return false;
    };
    a == b && (s || t) && x < y + n && y < x + m
}

/// The hazards of a program, by address. Words that are not instructions end packets.
#[must_use]
pub fn check(program: &Program) -> Vec<Hazard> {
    let mut found = Vec::new();
    let mut packet: Vec<(u32, Insn)> = Vec::new();
    let open = |packet: &mut Vec<(u32, Insn)>, found: &mut Vec<Hazard>| {
        let last = packet.last().map(|&(pc, _)| pc);
        found.extend(last.map(|pc| Hazard { first: pc, second: pc, kind: HazardKind::Open }));
        packet.clear();
    };
    for (pc, insn) in program.instructions() {
        let Some(insn) = insn else {
            open(&mut packet, &mut found);
            continue;
        };
        // A packet of this many instructions has hazards enough; the rest is compared with its last
        // ones.
        for &(first, earlier) in packet.iter().rev().take(64) {
            let kinds = between(&earlier, &insn).into_iter();
            found.extend(kinds.map(|kind| Hazard { first, second: pc, kind }));
        }
        packet.push((pc, insn));
        if insn.end {
            packet.clear();
        }
    }
    open(&mut packet, &mut found);
    found.sort_unstable();
    found
}
