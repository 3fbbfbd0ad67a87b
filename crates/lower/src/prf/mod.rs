//! Assembly for the predicate-register-file GPU, of a kernel that the pass `predicate` has made.
//!
//! What always holds:
//!
//! - predicate `prN` of the kernel is `pN` of the machine, EXEC is p0; the predicate of an
//!   instruction is its guard;
//! - the program's own predicates are 0 or 1 in a general register; `bne` and `beq` make masks of
//!   them;
//! - 64-bit integers are addresses: their low words, on which all operations must agree with the
//!   full ones. Comparing, dividing or shifting one right is refused;
//! - a parameter is a word of the block of arguments, 64-bit ones are declared as pointers;
//! - x60 to x63 are scratch, those below them bases of spill slots, as many as are needed;
//! - each instruction is a packet of its own, so no hazard is left open.
//!
//! Spill slots lie in the data section: for each of 1024 warps (32 blocks of 32 warps, by block
//! number modulo 32; more are never resident), a word for each slot.

mod compute;
mod ranges;
mod select;
mod text;
mod values;

use crate::Missing;
use flow::passes::predicate::Predicated;
use ir::{FuncId, LocId, Module};

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

/// Writes a kernel of a module that the pass `predicate` has made; `about` is what it said of the
/// kernel.
///
/// # Errors
/// [`Missing`]: what the kernel needs and the machine lacks.
pub fn prf(module: &Module, kernel: FuncId, about: &Predicated) -> Result<Assembly, Missing> {
    let missing = |what: &str| Missing { what: what.to_owned(), loc: LocId(0) };
    let function = module.functions.get(kernel.index()).filter(|f| f.is_kernel());
    let function = function.ok_or_else(|| missing("such kernel"))?;
    if about.registers > PREDICATES {
        return Err(missing("more than 32 predicate registers"));
    }
    let slots = function.spill_slots;
    let bases = slots.div_ceil(text::SLOTS_OF_BASE);
    let assigned = ranges::assign(function, &about.file, values::FIRST_SCRATCH - bases)?;
    select::select(function, &about.file, &assigned, bases)
}
