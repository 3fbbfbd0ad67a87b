//! Code with virtual registers, from single machine instructions to code in place.
//!
//! A [`Function`] is built instruction by instruction, in SSA form: each virtual register is
//! written once, and blocks have parameters. [`Compiler::compile`] allocates registers by
//! regalloc2 and emits the code into an [`Asm`]. Any instruction that iced-x86 can encode can be
//! used; operands are virtual registers of three classes (general, vector, mask), memory, and
//! immediates.
//!
//! Spill slots lie in the *seat*, a block of memory that each warp has for itself, so that they
//! survive when another warp runs. Calls of the host and ends of turns save there what is live in
//! registers; the allocator does not see them.
//!
//! In debug builds, regalloc2's checker examines the allocation after [`check_allocations`].

mod build;
mod emit;
mod encode;
mod function;
mod graph;
mod leave;
mod liveness;
mod operand;
mod print;
mod pseudo;
mod register;
mod slots;
#[cfg(test)]
mod tests;

use crate::Refused;
use crate::asm::{Asm, Label};
use emit::Emitter;
use fast::Level;
use graph::{Allocatable, Graph, SLOT, vector_bytes};
use liveness::Liveness;
use regalloc2::checker::Checker;
use regalloc2::{
    Algorithm, Ctx, MachineEnv, Operand, OperandConstraint, RegallocOptions, SpillSlot,
    run_with_ctx,
};
use slots::Slots;
use std::borrow::Cow;
use std::cell::Cell;

pub(crate) use function::{Block, Function};
pub(crate) use operand::{Mem, Part, Source};
pub(crate) use pseudo::{Local, Pseudo, StubArgument};
pub(crate) use register::{VReg, View};

/// Longest function that is allocated by splitting live ranges (Ion), whose time grows with the
/// square of the length: 10,000 instructions take about 30 ms. Longer ones are allocated in one
/// pass, which leaves everything in memory that lives across blocks: their code takes up to twice
/// as long.
const MAX_SPLIT: usize = 10_000;

thread_local! {
    /// Whether regalloc2's checker examines allocations of this thread.
    static CHECKED: Cell<bool> = const { Cell::new(cfg!(test)) };
}

/// Makes debug builds examine the allocations of the calling thread from now on, or no longer, by
/// regalloc2's checker. It takes longer than all other parts of a compilation.
pub(crate) fn check_allocations(checked: bool) {
    CHECKED.set(checked);
}

/// Longest function that is examined: the checker's time grows with the square of it.
const MAX_CHECKED: usize = 4_000;

/// A function in an [`Asm`].
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) entry: Label,
    /// Bytes of a seat: what was reserved, spill slots, and saved registers.
    pub(crate) seat_bytes: usize,
    /// The places where warps continue after a switch.
    pub(crate) resumes: Vec<Resume>,
    /// Numbers of moves that allocation has added: among registers; to and from memory.
    pub(crate) moves: [usize; 2],
}

/// A place where a warp continues after a switch.
#[derive(Debug)]
pub(crate) struct Resume {
    /// The name that the builder gave it.
    pub(crate) name: u32,
    /// Offsets in the seat of the values that were to be recorded.
    pub(crate) recorded: Vec<i64>,
}

/// Compiles functions. Keeps memory from one to the next.
pub(crate) struct Compiler {
    environment: MachineEnv,
    level: Level,
    graph: Graph,
    liveness: Liveness,
    slots: Slots,
    context: Ctx,
}

impl Compiler {
    pub(crate) fn new(level: Level) -> Self {
        Self {
            environment: register::environment(level),
            level,
            graph: Graph::default(),
            liveness: Liveness::default(),
            slots: Slots::default(),
            context: Ctx::default(),
        }
    }

    /// Allocates registers and emits code.
    ///
    /// # Errors
    /// [`Refused::TooLarge`] if the function has more than two million registers;
    /// [`Refused::Encoding`] if the function is not well formed, or has more operands in one place
    /// than there are registers. Instructions that cannot be encoded are found by [`Asm::encode`].
    pub(crate) fn compile(&mut self, f: &Function, asm: &mut Asm) -> Result<Compiled, Refused> {
        let ion = f.len() <= MAX_SPLIT;
        self.compile_by(f, asm, if ion { Algorithm::Ion } else { Algorithm::Fastalloc })
    }

    fn compile_by(
        &mut self,
        f: &Function,
        asm: &mut Asm,
        algorithm: Algorithm,
    ) -> Result<Compiled, Refused> {
        let failed = |reason: &str| Err(Refused::Encoding(reason.to_owned()));
        if let Some(reason) = f.failed {
            return failed(reason);
        }
        // The allocator numbers slots with 24 bits, and may give each register a vector's slot.
        if f.registers as usize > SpillSlot::MAX / (vector_bytes(f.level) / SLOT) {
            return Err(Refused::TooLarge);
        }
        if f.level != self.level {
            return failed("a function for other instructions");
        }
        if f.order.is_empty() || !self.graph.build(f) {
            return failed("a block has no end");
        }
        let one_pass = matches!(algorithm, Algorithm::Fastalloc);
        // The predecessors of blocks are needed for that.
        let validate_ssa = cfg!(debug_assertions) && !one_pass;
        let options = RegallocOptions { verbose_log: false, validate_ssa, algorithm };
        let operands = match algorithm {
            Algorithm::Ion => Cow::Borrowed(&f.operands[..]),
            // Otherwise operands that may be in memory can leave it no register for moves.
            Algorithm::Fastalloc => f.operands.iter().map(in_memory).collect(),
        };
        let clobbers = register::clobbers(self.level);
        let allocatable = Allocatable {
            function: f,
            graph: &self.graph,
            operands: &operands,
            one_pass,
            clobbers,
        };
        let failed =
            |error| Refused::Encoding(format!("registers could not be allocated: {error}"));
        let output = run_with_ctx(&allocatable, &self.environment, &options, &mut self.context);
        let output = output.map_err(failed)?;
        let checked = cfg!(debug_assertions) && CHECKED.get();
        if checked && f.len() <= MAX_CHECKED {
            let mut checker = Checker::new(&allocatable, &self.environment);
            checker.prepare(output);
            assert!(checker.run().is_ok(), "values do not reach their uses");
        }
        self.liveness.find(f, &self.graph, output);
        match algorithm {
            Algorithm::Ion => self.slots.keep(output),
            Algorithm::Fastalloc => self.slots.share(f, &self.graph, output),
        }
        let found = (&self.liveness, &self.slots);
        Ok(Emitter::new(f, &self.graph, output, found, asm).emit())
    }
}

/// Returns an operand that is in memory if it may be.
fn in_memory(operand: &Operand) -> Operand {
    match operand.constraint() {
        OperandConstraint::Any => {
            let stack = OperandConstraint::Stack;
            Operand::new(operand.vreg(), stack, operand.kind(), operand.pos())
        }
        _ => *operand,
    }
}
