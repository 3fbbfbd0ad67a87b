//! The seam for another tier: something that runs turns of warps in the interpreter's place, on the same state.
//!
//! A [`Worker`] runs one turn of each warp of the CTA that a [`Visit`] shows it, one after another, and may leave any step and any end of
//! a block to the interpreter ([`Visit::step`], [`Visit::end`]), which finds rows, masks, scalars and the stack of the warp that
//! the worker [holds](Visit::hold) where they always are. So a tier does by itself what it can do better, and nothing else; the
//! schedule, the counts and the refusals stay in one place.

use crate::Declined;
use crate::code::{Code, Memory, Src};
use crate::level::wide;
use crate::machine::Machine;
use crate::step::After;
use crate::warp::Warp;
use converge::mechanism::Order;
use ir::mods::Space;
use simt::observe::AccessKind;
use simt::slots::{GroupLanes, LaneSlots};
use vm::WARP_SIZE;

/// A tier of a decoded kernel. Each thread of a launch asks for a worker of its own.
pub trait Tier: Sync {
    /// What runs the turns of one thread of one launch.
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w>;
}

/// Runs turns.
pub trait Worker {
    /// Runs a turn of each warp of a CTA that does not wait and has not ended: until it does, or has taken [`vm::BACK_EDGES`] back-edges.
    ///
    /// # Errors
    /// Why the exact engine has to run the launch.
    fn visit(&mut self, visit: &mut Visit<'_, '_>) -> Result<(), Declined>;

    /// Tells the interpreter where all warps of a CTA stand, as far as the worker alone knows.
    fn settle(&mut self, visit: &mut Visit<'_, '_>);

    /// What it has counted by itself in a launch that is run in detail since it was last asked.
    fn counts(&mut self) -> Counts {
        Counts::default()
    }
}

/// What a worker counts in a launch that is run in detail, beside each [`Tally`]: without the steps and the ends that it has left to the interpreter,
/// but with their issues.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Issues, by place.
    pub sites: Vec<Site>,
    /// Lanes that each step's guard has turned off.
    pub off: Vec<u64>,
    /// Issues by active lanes.
    pub active_lanes: Vec<u64>,
    /// Split levels summed over all issues.
    pub depth_sum: u64,
    /// Most split levels that an issue was under.
    pub max_depth: u64,
    /// Accesses of whole warps whose addresses lie on a line.
    pub lines: Vec<Lines>,
    /// Accesses that it has taken note of otherwise, and not told of.
    pub noted: Vec<Noted>,
    /// The same, one after another.
    pub logged: Vec<Remembered>,
}

/// Issues that follow each other in a block, of the same lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The block.
    pub block: u32,
    /// The first of them, counted from the block's beginning.
    pub first: usize,
    /// How many they are.
    pub issues: usize,
    /// How often they were issued together.
    pub times: u64,
    /// Lanes that ran, summed over those times.
    pub lanes: u64,
    /// Lanes that had ended.
    pub exited: u64,
    /// Lanes that had never been launched.
    pub absent: u64,
}

/// Accesses of all lanes of a warp at a step, none of which the interpreter executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The step.
    pub step: usize,
    /// Where lane 0 reached in one of them; in others, multiples of [`crate::Line::ALIKE`] bytes away. An offset in the windows of
    /// spaces that have one.
    pub at: u64,
    /// How many.
    pub times: u64,
}

/// Accesses of the same lanes of warps at a step, each address of each of them a multiple of [`crate::Line::ALIKE`] bytes from that of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noted {
    /// The step.
    pub step: usize,
    /// The lanes.
    pub on: u32,
    /// By lane, the address in one of them: an offset in the windows of spaces that have one, of which the low 32 bits count.
    pub at: [u64; 32],
    /// How many.
    pub times: u64,
}

/// Accesses of warps at a step, one after another.
#[derive(Clone, Copy, Debug)]
pub struct Logged<'a> {
    /// The step.
    pub step: usize,
    /// Is to be added to all addresses.
    pub offset: i64,
    /// By access, the lanes.
    pub on: &'a [u32],
    /// By access and lane, the address.
    pub at: Addresses<'a>,
}

/// Addresses of lanes.
#[derive(Clone, Copy, Debug)]
pub enum Addresses<'a> {
    /// In spaces that have a window: offsets there.
    Narrow(&'a [[u32; 32]]),
    /// In the map.
    Wide(&'a [[u64; 32]]),
}

impl Addresses<'_> {
    /// Without the first ones.
    #[inline]
    #[must_use]
    pub fn from(self, first: usize) -> Self {
        match self {
            Self::Narrow(at) => Self::Narrow(&at[first.min(at.len())..]),
            Self::Wide(at) => Self::Wide(&at[first.min(at.len())..]),
        }
    }
}

/// What was [logged](Logged), to be told of later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remembered {
    step: usize,
    offset: i64,
    on: Vec<u32>,
    narrow: Vec<[u32; 32]>,
    wide: Vec<[u64; 32]>,
}

impl Logged<'_> {
    /// The same, to be told of later.
    #[must_use]
    pub fn remembered(&self) -> Remembered {
        let &Self { step, offset, on, at } = self;
        let (narrow, wide) = match at {
            Addresses::Narrow(at) => (at.to_vec(), Vec::new()),
            Addresses::Wide(at) => (Vec::new(), at.to_vec()),
        };
        Remembered { step, offset, on: on.to_vec(), narrow, wide }
    }
}

impl Remembered {
    pub(crate) fn logged(&self) -> Logged<'_> {
        let &Self { step, offset, .. } = self;
        let at = match self.wide.is_empty() {
            true => Addresses::Narrow(&self.narrow),
            false => Addresses::Wide(&self.wide),
        };
        Logged { step, offset, on: &self.on, at }
    }
}

/// Turns of all warps of a CTA.
pub struct Visit<'t, 'm> {
    pub(crate) machine: &'t mut Machine<'m>,
    /// The warp that is held, taken out of its CTA so that both can be changed.
    pub(crate) warp: Warp,
    pub(crate) held: Option<usize>,
}

/// Where a warp stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// The block.
    pub block: u32,
    /// Split levels above its lanes, themselves counted.
    pub depth: u32,
    /// Steps of it that have been issued.
    pub resume: usize,
    /// The lanes that run.
    pub lanes: u32,
    /// The block at which they wait for others.
    pub rejoin: Option<u32>,
}

/// Lanes of a warp's stack: at the top those that run, below others that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Slot {
    /// The block before which they stand, but for those at the top.
    pub block: u32,
    /// The block at which they wait for others, or [`Slot::NOWHERE`].
    pub rejoin: u32,
    /// The lanes.
    pub lanes: u32,
    /// Split levels above it, itself counted.
    pub depth: u32,
}

impl Slot {
    /// In the place of a block: none.
    pub const NOWHERE: u32 = u32::MAX;
}

/// What a worker has done to the stack by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Splits {
    /// Branches of two targets that parted lanes.
    pub parted: u64,
    /// Entries put on the stack.
    pub pushes: u64,
    /// Entries taken off because their lanes came to where others waited.
    pub merges: u64,
    /// Entries taken off because their lanes have ended.
    pub ended: u64,
    /// Most entries on the stack at once.
    pub most: u64,
}

/// Where the state of a warp lies. Rows follow each other, 32 lanes each; lengths are those of [`Code`]. All of it stays where it
/// is until the CTA has ended.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// Rows of 32-bit values, aligned to 64 bytes.
    pub narrow: *mut u32,
    /// Rows of 64-bit values, aligned to 64 bytes.
    pub wide: *mut u64,
    /// Masks.
    pub preds: *mut u32,
    /// Scalars.
    pub scalars: *mut u64,
}

/// Where memory of a CTA lies. It stays there for the visit.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Shared memory of the CTA, and its bytes.
    pub shared: (*mut u8, usize),
    /// The parameter block, never written, and its bytes.
    pub params: (*const u8, usize),
    /// Local memory of the CTA's first thread; that of the others follows, each with the same bytes.
    pub local: (*mut u8, usize),
}

/// A region of guest memory in the host's.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// Guest address of its first byte.
    pub base: u64,
    /// Bytes.
    pub len: u64,
    /// Where they are.
    pub bytes: *mut u8,
    /// How long it may be reached.
    pub until: Until,
}

/// How long a worker may reach what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// As long as the launch runs.
    Launch,
    /// Until [`Visit::settled`] has changed.
    Settled,
    /// In the CTA that runs alone.
    Cta,
}

/// What a worker has executed by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tally {
    /// Issues.
    pub issues: u64,
    /// Lanes of all issues, those that guards turn off included.
    pub lanes: u64,
    /// Lanes that guards have turned off.
    pub off: u64,
    /// Blocks begun that have an issue.
    pub blocks: u64,
    /// Conditional branches and switches.
    pub branches: u64,
    /// Memory instructions with a lane on.
    pub memory: u64,
    /// Collectives of lanes that name each other, and of lanes that do not.
    pub collectives: u64,
    /// See above.
    pub unnamed: u64,
    /// Lanes that were never launched, and lanes that had ended, summed over all issues.
    pub absent: u64,
    /// See above.
    pub exited: u64,
    /// Arrivals of warps at barriers, and barriers that have completed.
    pub arrivals: u64,
    /// See above.
    pub barriers: u64,
    /// Not 0 if memory may have changed or a warp was released.
    pub progress: u64,
}

impl Visit<'_, '_> {
    /// The decoded kernel.
    #[inline]
    #[must_use]
    pub fn code(&self) -> &Code {
        self.machine.context.code
    }

    /// Where the warp that is held stands, if it has not ended.
    #[inline]
    #[must_use]
    pub fn top(&self) -> Option<Top> {
        let top = self.warp.stack.top()?;
        let (rejoin, lanes, depth) = (top.rejoin(), top.lanes, top.depth);
        Some(Top { block: top.block, depth, resume: self.warp.resume, lanes, rejoin })
    }

    /// The CTA's number in the grid.
    #[must_use]
    pub fn cta(&self) -> u64 {
        self.machine.ctas[self.machine.slot].index
    }

    /// Lanes of the warp that were never launched, and those that have ended.
    #[inline]
    #[must_use]
    pub fn absent(&self) -> (u32, u32) {
        (!self.warp.launched, self.warp.exited)
    }

    /// Whether the launch is run in detail.
    #[inline]
    #[must_use]
    pub fn is_detailed(&self) -> bool {
        self.machine.detail.is_some()
    }

    /// Tells the watch of accesses that the worker has executed by itself, or is about to.
    #[inline(always)]
    pub fn announce(&mut self, number: u32, logged: &Logged<'_>) {
        let code = self.machine.context.code;
        let block = &code.blocks[number as usize];
        let pc = block.first + (logged.step - block.steps.start) as u64;
        self.machine.announce_logged(pc, &code.steps[logged.step], logged);
    }

    /// Where memory of the CTA lies.
    #[inline]
    #[must_use]
    pub fn view(&mut self) -> View {
        let machine = &mut *self.machine;
        let cta = &mut machine.ctas[machine.slot];
        View {
            shared: (cta.shared.as_mut_ptr(), cta.shared.len()),
            params: (machine.context.params.as_ptr(), machine.context.params.len()),
            local: (cta.local.as_mut_ptr(), machine.context.code.local_bytes),
        }
    }

    /// Counts what has been executed.
    ///
    /// # Errors
    /// If the CTA has taken more issues than the limit.
    #[inline]
    pub fn count(&mut self, tally: &Tally) -> Result<(), Declined> {
        let machine = &mut *self.machine;
        let n = tally.issues;
        machine.progress |= tally.progress != 0;
        machine.issued |= n != 0;
        if let Some(detail) = &mut machine.detail {
            detail.branch_targets += tally.branches;
            detail.collectives += tally.collectives + tally.unnamed;
            detail.barrier_arrivals += tally.arrivals;
        }
        let stats = &mut machine.stats;
        stats.block_issues += tally.blocks;
        stats.branches += tally.branches;
        stats.memory_instructions += tally.memory;
        stats.collectives += tally.collectives;
        stats.barriers += tally.barriers;
        let (never_launched, exited, active) = (tally.absent, tally.exited, tally.lanes);
        let lanes = GroupLanes { never_launched, exited, waiting: 0, active };
        stats.slots.add(&LaneSlots::of_issues(n, WARP_SIZE, lanes));
        stats.slots.predicate_off(tally.off);
        machine.issue(n)
    }

    /// Copies the stack, if there is room for it; how many entries.
    #[inline]
    #[must_use]
    pub fn stack(&self, to: &mut [Slot]) -> Option<usize> {
        let entries = self.warp.stack.entries();
        for (to, from) in to.get_mut(..entries.len())?.iter_mut().zip(entries) {
            let rejoin = from.rejoin().unwrap_or(Slot::NOWHERE);
            *to = Slot { block: from.block, rejoin, lanes: from.lanes, depth: from.depth };
        }
        Some(entries.len())
    }

    /// Whether the taken side of a branch runs first.
    #[inline]
    #[must_use]
    pub fn taken_first(&self) -> bool {
        self.machine.context.order.unwrap_or(Order::Taken) == Order::Taken
    }

    /// Has the interpreter execute a step of a block for some lanes, at least one. The step's issue is not counted. Whether the warp
    /// now waits, at the step after it.
    ///
    /// # Errors
    /// Why the exact engine has to run the launch.
    pub fn step(&mut self, number: u32, step: usize, on: u32) -> Result<bool, Declined> {
        let code = self.machine.context.code;
        let block = &code.blocks[number as usize];
        let index = step - block.steps.start;
        let (machine, warp) = (&mut *self.machine, &mut self.warp);
        let pc = block.first + index as u64;
        let after = wide(
            #[inline(always)]
            || machine.step(warp, &code.steps[step], pc, on),
        )?;
        if after == After::Park {
            self.warp.resume = index + 1;
            self.warp.stack.stand(number);
        }
        Ok(after == After::Park)
    }

    /// [`Self::step`] for an access that the watch has been told of ([`Self::announce`]).
    ///
    /// # Errors
    /// Why the exact engine has to run the launch.
    pub fn step_told(&mut self, number: u32, step: usize, on: u32) -> Result<(), Declined> {
        // Accesses look at nothing else of it.
        let detail = self.machine.detail.take();
        let done = self.step(number, step, on);
        self.machine.detail = detail;
        done.map(|_| ())
    }

    /// All lanes that run go to a block.
    #[inline]
    pub fn go(&mut self, block: u32) {
        self.warp.resume = 0;
        self.warp.stack.go(block);
    }

    /// Has the interpreter execute the end of a block, its count as a branch and its back-edges included, for the lanes that run.
    ///
    /// # Errors
    /// Why the exact engine has to run the launch.
    pub fn end(&mut self, block: u32) -> Result<(), Declined> {
        let Some(&top) = self.warp.stack.top() else { return Ok(()) };
        let code = self.machine.context.code;
        self.warp.resume = 0;
        self.machine.end(&mut self.warp, &code.blocks[block as usize], top.lanes).map(|_| ())
    }

    /// The region of global memory that the first of some lanes reaches in a step, if it is an access that may do so, and if it may be
    /// reached by this worker without asking.
    #[must_use]
    pub fn region(&mut self, step: usize, on: u32) -> Option<Region> {
        let code = self.machine.context.code;
        let (memory, kind) = code.steps[step].access()?;
        let write = kind != AccessKind::Load;
        let crew = self.machine.has_crew();
        // Among several threads, atomics are done one by one.
        if crew && kind == AccessKind::Atomic {
            return None;
        }
        if !matches!(memory.space, Space::Global | Space::Const | Space::Generic) {
            return None;
        }
        let address = self.address(memory, on.trailing_zeros() as usize & 31);
        let direct = &self.machine.memory;
        let place = direct.place(memory.hint.get(), address, memory.bytes(), write)?;
        if write && !crew {
            return self.machine.lend(step, place);
        }
        let Some((base, len, bytes)) = direct.whole(place) else {
            return self.machine.window(step, (memory, kind), (address, place), on);
        };
        Some(Region { base, len: len as u64, bytes, until: Until::Launch })
    }

    /// How often what was written has been made final, after which it is to be kept anew.
    #[inline]
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.machine.finals.times
    }

    fn address(&self, memory: &Memory, lane: usize) -> u64 {
        let value = match memory.addr {
            Src::ConstPair(low, _) => low,
            src => self.warp.lane(src, lane),
        };
        value.wrapping_add_signed(memory.offset)
    }
}
