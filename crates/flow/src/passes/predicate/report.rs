//! What the pass did to a function.

use super::allocate::Allocation;
use super::regions::{Cond, Region};
use super::shape::Shape;
use super::steps::{Meaning, Steps};
use crate::kernel::block_lengths;
use ir::{FuncId, Function, LaneReg, LocId, Op, Origin};

/// What the pass did to one function. Counts are of instructions in the code, ends of blocks
/// included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicated {
    /// The function.
    pub function: FuncId,
    /// Instructions before.
    pub before: u64,
    /// And after.
    pub after: u64,
    /// Most predicates live at once, that of all lanes counted: so many registers are needed to do
    /// without spills.
    pub peak: u32,
    /// Predicate registers used, that of all lanes counted.
    pub registers: u32,
    /// Predicates that were given a spill slot.
    pub spilled: u32,
    /// Stores to spill slots.
    pub spills: u64,
    /// Loads from them.
    pub fills: u64,
    /// Instructions that make predicates and loops: `and`, moves, jumps while lanes are left.
    pub masks: u64,
    /// Instructions on flags and kept conditions.
    pub flags: u64,
    /// Instructions of copied blocks.
    pub copied: u64,
    /// Blocks copied to make the graph reducible.
    pub copied_blocks: u64,
    /// The branches of the source that are gone.
    pub branches: u64,
    /// Loops.
    pub loops: u32,
    /// The registers of the rewritten function that are the machine's predicates 1, 2, ..
    pub file: Vec<LaneReg>,
    /// Every predicate, in order of definition.
    pub map: Vec<Held>,
}

/// A predicate of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The register that it was defined in: 1 is the first.
    pub register: u32,
    /// The spill slot, if it has one.
    pub slot: Option<u32>,
    /// What its lanes are.
    pub lanes: Where,
    /// The block that runs under it first, or that begins its loop.
    pub block: String,
    /// A place in it.
    pub loc: LocId,
}

/// The lanes of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// Those for which a register of the program holds, or does not.
    Condition {
        /// The register's name.
        register: String,
        /// Whether it is the lanes where it does not hold.
        negated: bool,
    },
    /// Those that a branch table sends here, by these indices.
    Cases(Vec<u32>),
    /// Those that any of several ways leads here.
    Flag,
    /// Those that are in a loop.
    Loop,
    /// Those for which an instruction's own guard holds.
    Guard,
}

impl Predicated {
    /// Instructions that the source did not have, less the branches that are gone.
    #[must_use]
    pub fn added(&self) -> i64 {
        let (after, before) = (i64::try_from(self.after), i64::try_from(self.before));
        after.unwrap_or(i64::MAX) - before.unwrap_or(i64::MAX)
    }
}

pub(super) fn report(
    id: FuncId,
    (source, after, file): (&Function, &Function, Vec<LaneReg>),
    shape: &Shape,
    steps: &Steps,
    allocation: &Allocation,
) -> Predicated {
    let count = |f: &dyn Fn(&ir::Inst) -> bool| {
        after.blocks.iter().flat_map(|b| &b.insts).filter(|i| f(i)).count() as u64
    };
    let terms = |f: &dyn Fn(&ir::Term) -> bool| {
        after.blocks.iter().filter(|b| b.term.issues() && f(&b.term)).count() as u64
    };
    let reached = shape.items.iter().filter_map(|i| match i {
        super::shape::Item::Block(b) => Some(&shape.graph.blocks[*b as usize]),
        _ => None,
    });
    Predicated {
        function: id,
        before: block_lengths(source).sum(),
        after: block_lengths(after).sum(),
        peak: allocation.peak + 1,
        registers: allocation.used + 1,
        spilled: allocation.spilled,
        spills: count(&|i| i.op == Op::PredSpill),
        fills: count(&|i| i.op == Op::PredFill),
        masks: count(&|i| i.origin == Origin::Mask) + terms(&|t| t.origin == Origin::Mask),
        flags: count(&|i| i.origin == Origin::Structure),
        copied: count(&|i| i.origin == Origin::Copy),
        copied_blocks: reached.filter(|b| b.copy).count() as u64,
        branches: source.blocks.iter().filter(|b| !b.term.targets().is_empty()).count() as u64,
        loops: u32::try_from(shape.regions.levels.len() - 1).unwrap_or(u32::MAX),
        file,
        map: map(source, shape, steps, allocation),
    }
}

fn map(source: &Function, shape: &Shape, steps: &Steps, allocation: &Allocation) -> Vec<Held> {
    let mut out = Vec::new();
    for (i, meaning) in steps.preds.iter().enumerate().skip(1) {
        let (lanes, block) = match *meaning {
            Meaning { region: Some(id), .. } => {
                let region = &shape.regions.regions[id.index()];
                (lanes(source, region), region.block)
            }
            Meaning { level: Some(level), .. } => {
                let root = shape.regions.levels[level as usize].root;
                (Where::Loop, shape.regions.regions[root as usize].block)
            }
            _ => (Where::Guard, 0),
        };
        out.push(Held {
            register: allocation.first[i],
            slot: allocation.slot_of[i],
            lanes,
            block: if block == 0 { String::new() } else { shape.graph.name(source, block).into() },
            loc: shape.graph.loc(source, block),
        });
    }
    out
}

fn lanes(source: &Function, region: &Region) -> Where {
    match &region.cond {
        Cond::Guard(guard) => Where::Condition {
            register: source.regs[guard.pred.index()].name.clone(),
            negated: guard.negated,
        },
        Cond::Index(_, values) => Where::Cases(values.clone()),
        Cond::Flag(_) => Where::Flag,
        Cond::Root => Where::Loop,
    }
}
