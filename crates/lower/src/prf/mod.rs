//! Assembly for the predicate-register-file GPU.
//!
//! A kernel is made legal ([`crate::legal`]) and put under predicates (`flow::passes::predicate`);
//! then each instruction becomes some of the machine's.
//!
//! What always holds:
//!
//! - predicate `prN` of the kernel is `pN` of the machine, EXEC is p0; the predicate of an
//!   instruction is its guard;
//! - the program's own predicates are 0 or 1 in a general register; `bne` and `beq` make masks of
//!   them;
//! - a parameter is a word of the block of arguments, or as many as it takes; of one of 64 bits
//!   whose upper word nothing reads, which is a pointer mostly, it is the lower one;
//! - general registers beyond those of the file lie in memory (`spill`);
//! - x60 to x63 are scratch, those below them bases of spill slots, as many as are needed;
//! - instructions of a packet are independent (`packets`).
//!
//! Spill slots lie in the data section: for each of 1024 warps (32 blocks of 32 warps, by block
//! number modulo 32; more are never resident), a word for each slot.

mod compute;
mod data;
mod packets;
mod ranges;
mod select;
mod spill;
mod target;
mod text;
mod values;
mod webs;

use crate::legal::{LANES, Launch, Layout, legalise, legalise_for};
use crate::{Missing, Refused};
use flow::passes::predicate::{Options, Predicated, predicate};
use ir::{FuncId, LocId, Module, VerifiedModule};

pub use target::TARGET;

/// A program for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// Text for its assembler.
    pub text: String,
    /// Instructions.
    pub instructions: usize,
    /// General registers used, scratch and bases among them.
    pub registers: u32,
    /// General registers of the kernel that lie in memory.
    pub spilled: u32,
    /// Words of a lane that they share.
    pub words: u32,
    /// The words of arguments in order: each is so many bytes at an offset of the kernel's
    /// parameter block.
    pub arguments: Vec<(u32, u32)>,
}

/// Warps that the machine runs at a time.
const RESIDENT: u32 = 32;
/// Most bytes of variables and of memory for the blocks that run at a time.
const DATA_BYTES: u32 = 12 << 20;

/// Memory of the blocks of a launch: as many as the machine runs at a time.
#[must_use]
pub fn layout(launch: &Launch) -> Layout {
    let blocks = (RESIDENT / launch.warps().clamp(1, RESIDENT)).next_power_of_two();
    Layout { blocks, bytes: DATA_BYTES, lanes: LANES, turns: false, collectives: false }
}

/// Most registers that are bases of spilled masks: the others are for values.
const MOST_BASES: u32 = 44;

/// Most threads of a block.
const BLOCK_THREADS: u32 = RESIDENT * LANES;

/// Predicate registers of the largest machine.
pub const PREDICATES: u32 = 32;

/// Lowers a kernel for a machine with `predicates` predicate registers; returns its program and
/// what the pass `predicate` says of it.
///
/// # Errors
/// [`Refused`]: what the kernel needs and the machine lacks.
pub fn prf(
    module: &VerifiedModule,
    kernel: FuncId,
    predicates: u32,
) -> Result<(Assembly, Predicated), Refused> {
    check(module, kernel)?;
    let legal = legalise(module, kernel, TARGET)?;
    predicated(&legal, kernel, predicates, spill::Lanes::Resident, &|_| None)
}

/// As [`prf`], for a launch: the program has what depends on its dimensions, and the machine is
/// launched with as many blocks and threads, in one dimension. `line` is the line of the program at
/// a place, for comments.
///
/// # Errors
/// As [`prf`], and for launches that are too large.
pub fn prf_for(
    module: &VerifiedModule,
    kernel: FuncId,
    predicates: u32,
    launch: &Launch,
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<(Assembly, Predicated), Refused> {
    check(module, kernel)?;
    if !(1..=BLOCK_THREADS).contains(&launch.threads()) {
        let what = format!("blocks of {} threads (1 to {BLOCK_THREADS})", launch.threads());
        return Err(Missing { what, loc: LocId(0) }.into());
    }
    let legal = legalise_for(module, kernel, TARGET, launch, layout(launch))?;
    let blocks = layout(launch).slots(launch);
    let lanes = spill::Lanes::Of { blocks, threads: launch.threads() };
    predicated(&legal, kernel, predicates, lanes, line)
}

fn check(module: &VerifiedModule, kernel: FuncId) -> Result<(), Missing> {
    if module.functions.get(kernel.index()).is_some_and(ir::Function::is_kernel) {
        return Ok(());
    }
    Err(Missing { what: "such kernel".to_owned(), loc: LocId(0) })
}

fn predicated(
    legal: &VerifiedModule,
    kernel: FuncId,
    predicates: u32,
    lanes: spill::Lanes,
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<(Assembly, Predicated), Refused> {
    let missing = |what: &str| Missing { what: what.to_owned(), loc: LocId(0) };
    // The last predicate is for masks that are stored as words.
    let ballots = legal.functions[kernel.index()]
        .blocks
        .iter()
        .any(|block| block.insts.iter().any(|inst| inst.op == ir::Op::Ballot));
    let scratch = ballots.then(|| predicates.clamp(1, PREDICATES) - 1);
    let options = Options { predicates: predicates - u32::from(ballots), ..Options::default() };
    let (made, functions) = predicate(legal, kernel, options)?;
    let about = functions.into_iter().find(|about| about.function == kernel);
    let about = about.ok_or_else(|| missing("such kernel"))?;
    let mut made = made.into_inner();
    Ok((write(&mut made, kernel, (&about, lanes), scratch, line)?, about))
}

/// Writes a kernel that the pass `predicate` has made; `about` is what it said of it.
fn write(
    module: &mut Module,
    kernel: FuncId,
    (about, lanes): (&Predicated, spill::Lanes),
    scratch: Option<u32>,
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<Assembly, Missing> {
    if about.registers > PREDICATES {
        let what = "more than 32 predicate registers".to_owned();
        return Err(Missing { what, loc: LocId(0) });
    }
    // A ballot's mask goes through the slot behind those of predicates.
    let slots = module.functions[kernel.index()].spill_slots + u32::from(scratch.is_some());
    let bases = slots.div_ceil(text::SLOTS_OF_BASE);
    if bases > MOST_BASES {
        let most = MOST_BASES * text::SLOTS_OF_BASE;
        let what = format!("room for {slots} spilled masks (at most {most})");
        return Err(Missing { what, loc: LocId(0) });
    }
    let limit = values::FIRST_SCRATCH - bases;
    webs::split(&mut module.functions[kernel.index()], &about.file);
    let places = spill::places(module, kernel, &about.file, limit, lanes)?;
    let function = &module.functions[kernel.index()];
    let data = data::Data::new(module, function, slots)?;
    let assigned = &places.assigned;
    let made = select::select(function, &about.file, assigned, (bases, scratch), &data, line)?;
    Ok(Assembly { spilled: places.spilled, words: places.words, ..made })
}
