//! Translation of decoded kernels into the vector IR.
//!
//! Lanes that split follow each other in the order of the mechanism `ipdom`, so a place of the
//! warp's control flow is a block of the kernel together with a context: the reconvergence points
//! at which lanes wait, the sides of branches that have not run yet, and the calls that have not
//! returned. Each such pair becomes one block of the function. In kernels in which the contexts do
//! not repeat, such as loops whose iterations leave further sides behind, lanes wait on a stack in
//! the warp's memory, and each block of the kernel becomes one block of the function.

mod atomic;
mod barrier;
mod collective;
mod compute;
mod context;
mod control;
mod convert;
mod copy;
mod live;
mod loops;
mod memory;
mod split;
mod ssa;
mod stack;
mod step;

use crate::function::{Block, Function, Terminator, Type, Value};
use crate::op::{Counter, Home, Op};
use context::{Contexts, Ctx};
use fast::Order;
use fast::code::{Code, End, Kind};
use loops::Loops;
pub use memory::is_own_memory;
use rustc_hash::FxHashMap;
use ssa::Ssa;
pub use step::is_by_warp;
use thiserror::Error;

/// The reason that a kernel has no function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Untranslated {
    /// It contains a step or an end of a block that has no form in the vector IR.
    #[error("{0}")]
    Step(&'static str),
    /// Its control flow needs a stack.
    #[error("its lanes split in a way that needs a stack: {0}")]
    Stack(&'static str),
    /// It is too large.
    #[error("it is too large")]
    TooLarge,
}

/// Most blocks of a function: with a block for each context, and with a stack in memory.
const MAX_BLOCKS: [usize; 2] = [4_000, 40_000];

/// Most registers that are values from block to block where lanes go on with the top of a stack in
/// memory; if more are live there, they are in memory, too. Lanes come from anywhere, so that each
/// block would have a parameter for each of them, and all would be moved each time. Kernels with 45
/// and 75 such registers take the same time in both ways, one with 271 a tenth of it in memory.
const MAX_RESUMED: usize = 48;

/// Most of these parameters, for all blocks of a kernel together: to allocate registers for more
/// takes longer than most launches.
const MAX_PARAMS: usize = 40_000;

/// Most bits of the sets of live registers of all blocks.
const MAX_LIVE: usize = 1 << 26;

/// Returns whether a step is an access that the counts of its block include.
#[must_use]
pub fn counts_access(kind: &Kind) -> bool {
    matches!(kind, Kind::Load(_) | Kind::Store(_) | Kind::Atomic(_) | Kind::Copy(_))
}

/// Returns whether a step other than an access has a form of its own: the interpreter executes it
/// for rare operands at most.
#[must_use]
pub fn has_own_form(kind: &Kind) -> bool {
    step::has_form(kind)
}

/// A variable of the translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Var {
    /// The running lanes.
    Running,
    /// Their population: it changes when they do, not in each block that counts.
    Population,
    /// A value of the kernel.
    Home(Home),
    /// By depth of a context's node: the lanes that wait there, as bits, for mask registers are
    /// few.
    Lanes(u32),
    /// By depth of a reconvergence point: 1 if a branch has split lanes that meet there, else 0.
    Split(u32),
    /// With a stack: the running lanes' reconvergence point, or `u32::MAX`.
    Rejoin,
    /// With a stack: the number of split levels that the running lanes are in.
    Depth,
    /// With a stack: 1 if the interpreter has executed a back-edge that has not been counted yet.
    BackEdge,
}

impl Var {
    fn ty(self) -> Type {
        match self {
            Self::Running => Type::Mask,
            Self::Home(home) => home.ty(),
            Self::Population | Self::Lanes(_) | Self::Split(_) => Type::Scalar,
            Self::Rejoin | Self::Depth | Self::BackEdge => Type::Scalar,
        }
    }
}

/// A place of the warp's control flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// The running lanes are at the beginning of a block.
    Block(u32, Ctx),
    /// The running lanes are at the reconvergence point of the innermost frame.
    Arrive(Ctx),
    /// No lanes run any more: those that wait are next.
    Leave(Ctx),
    /// The lanes of the stack's top are next.
    Resume,
}

/// Translates a kernel for launches that run the sides of branches in an order. In launches in
/// detail, split levels are counted, too.
///
/// # Errors
/// Returns the reason that there is no function for the kernel.
pub fn translate(code: &Code, order: Order, detailed: bool) -> Result<Function, Untranslated> {
    let registers = [code.narrow, code.wide, code.preds, code.scalars];
    let registers: usize = registers.iter().map(|&n| n as usize).sum();
    if code.blocks.len() > MAX_BLOCKS[1] || code.blocks.len() * registers > MAX_LIVE {
        return Err(Untranslated::TooLarge);
    }
    // Such calls may lead anywhere, or any number of times into each other.
    let needs_stack = |end: &End| matches!(end, End::CallByAddress(..) | End::ReturnBy(..));
    if code.blocks.iter().any(|block| needs_stack(&block.end)) {
        return translate_with(code, order, detailed, Some(stack::Points::new(code)));
    }
    match translate_with(code, order, detailed, None) {
        Err(Untranslated::Stack(_) | Untranslated::TooLarge) => {
            translate_with(code, order, detailed, Some(stack::Points::new(code)))
        }
        done => done,
    }
}

fn translate_with(
    code: &Code,
    order: Order,
    detailed: bool,
    stack: Option<stack::Points>,
) -> Result<Function, Untranslated> {
    let mut standing = live::StandingRegisters::new(code);
    if let Some(points) = &stack {
        let most = MAX_RESUMED.min(MAX_PARAMS / code.blocks.len());
        standing.keep_in_memory(points.resumes(), most);
    }
    let mut translator = Translator {
        code,
        order,
        detailed,
        stack,
        function: Function::default(),
        ssa: Ssa::default(),
        contexts: Contexts::default(),
        loops: Loops::new(code),
        standing,
        places: FxHashMap::default(),
        work: Vec::new(),
        block: Function::ENTRY,
        step: 0,
    };
    translator.run()?;
    let Translator { mut function, ssa, .. } = translator;
    ssa.finish(&mut function);
    Ok(function)
}

struct Translator<'c> {
    code: &'c Code,
    order: Order,
    detailed: bool,
    /// If lanes wait on a stack in memory.
    stack: Option<stack::Points>,
    function: Function,
    ssa: Ssa,
    contexts: Contexts,
    loops: Loops,
    standing: live::StandingRegisters,
    /// Blocks of places.
    places: FxHashMap<Place, Block>,
    work: Vec<Place>,
    /// The block that instructions are added to, and the step that they come from.
    block: Block,
    step: u32,
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), Untranslated> {
        let entry = self.function.add_block();
        let launched = self.function.add_param(entry, Type::Mask);
        self.run_lanes(launched);
        if self.stack.is_some() {
            self.begin_stack();
        }
        self.enter(self.code.entry, Ctx::BASE)?;
        while let Some(place) = self.work.pop() {
            self.block = self.places[&place];
            match place {
                Place::Block(block, ctx) => self.block_of(block, ctx)?,
                Place::Arrive(ctx) => self.arrive(ctx)?,
                Place::Leave(ctx) => self.leave(ctx)?,
                Place::Resume => self.resume(),
            }
            if self.function.block_count() > MAX_BLOCKS[usize::from(self.stack.is_some())] {
                return Err(Untranslated::TooLarge);
            }
        }
        Ok(())
    }

    /// Adds a place where a warp may stand between turns.
    fn stand(&mut self, homes: Vec<Home>, op: impl FnOnce(Vec<Home>) -> Op) {
        let mut args = vec![self.read(Var::Running)];
        args.extend(homes.iter().map(|&home| self.read(Var::Home(home))).collect::<Vec<_>>());
        self.effect(op(homes), &args);
    }

    /// Ends the current block with a jump to a place.
    fn go_to(&mut self, place: Place) {
        let to = self.place(place);
        self.jump(to);
    }

    /// Returns the block of a place.
    fn place(&mut self, place: Place) -> Block {
        if let Some(&block) = self.places.get(&place) {
            return block;
        }
        let block = self.function.add_block();
        self.places.insert(place, block);
        self.work.push(place);
        block
    }

    fn jump(&mut self, to: Block) {
        let target = self.ssa.edge(self.block, to);
        self.function.set_end(self.block, Terminator::Jump(target));
    }

    /// Ends the current block with a branch to two new blocks.
    fn branch(&mut self, condition: crate::Condition) -> (Block, Block) {
        let (yes, no) = (self.function.add_block(), self.function.add_block());
        let (a, b) = (self.ssa.edge(self.block, yes), self.ssa.edge(self.block, no));
        self.function.set_end(self.block, Terminator::Branch(condition, a, b));
        (yes, no)
    }

    fn read(&mut self, var: Var) -> Value {
        if let Var::Home(home) = var
            && self.standing.is_in_memory(home)
        {
            return self.one(Op::LoadHome(home), &[], home.ty());
        }
        self.ssa.read(&mut self.function, self.block, var)
    }

    fn write(&mut self, var: Var, value: Value) {
        if let Var::Home(home) = var
            && self.standing.is_in_memory(home)
        {
            return self.effect(Op::StoreHome(home), &[value]);
        }
        self.ssa.write(self.block, var, value);
    }

    /// Sets the running lanes.
    fn run_lanes(&mut self, lanes: Value) {
        self.write(Var::Running, lanes);
        let population = self.population(lanes);
        self.write(Var::Population, population);
    }

    /// Adds an instruction with one result.
    fn one(&mut self, op: Op, args: &[Value], ty: Type) -> Value {
        let inst = self.function.append(self.block, op, args, &[ty]);
        self.function.inst(inst).results[0]
    }

    /// Adds an instruction without results.
    fn effect(&mut self, op: Op, args: &[Value]) {
        self.function.append(self.block, op, args, &[]);
    }

    fn constant(&mut self, bits: u64, ty: Type) -> Value {
        match ty {
            Type::Mask => self.one(Op::MaskConst(bits as u32), &[], ty),
            _ => self.one(Op::Const(bits), &[], ty),
        }
    }

    fn population(&mut self, mask: Value) -> Value {
        let bits = self.bits(mask);
        self.one(Op::Population, &[bits], Type::Scalar)
    }

    fn bits(&mut self, mask: Value) -> Value {
        self.one(Op::Bits, &[mask], Type::Scalar)
    }

    fn bump(&mut self, counter: Counter, by: u32) {
        if by > 0 {
            self.effect(Op::Bump(counter, by), &[]);
        }
    }
}
