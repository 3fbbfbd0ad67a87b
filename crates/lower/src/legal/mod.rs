//! Legalisation: from verified IR to verified IR whose values are words of 32 bits.
//!
//! All lowerings begin with it. What a machine computes by itself is the [`Target`]'s answer;
//! everything else becomes sequences of what it has, in stages:
//!
//! 0. `launch`, if the dimensions of the launch are known ([`legalise_for`]): calls are inlined;
//!    special registers, address spaces, collectives, atomics and barriers become computations and
//!    accesses to global memory.
//! 1. `approx`: approximations become operations on binary64.
//! 2. `words`: 64-bit values become pairs of words, values of 8 and 16 bits words whose upper
//!    bits are zero. Addresses are low words: memory lies below 4 GiB.
//! 3. `ops`: operations on words that the target lacks become other operations on words.
//!
//! The result is IR like any other: it runs on the engine, which is how the sequences are tested.
//! An inserted instruction has the guard, the place and, as its origin, `lowering`.

mod approx;
mod atomics;
mod barrier;
mod build;
mod dead;
mod double;
mod float;
mod flow;
mod gather;
mod half;
mod inline;
mod integer;
mod lanes;
mod launch;
mod narrow;
mod ops;
mod pairs;
mod spaces;
mod special;
mod spin;
mod usual;
mod wide_floats;
mod words;

pub use launch::{LANES, Launch, Layout};
pub(crate) use usual::usual;

use crate::Missing;
use ir::{FuncId, Inst, LocId, Module, VerifiedModule};

/// What a machine with registers of 32 bits has.
#[derive(Clone, Copy)]
pub struct Target {
    /// Whether its lowering takes an instruction on words and predicates as it is. Every target
    /// has integer `add`, `sub`, `mul`, logic, shifts, signed division, `setp`, `selp` and moves.
    pub has: fn(&Inst) -> bool,
}

/// The kernel of a module for a target, with the functions that it calls.
///
/// # Errors
/// [`Missing`]: an operation that neither the target nor a sequence of its operations computes.
pub fn legalise(
    module: &VerifiedModule,
    kernel: FuncId,
    target: Target,
) -> Result<VerifiedModule, Missing> {
    rewrite(module, kernel, |function| {
        let function = approx::approximations(function.clone(), target);
        ops::legal(words::words(&function, module)?, target)
    })
}

fn inlined(module: &VerifiedModule, kernel: FuncId) -> Result<Module, Missing> {
    let mut alone: Module = (**module).clone();
    alone.functions[kernel.index()] = inline::inline(module, kernel)?;
    Ok(alone)
}

/// The same for a launch and a target with registers of 64 bits, which takes values of all widths
/// and accesses as they are: calls are inlined, collectives are expanded if there are some, then
/// comes the second stage. With collectives, special registers become those of a launch in one
/// dimension, which is returned.
///
/// # Errors
/// As [`legalise`].
pub fn legalise_wide_for(
    module: &VerifiedModule,
    kernel: FuncId,
    target: Target,
    launch: Launch,
    layout: Layout,
) -> Result<(VerifiedModule, Launch), Missing> {
    let mut alone = inlined(module, kernel)?;
    let mut launch = launch;
    if launch::has_collectives(&alone.functions[kernel.index()], target) {
        launch.check_blocks()?;
        launch::launched(&mut alone, kernel, target, &launch, layout)?;
        launch.grid = [launch.blocks(), 1, 1];
        launch.block = [launch.threads(), 1, 1];
    }
    let legal = rewrite(&verified(alone)?, kernel, |function| {
        let function = approx::approximations(function.clone(), target);
        ops::legal(wide_floats::floats(function, module, target)?, target)
    })?;
    Ok((legal, launch))
}

fn rewrite(
    module: &VerifiedModule,
    kernel: FuncId,
    rewritten: impl Fn(&ir::Function) -> Result<ir::Function, Missing>,
) -> Result<VerifiedModule, Missing> {
    let mut out: Module = (**module).clone();
    for id in reached(module, kernel) {
        let mut legal = rewritten(&module.functions[id.index()])?;
        dead::remove(&mut legal);
        out.functions[id.index()] = legal;
    }
    verified(out)
}

/// The kernel of a module for a target and a launch. Nothing is called; the module may have more
/// variables than before, all of whose contents are given by it.
///
/// # Errors
/// [`Missing`], as [`legalise`].
pub fn legalise_for(
    module: &VerifiedModule,
    kernel: FuncId,
    target: Target,
    launch: &Launch,
    layout: Layout,
) -> Result<VerifiedModule, Missing> {
    let mut out: Module = (**module).clone();
    launch.check_blocks()?;
    launch::launched(&mut out, kernel, target, launch, layout)?;
    legalise(&verified(out)?, kernel, target)
}

fn verified(module: Module) -> Result<VerifiedModule, Missing> {
    VerifiedModule::new(module).map_err(|errors| {
        let first = errors.iter().next().map_or_else(String::new, ToString::to_string);
        Missing { what: format!("valid form of this kernel: {first}"), loc: LocId(0) }
    })
}

/// The kernel and the functions that it calls, directly or not.
fn reached(module: &Module, kernel: FuncId) -> Vec<FuncId> {
    let mut out = vec![kernel];
    let mut next = 0;
    while let Some(&id) = out.get(next) {
        next += 1;
        let Some(function) = module.functions.get(id.index()) else { continue };
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            if let Some(&ir::Operand::Func(callee)) = inst.operands.first()
                && !out.contains(&callee)
            {
                out.push(callee);
            }
        }
    }
    out
}
