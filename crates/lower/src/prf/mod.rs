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
//! - a parameter is a word of the block of arguments; those of 64 bits are declared as pointers,
//!   whose upper words are zero;
//! - x60 to x63 are scratch, those below them bases of spill slots, as many as are needed;
//! - each instruction is a packet of its own, so no hazard is left open.
//!
//! Spill slots lie in the data section: for each of 1024 warps (32 blocks of 32 warps, by block
//! number modulo 32; more are never resident), a word for each slot.

mod compute;
mod ranges;
mod select;
mod target;
mod text;
mod values;

use crate::legal::legalise;
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
}

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
    let missing = |what: &str| Missing { what: what.to_owned(), loc: LocId(0) };
    if !module.functions.get(kernel.index()).is_some_and(ir::Function::is_kernel) {
        return Err(missing("such kernel").into());
    }
    let legal = legalise(module, kernel, TARGET)?;
    let (made, functions) =
        predicate(&legal, kernel, Options { predicates, ..Options::default() })?;
    let about = functions.into_iter().find(|about| about.function == kernel);
    let about = about.ok_or_else(|| missing("such kernel"))?;
    Ok((write(&made, kernel, &about)?, about))
}

/// Writes a kernel that the pass `predicate` has made; `about` is what it said of it.
fn write(module: &Module, kernel: FuncId, about: &Predicated) -> Result<Assembly, Missing> {
    if about.registers > PREDICATES {
        let what = "more than 32 predicate registers".to_owned();
        return Err(Missing { what, loc: LocId(0) });
    }
    let function = &module.functions[kernel.index()];
    let bases = function.spill_slots.div_ceil(text::SLOTS_OF_BASE);
    let assigned = ranges::assign(function, &about.file, values::FIRST_SCRATCH - bases)?;
    select::select(function, &about.file, &assigned, bases)
}
