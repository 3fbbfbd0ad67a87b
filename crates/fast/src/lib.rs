//! The fast engine: runs launches of the kernel IR to the same end as the exact engine, many lanes at a time.
//!
//! A kernel is decoded for the shape of its launch, on the facts of `flow::analysis`: uniform and affine values are scalars,
//! predicates are masks, everything else rows of 32 lanes; results are blended only where somebody reads what lanes that are off
//! have; adjacent addresses are one access. Warps run in the exact engine's canonical schedule, issue by issue, so that results, lane
//! slots and the mechanism's charges are the same by construction, races included.
//!
//! **When in doubt, the exact engine.** What this engine has no notion of (calls, output, clocks, ...) is [`Declined`] before the
//! launch begins. Whatever would be a fault or a hang, or breaks an assumption of the analysis, is declined on the way, and memory made
//! what it was before, or after CTAs that are final (`finals`): the caller has the exact engine run the launch, or what is left of it, whose report is then the
//! report. So there is no second rendering of faults that could differ.
//!
//! Only 32-lane warps under the mechanism `ipdom` are taken; which mechanism a launch has, the caller has to know.

mod bulk;
pub mod code;
mod context;
mod crew;
mod decode;
mod depths;
mod detail;
mod finals;
mod inline;
mod level;
mod machine;
mod memory;
pub mod native;
mod operands;
pub mod ops;
mod row;
mod share;
mod slice;
mod stack;
mod step;
mod sync;
mod tier;
mod told;
mod visit;
mod warp;
mod window;

pub use crew::{MOST_THREADS, Threads, host_threads};
pub use detail::Detail;
pub use level::{Level, wide};
pub use sync::BARRIERS;
pub use tier::{
    Addresses, Counts, Lines, Logged, Noted, Region, Remembered, Rows, Site, Slot, Splits, Tally,
    Tier, Top, Until, View, Visit, Worker,
};
pub use visit::Wait;

use simt::memory::MemoryMap;
use simt::{GroupId, Pc, WarpMask};
use std::any::Any;
use std::borrow::BorrowMut;
use thiserror::Error;
use vm::{Program, State, Stats};

/// Why a launch is left to the exact engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Declined {
    /// The kernel does something that only the exact engine does.
    #[error("{0}")]
    Kernel(&'static str),
    /// The launch asks for something that only the exact engine has.
    #[error("{0}")]
    Launch(&'static str),
    /// A fault, a hang, or something that the exact engine has to judge, while it ran.
    #[error("while it ran: {0}")]
    Running(&'static str),
    /// An index wrapped around over the lanes of a warp.
    #[error("while it ran: an index wrapped around over the lanes of a warp")]
    Wrapped,
}

/// A launch that has ended, or was stopped.
#[derive(Debug)]
pub struct Finished {
    /// Whether it has ended.
    pub done: bool,
    /// Guest memory.
    pub memory: MemoryMap,
    /// What the launch did: equal to the exact engine's, number by number.
    pub stats: Stats,
    /// Further counts, if they were asked for.
    pub detail: Option<Box<Detail>>,
    /// The vector instructions that were used.
    pub level: Level,
    /// The threads of the host that ran it.
    pub threads: Threads,
}

/// What may stop a launch from outside.
pub trait GoOn {
    /// Asked now and then, with blocks ended and instructions issued; `false` stops the launch.
    fn go_on(&mut self, blocks: u64, issues: u64) -> bool;

    /// Asked after [`Self::go_on`]: whether it wants to be told where the lanes are.
    fn looks(&mut self) -> bool {
        false
    }

    /// Is told where the lanes are of resident CTAs that run next: of each warp, those of one path.
    fn standing(&mut self, _lanes: &mut dyn Iterator<Item = (GroupId, WarpMask, Pc)>) {}

    /// Is told of each access of a launch that is run in detail, as an observer of the exact engine is.
    fn access(&mut self, _access: &simt::observe::Access<'_>) {}

    /// The same for accesses that nothing that counts can tell apart: this is one; addresses of the others are multiples of
    /// [`Line::ALIKE`] bytes away, and their warps any.
    fn accesses(&mut self, access: &simt::observe::Access<'_>, times: u64) {
        for _ in 0..times {
            self.access(access);
        }
    }

    /// Is asked first where lanes side by side access a line; `true` if it needs no [`Self::access`] for it.
    fn line(&mut self, _line: &Line) -> bool {
        false
    }

    /// Is asked first where lanes of a warp access one space anyhow; `true` if it needs no [`Self::accesses`] for it.
    fn warp(&mut self, _access: &WarpAccess<'_>) -> bool {
        false
    }

    /// Is asked first where lanes of warps access one space anyhow, one after another at one place: of how many, from the first on, it needs
    /// neither [`Self::warp`] nor [`Self::accesses`].
    fn warps(&mut self, _accesses: &WarpAccesses<'_>) -> usize {
        0
    }

    /// Whether it keeps apart what it was told up to the last [`Self::settled`]. Else launches in detail make nothing final while they run.
    fn has_parts(&self) -> bool {
        false
    }

    /// All accesses that it was told of are of CTAs that have ended for good. Those that follow are in vain if the launch is declined.
    fn settled(&mut self) {}

    /// The launch, in detail, is declined after CTAs that have ended for good: this is what they did, but for their accesses, which are
    /// those up to the last [`Self::settled`].
    fn done(&mut self, _detail: &Detail) {}

    /// Something that is told of the accesses of some CTAs in this one's place, on another thread; `None` if this one has to be told
    /// of each access itself, in the canonical order.
    fn apart(&self) -> Option<Box<dyn Apart>> {
        None
    }

    /// Takes over what something that was [apart](Self::apart) was told.
    fn join(&mut self, _apart: Box<dyn Apart>) {}
}

/// Is told of accesses on a thread of its own.
pub trait Apart: GoOn + Send {
    /// Itself, for who made it.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// An access of lanes of one warp to one space.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess<'a> {
    /// Where.
    pub pc: Pc,
    /// What.
    pub kind: simt::observe::AccessKind,
    /// The space accessed, never the generic one.
    pub space: simt::memory::Space,
    /// Bytes for each lane.
    pub size: u32,
    /// The lanes; there are some.
    pub on: u32,
    /// By lane, the address, of which only those of these lanes mean something: an offset in shared, local and parameter space.
    pub at: &'a [u64; 32],
    /// How many such accesses: of more than one, this is one; addresses of the others are multiples of [`Line::ALIKE`] bytes away.
    pub times: u64,
}

/// Accesses of lanes of warps to one space, one after another at one place.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccesses<'a> {
    /// Where.
    pub pc: Pc,
    /// What.
    pub kind: simt::observe::AccessKind,
    /// The space accessed, never the generic one.
    pub space: simt::memory::Space,
    /// Bytes for each lane.
    pub size: u32,
    /// By access, the lanes; there are some.
    pub on: &'a [u32],
    /// By access and lane, the low half of the address, as [`WarpAccess`] has it.
    pub at: &'a [[u32; 32]],
    /// The high half of all of them.
    pub page: u32,
}

/// An access of lanes side by side, each at the same distance from the one before.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Where.
    pub pc: Pc,
    /// What.
    pub kind: simt::observe::AccessKind,
    /// The space accessed, never the generic one.
    pub space: simt::memory::Space,
    /// Bytes for each lane.
    pub size: u32,
    /// The thread in the CTA of the first lane.
    pub first_thread: u32,
    /// How many lanes.
    pub lanes: u16,
    /// The first lane's address: an offset in shared, local and parameter space.
    pub at: u64,
    /// Bytes from one lane's address to the next one's.
    pub stride: i64,
    /// How many such accesses: of more than one, this is one; addresses of the others are multiples of [`Line::ALIKE`] bytes away, and
    /// their threads whole warps.
    pub times: u64,
}

impl Line {
    /// Addresses that are multiples of this apart are told together: sectors and banks cannot tell them apart.
    pub const ALIKE: u64 = 128;
}

impl<F: FnMut(u64, u64) -> bool> GoOn for F {
    fn go_on(&mut self, blocks: u64, issues: u64) -> bool {
        self(blocks, issues)
    }
}

/// A decoded launch.
#[derive(Debug)]
pub struct Kernel {
    code: code::Code,
    plan: crew::Plan,
}

/// Decodes the kernel of a launch that has not begun, if this engine can run it. Without `assume`, nothing is taken for
/// granted about indices, which may be slower, and [`Declined::Wrapped`] does not happen.
///
/// # Errors
/// Why not.
pub fn prepare(program: &Program, state: &State<1>, assume: bool) -> Result<Kernel, Declined> {
    may_run(state)?;
    let code = decode::decode(program, &state.setup(), assume)?;
    Ok(Kernel { code, plan: crew::Plan::new(1) })
}

/// Whether this engine can run a launch, as far as its kernel has no say in it.
///
/// # Errors
/// Why not.
pub fn may_run(state: &State<1>) -> Result<(), Declined> {
    let setup = state.setup();
    if !state.is_fresh() {
        return Err(Declined::Launch("it has begun already"));
    }
    if setup.width != 32 || setup.warp != 32 {
        return Err(Declined::Launch("its warps are not of 32 lanes"));
    }
    if !setup.first_path {
        return Err(Declined::Launch("its policy is not `first`"));
    }
    Ok(())
}

/// Runs a launch under the mechanism `ipdom`; with `detailed`, counts more than its statistics. Memory is taken out of the state.
///
/// # Errors
/// Why the exact engine has to run it. The state, if it was only lent, is what that engine is to go on with: as before, and so is its memory; or,
/// where no CTA was resident in it ([`State::is_vacant`]), after CTAs that have ended.
pub fn run(
    kernel: &Kernel,
    state: impl BorrowMut<State<1>>,
    level: Level,
    detailed: bool,
    watch: &mut dyn GoOn,
) -> Result<Finished, Declined> {
    let way = crew::Way { level, detailed, tier: None, plan: &kernel.plan, in_parts: false };
    launch(kernel, state, way, watch)
}

/// Runs a launch under the mechanism `ipdom`, with all turns of warps run by another tier, which has to count what [`Counts`] has if
/// the launch is `detailed`. Memory is taken out of the state.
///
/// # Errors
/// As [`run`].
pub fn run_on(
    tier: &dyn Tier,
    kernel: &Kernel,
    state: impl BorrowMut<State<1>>,
    level: Level,
    detailed: bool,
    watch: &mut dyn GoOn,
) -> Result<Finished, Declined> {
    let tier = Some(tier);
    let way = crew::Way { level, detailed, tier, plan: &kernel.plan, in_parts: false };
    launch(kernel, state, way, watch)
}

fn launch(
    kernel: &Kernel,
    mut state: impl BorrowMut<State<1>>,
    mut way: crew::Way<'_>,
    watch: &mut dyn GoOn,
) -> Result<Finished, Declined> {
    let state = state.borrow_mut();
    way.in_parts = state.is_vacant();
    let setup = state.setup();
    let context = context::Context::new(&kernel.code, &setup);
    drop(setup);
    let mut memory = std::mem::take(state.memory_mut());
    let level = way.level;
    match on_memory(&mut memory, &context, way, watch) {
        Ok(((stats, detail, done), threads)) => {
            Ok(Finished { done, memory, stats, detail, level, threads })
        }
        Err(left) => {
            let (declined, done) = *left;
            *state.memory_mut() = memory;
            state.skip(&done);
            Err(declined)
        }
    }
}

/// Runs a launch on memory. If it is declined, what those CTAs have done that it is to go on after.
fn on_memory(
    memory: &mut MemoryMap,
    context: &context::Context<'_>,
    way: crew::Way<'_>,
    watch: &mut dyn GoOn,
) -> Result<(machine::Ended, Threads), crew::Left> {
    let host = Declined::Launch("it has memory of the host's, or the host is big-endian");
    let direct = memory.direct().ok_or_else(|| Box::new((host, context.done)))?;
    crew::run(way, context, direct, watch)
}

impl Kernel {
    /// What it was decoded to, for another tier.
    #[must_use]
    pub fn code(&self) -> &code::Code {
        &self.code
    }

    /// The same, where rows that are never needed at the same time are one: for a tier that keeps the first ones in registers. Nothing but
    /// time depends on it.
    #[must_use]
    pub fn with_shared_rows(mut self) -> Self {
        self.code.share_rows();
        self
    }

    /// The same, whose launches may take so many threads of the host, or as many as it has if that is 0. Without this it is one.
    /// Nothing but time depends on it.
    #[must_use]
    pub fn on_threads(mut self, threads: usize) -> Self {
        self.plan = crew::Plan::new(threads);
        self
    }

    /// The same, which makes final what CTAs have done whenever about so many bytes have been kept for taking back what they wrote: where a launch is lent
    /// a state without resident CTAs, see [`run`].
    #[must_use]
    pub fn final_after(mut self, bytes: usize) -> Self {
        self.plan.final_after = bytes;
        self
    }

    /// The same, whose launches take all their threads whether that pays or not.
    #[must_use]
    pub fn eagerly(mut self) -> Self {
        self.plan.eager = true;
        self
    }
}
