//! Assembly for RISC-V with PMASK.
//!
//! A kernel is made legal for a launch ([`crate::legal`]) and put under EXEC masks
//! (`flow::passes::exec_mask`); then each instruction becomes some of the machine's, repeated over
//! the lanes of a warp.
//!
//! What always holds:
//!
//! - a warp has as many lanes as the setting says. A lane's values stand in its slots of the warp's
//!   frame in memory, and in rows of registers while they are in use: three rows of eight integer
//!   registers, four of floating-point registers;
//! - bank 1 is EXEC; bank 2 is the mask of a guard, a selection or a comparison. Machines with one
//!   bank of their own put EXEC aside instead;
//! - predicates and saved masks are words of the frame, one bit a lane: no branch looks at a lane's
//!   value, only at whether any lane is on;
//! - x0 to x7 are scalars: x1 and x4 to x6 scratch, x2 the frame, x3 the step of windows, x7 the
//!   launch block;
//! - values that are the same in all lanes by construction (parameters, block numbers and sums of
//!   them) are scalar words;
//! - addresses are words, and memory for kernels lies below 2 GiB.

mod compute;
mod emit;
mod float;
mod launch;
mod live;
mod memory;
mod rows;
mod select;
mod target;

use crate::legal::{Launch, Layout, legalise_for};
use crate::{Missing, Refused};
use flow::passes::exec_mask::{Options as MaskOptions, exec_mask};
use ir::{FuncId, LocId, Module, Op, VerifiedModule};

pub use target::TARGET;

/// The code with which a program ends if all warps of a block wait for each other for ever.
pub const APART: u32 = 70;

/// How a program is written. No option changes what it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Lanes of a warp: 1, 2, 4 or 8.
    pub lanes: u32,
    /// Mask banks of the machine, the virtual one counted: 2 to 4.
    pub banks: u32,
    /// Whether tests write a bank lane by lane.
    pub lane_forms: bool,
    /// Whether branches test a bank.
    pub fused: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { lanes: 8, banks: 4, lane_forms: true, fused: true }
    }
}

/// A program for the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// The code, in text for its assembler.
    pub code: String,
    /// The data of the kernel.
    pub data: String,
    /// Instructions.
    pub instructions: usize,
    /// Instructions that are repeated over lanes.
    pub lane_wise: u64,
    /// Instructions that move masks between banks and registers, or choose a bank.
    pub mask_moves: u64,
    /// Slots of a lane in the frame.
    pub slots: u32,
    /// Values that go to the frame for want of registers, and are needed in their block alone.
    pub spills: u64,
    /// Bytes of a warp's frame.
    pub frame: u32,
    /// Saved masks.
    pub masks: usize,
}

impl Assembly {
    /// A program with this kernel alone.
    #[must_use]
    pub fn text(&self) -> String {
        program(std::slice::from_ref(self))
    }
}

/// A program with kernels, each of which has its own name.
#[must_use]
pub fn program(kernels: &[Assembly]) -> String {
    let join = |part: fn(&Assembly) -> &str| kernels.iter().map(part).collect::<String>();
    let (code, data) = (join(|kernel| &kernel.code), join(|kernel| &kernel.data));
    format!("    .text\n{code}    .data\n    .org {:#x}\n{data}", launch::DATA)
}

/// Most scalar words of a frame.
const MOST_WORDS: u32 = 1000;
/// Most instructions of a program: its jumps reach 1 MiB.
const MOST_INSTRUCTIONS: usize = 250_000;

/// Lowers a kernel for a launch; `line` gives the line of the program at a place, for comments.
///
/// # Errors
/// [`Refused`]: what the kernel needs and the machine lacks.
pub fn pmask(
    module: &VerifiedModule,
    kernel: FuncId,
    options: Options,
    launch: &Launch,
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<Assembly, Refused> {
    let missing = |what: &str| Missing { what: what.to_owned(), loc: launch::NOWHERE };
    if !module.functions.get(kernel.index()).is_some_and(ir::Function::is_kernel) {
        return Err(missing("such kernel").into());
    }
    launch::check(launch)?;
    let layout = layout(options);
    let mut legal: Module = (*legalise_for(module, kernel, TARGET, launch, layout)?).clone();
    let function = &mut legal.functions[kernel.index()];
    // Blocks are found again behind the pass by their names.
    for (index, block) in function.blocks.iter_mut().enumerate() {
        block.name = format!("{index}.{}", block.name);
    }
    let facts = live::Facts::new(function, select::FIRST_WORD);
    let legal = VerifiedModule::new(legal).map_err(|_| missing("valid form of this kernel"))?;
    let (masked, _) = exec_mask(&legal, kernel, MaskOptions::default())?;
    Ok(write(&masked, kernel, facts, (options, launch), line)?)
}

/// Blocks run one after another, and the warps of one in turns.
fn layout(options: Options) -> Layout {
    Layout {
        blocks: 1,
        bytes: launch::MOST_BYTES,
        lanes: options.lanes,
        turns: true,
        collectives: false,
    }
}

fn write(
    module: &Module,
    kernel: FuncId,
    facts: live::Facts,
    (options, launch): (Options, &Launch),
    line: &dyn Fn(LocId) -> Option<String>,
) -> Result<Assembly, Missing> {
    let function = &module.functions[kernel.index()];
    let insts = || function.blocks.iter().flat_map(|block| &block.insts);
    let grid = launch::Grid::new(module, launch, options.lanes, {
        insts().any(|inst| inst.op == Op::Nanosleep)
    });
    let mut select = select::Select::new(function, facts, options, line);
    let refuse = |what: &str| Missing { what: what.to_owned(), loc: function.loc };
    if select.facts.words > MOST_WORDS {
        return Err(refuse("room for so many predicates and saved masks"));
    }
    if insts().any(|inst| inst.op == Op::Atom) {
        select.boxes = select.facts.slots;
        select.facts.slots += memory::BOXES;
        select.most_slots = select.facts.slots;
    }
    select.progress = grid.progress;
    launch::prologue(&mut select, &grid);
    select.blocks()?;
    launch::epilogue(&mut select.emit, &grid);
    let (code, instructions) = select.emit.text();
    if instructions > MOST_INSTRUCTIONS {
        return Err(refuse("room for so many instructions"));
    }
    let data = launch::data(module, function, &select, &grid)?;
    Ok(Assembly {
        code: format!("# kernel {}\n{code}", function.name),
        data,
        instructions,
        lane_wise: select.emit.lane_wise,
        mask_moves: select.emit.mask_moves(),
        slots: select.most_slots,
        spills: select.spills,
        frame: launch::frame_bytes(&select),
        masks: function.warp_regs.len(),
    })
}
