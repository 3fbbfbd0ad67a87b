//! The interface for another tier, which runs turns of warps in the interpreter's place and on its
//! state.
//!
//! A [`Worker`] runs one turn of each warp of the CTA that a [`Visit`] gives it, and may leave any
//! step and any end of a block to the interpreter ([`Visit::step`], [`Visit::end`]). The
//! interpreter finds rows, masks, scalars and the stack of the warp that the worker
//! [holds](Visit::hold) in their usual places. A tier thus implements only what it does better; the
//! schedule, the counts and the reasons to decline have one home.

use crate::Declined;
use crate::code::{Code, Kind, Memory, Src};
use crate::level;
use crate::machine::Machine;
use crate::row::lanes;
use crate::screen::AccessScreen;
use crate::step::StepOutcome;
use crate::warp::Warp;
use ir::mods::Space;
use simt::observe::AccessKind;
use simt::slots::{GroupLanes, LaneSlots};
use vm::WARP_SIZE;

/// A tier that runs a decoded kernel. Each host thread of a launch gets a worker of its own.
pub trait Tier: Sync {
    /// Creates a worker for one thread of one launch.
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w>;
}

/// Runs the turns of a launch on one host thread.
pub trait Worker {
    /// Runs one turn of each warp of a CTA that neither waits nor has ended: until it does, or has
    /// taken [`vm::BACK_EDGES`] back-edges.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch.
    fn visit(&mut self, visit: &mut Visit<'_, '_>) -> Result<(), Declined>;

    /// Writes the positions of all warps of a CTA back to the interpreter's state, where the worker
    /// keeps them itself.
    fn write_back(&mut self, visit: &mut Visit<'_, '_>);

    /// Passes on what it has counted and not passed on yet ([`Visit::count_of_ended`]). No CTA goes
    /// on.
    fn flush(&mut self, _: &mut Visit<'_, '_>) {}

    /// Returns the worker's own counts in a launch in detail since the last call.
    fn counts(&mut self) -> WorkerCounts {
        WorkerCounts::default()
    }
}

/// A worker's own counts in a launch in detail, in addition to each [`Tally`]. They include the
/// issues of steps and ends left to the interpreter, but nothing else of these.
#[derive(Clone, Debug, Default)]
pub struct WorkerCounts {
    /// Issues by place.
    pub sites: Vec<IssueSite>,
    /// Lanes that guards turned off, by step; then those of ends of blocks whose guard does not
    /// hold, all together.
    pub off: Vec<u64>,
    /// The number of issues by number of active lanes.
    pub active_lanes: Vec<u64>,
    /// Split depths, summed over all issues.
    pub depth_sum: u64,
    /// The largest split depth of an issue.
    pub max_depth: u64,
    /// Accesses of whole warps with affine addresses.
    pub strided: Vec<StridedAccesses>,
    /// Other accesses that have not been reported to the observer, as congruent ones with their
    /// number.
    pub congruent: Vec<CongruentAccesses>,
    /// Other accesses that have not been reported to the observer, one by one.
    pub logged: Vec<AccessLog>,
}

/// Successive issues of a block for the same lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssueSite {
    /// The block.
    pub block: u32,
    /// The index of the first issue in the block.
    pub first: usize,
    /// The number of issues in succession.
    pub issues: usize,
    /// The number of times that they were issued together.
    pub times: u64,
    /// Active lanes, summed over these times.
    pub lanes: u64,
    /// Exited lanes, summed over these times.
    pub exited: u64,
    /// Lanes that were never launched, summed over these times.
    pub never_launched: u64,
}

/// Accesses of all lanes of a warp at a step that the interpreter did not execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StridedAccesses {
    /// The step.
    pub step: usize,
    /// Lane 0's address in one of the accesses; it is congruent in the others (see
    /// [`crate::StridedAccess::CONGRUENCE`]). An offset in spaces with a window.
    pub at: u64,
    /// The number of accesses.
    pub times: u64,
}

/// Accesses of the same lanes at a step, with congruent addresses in each lane (see
/// [`crate::StridedAccess::CONGRUENCE`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CongruentAccesses {
    /// The step.
    pub step: usize,
    /// The active lanes.
    pub on: u32,
    /// The addresses of one of the accesses, by lane. In spaces with a window, an offset of which
    /// the low 32 bits count.
    pub at: [u64; 32],
    /// The number of accesses.
    pub times: u64,
}

/// Successive accesses of warps at a step.
#[derive(Clone, Copy, Debug)]
pub struct LoggedAccesses<'a> {
    /// The step.
    pub step: usize,
    /// Added to all addresses.
    pub offset: i64,
    /// The active lanes of each access.
    pub on: &'a [u32],
    /// Addresses by access and lane.
    pub at: Addresses<'a>,
}

/// Addresses of lanes.
#[derive(Clone, Copy, Debug)]
pub enum Addresses<'a> {
    /// Offsets, in spaces with a window.
    Narrow(&'a [[u32; 32]]),
    /// Addresses in the memory map.
    Wide(&'a [[u64; 32]]),
}

impl Addresses<'_> {
    /// Drops the first accesses.
    #[inline]
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        match self {
            Self::Narrow(at) => Self::Narrow(&at[count.min(at.len())..]),
            Self::Wide(at) => Self::Wide(&at[count.min(at.len())..]),
        }
    }
}

/// An owned [`LoggedAccesses`], to be reported later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessLog {
    step: usize,
    offset: i64,
    on: Vec<u32>,
    narrow: Vec<[u32; 32]>,
    wide: Vec<[u64; 32]>,
}

impl LoggedAccesses<'_> {
    /// Copies the accesses, to be reported later.
    #[must_use]
    pub fn to_log(&self) -> AccessLog {
        let &Self { step, offset, on, at } = self;
        let (narrow, wide) = match at {
            Addresses::Narrow(at) => (at.to_vec(), Vec::new()),
            Addresses::Wide(at) => (Vec::new(), at.to_vec()),
        };
        AccessLog { step, offset, on: on.to_vec(), narrow, wide }
    }
}

impl AccessLog {
    pub(crate) fn accesses(&self) -> LoggedAccesses<'_> {
        let &Self { step, offset, .. } = self;
        let at = match self.wide.is_empty() {
            true => Addresses::Narrow(&self.narrow),
            false => Addresses::Wide(&self.wide),
        };
        LoggedAccesses { step, offset, on: &self.on, at }
    }
}

/// A visit of a worker to a CTA, to run a turn of each of its warps.
pub struct Visit<'t, 'm> {
    pub(crate) machine: &'t mut Machine<'m>,
    /// The held warp, taken out of its CTA so that both can be mutated.
    pub(crate) warp: Warp,
    pub(crate) held: Option<usize>,
}

/// The position of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackTop {
    /// The block.
    pub block: u32,
    /// The number of split levels that the lanes are in, counted from 1.
    pub depth: u32,
    /// The number of the block's steps that have been issued.
    pub resume: usize,
    /// The active lanes.
    pub lanes: u32,
    /// The block at which the lanes wait for others.
    pub rejoin: Option<u32>,
}

/// An entry of a warp's reconvergence stack. The lanes of the top entry run, those of others wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct StackEntry {
    /// The block at whose beginning the lanes are; those of the top entry may be inside it.
    pub block: u32,
    /// The block at which the lanes wait for others, or [`StackEntry::NO_BLOCK`].
    pub rejoin: u32,
    /// The lanes.
    pub lanes: u32,
    /// The number of split levels that the lanes are in, counted from 1.
    pub depth: u32,
}

impl StackEntry {
    /// Stands for no block.
    pub const NO_BLOCK: u32 = u32::MAX;
}

/// Changes that a worker has made to stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct StackCharges {
    /// Branches that split lanes.
    pub split_branches: u64,
    /// Entries pushed.
    pub pushes: u64,
    /// Entries popped because their lanes reached the reconvergence point.
    pub merges: u64,
    /// Entries popped because their lanes have exited.
    pub emptied: u64,
    /// The maximum height of a stack.
    pub max_height: u64,
    /// Targets of branches that split lanes, beyond two each.
    pub more_paths: u64,
    /// Returns of some of the lanes.
    pub split_returns: u64,
}

/// Pointers to the state of a warp. Rows of 32 lanes lie one after another; [`Code`] holds their
/// numbers. The pointers stay valid until the CTA has ended.
#[derive(Clone, Copy, Debug)]
pub struct WarpRegisters {
    /// Rows of 32-bit values, aligned to 64 bytes.
    pub narrow: *mut u32,
    /// Rows of 64-bit values, aligned to 64 bytes.
    pub wide: *mut u64,
    /// Predicates, as masks.
    pub preds: *mut u32,
    /// Scalars.
    pub scalars: *mut u64,
}

/// Pointers to the memory of a CTA, valid for the visit.
#[derive(Clone, Copy, Debug)]
pub struct CtaMemory {
    /// Shared memory of the CTA, and its size in bytes.
    pub shared: (*mut u8, usize),
    /// The parameter block, which is never written, and its size in bytes.
    pub params: (*const u8, usize),
    /// Local memory of the CTA's first thread, and how many of its bytes a worker may access; a
    /// step that the interpreter executes may add to them. That of the other threads follows.
    pub local: (*mut u8, usize),
}

/// A range of guest memory that a worker may access without a call of the interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The guest address of the first byte.
    pub base: u64,
    /// Its length in bytes.
    pub len: u64,
    /// The host address of the first byte.
    pub bytes: *mut u8,
    /// How long the range may be accessed.
    pub until: Until,
}

/// How long a worker may access a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// While the launch runs.
    Launch,
    /// Until [`Visit::commits`] changes.
    Commit,
    /// While the current CTA runs, on a worker that runs one CTA at a time.
    Cta,
}

/// The counts of what a worker has executed itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tally {
    /// Issues.
    pub issues: u64,
    /// Active lanes of all issues, including those that guards turn off.
    pub lanes: u64,
    /// Lanes that guards turned off.
    pub off: u64,
    /// Basic blocks of the program that were begun and have an issue.
    pub blocks: u64,
    /// Conditional branches and switches.
    pub branches: u64,
    /// Memory instructions with at least one active lane.
    pub memory: u64,
    /// Collectives that name their members.
    pub collectives: u64,
    /// Collectives that do not name their members.
    pub unnamed: u64,
    /// Lanes that were never launched, summed over all issues.
    pub never_launched: u64,
    /// Exited lanes, summed over all issues.
    pub exited: u64,
    /// Arrivals of warps at barriers.
    pub arrivals: u64,
    /// Barriers that have completed.
    pub barriers: u64,
    /// Not 0 if memory may have changed or a warp was released.
    pub progress: u64,
}

/// A worker keeps the counts of less than this share of the issues that a CTA may still take.
const KEPT_SHARE: u64 = 16;

impl Visit<'_, '_> {
    /// Returns the decoded kernel.
    #[inline]
    #[must_use]
    pub fn code(&self) -> &Code {
        self.machine.context.code
    }

    /// Returns the position of the held warp, or `None` if it has ended.
    #[inline]
    #[must_use]
    pub fn top(&self) -> Option<StackTop> {
        let top = self.warp.stack.top()?;
        let (rejoin, lanes, depth) = (top.rejoin(), top.lanes, top.depth);
        Some(StackTop { block: top.block, depth, resume: self.warp.resume, lanes, rejoin })
    }

    /// Returns the number of the CTA in the grid.
    #[must_use]
    pub fn cta(&self) -> u64 {
        self.machine.ctas[self.machine.slot].index
    }

    /// Returns the held warp's lanes that were never launched, and its exited lanes.
    #[inline]
    #[must_use]
    pub fn lanes_not_live(&self) -> (u32, u32) {
        (!self.warp.launched, self.warp.exited)
    }

    /// Returns whether the launch runs in detail.
    #[inline]
    #[must_use]
    pub fn is_detailed(&self) -> bool {
        self.machine.detail.is_some()
    }

    /// Reports accesses in block `number` to the observer. The worker executes them itself, before
    /// or after this.
    #[inline(always)]
    pub fn report(&mut self, number: u32, logged: &LoggedAccesses<'_>) {
        let code = self.machine.context.code;
        let block = &code.blocks[number as usize];
        let pc = block.first + (logged.step - block.steps.start) as u64;
        self.machine.report_logged(pc, &code.steps[logged.step], logged);
    }

    /// Returns pointers to the memory of the CTA.
    #[inline]
    #[must_use]
    pub fn cta_memory(&mut self) -> CtaMemory {
        let machine = &mut *self.machine;
        let cta = &mut machine.ctas[machine.slot];
        CtaMemory {
            shared: (cta.storage.shared.as_mut_ptr(), cta.storage.shared.len()),
            params: (machine.context.params.as_ptr(), machine.context.params.len()),
            local: (cta.storage.local.bytes.as_mut_ptr(), cta.storage.local.reach()),
        }
    }

    /// Returns how many bytes of each thread's local memory a worker may access now.
    #[inline]
    #[must_use]
    pub fn local_reach(&self) -> usize {
        self.machine.ctas[self.machine.slot].storage.local.reach()
    }

    /// Adds the counts of what the worker has executed.
    ///
    /// # Errors
    /// Returns [`Declined`] if the CTA has taken more issues than the limit.
    #[inline]
    pub fn count(&mut self, tally: &Tally) -> Result<(), Declined> {
        self.count_of_ended(tally);
        let machine = &mut *self.machine;
        machine.progress |= tally.progress != 0;
        machine.issued |= tally.issues != 0;
        machine.issue(tally.issues)
    }

    /// Adds the counts of what the worker has executed of CTAs that have ended: that these have not
    /// taken more issues than the limit is known ([`Self::kept_issues`]).
    #[inline]
    pub fn count_of_ended(&mut self, tally: &Tally) {
        let machine = &mut *self.machine;
        let n = tally.issues;
        if let Some(detail) = &mut machine.detail {
            detail.counts.branch_targets += tally.branches;
            detail.counts.collectives += tally.collectives + tally.unnamed;
            detail.counts.barrier_arrivals += tally.arrivals;
        }
        let stats = &mut machine.stats;
        stats.block_issues += tally.blocks;
        stats.conditional_branches += tally.branches;
        stats.memory_instructions += tally.memory;
        stats.member_collectives += tally.collectives;
        stats.barriers += tally.barriers;
        let (never_launched, exited, active) = (tally.never_launched, tally.exited, tally.lanes);
        let lanes = GroupLanes { never_launched, exited, waiting: 0, active };
        stats.slots.add(&LaneSlots::of_issues(n, WARP_SIZE, lanes));
        stats.slots.predicate_off(tally.off);
    }

    /// Returns how many issues of CTAs that have ended a worker may count when others have ended,
    /// too, or `None` if it may not: nothing looks at them before, and even if one CTA had taken
    /// them all, that would be far from the limit.
    #[inline]
    #[must_use]
    pub fn kept_issues(&self) -> Option<u64> {
        let machine = &*self.machine;
        let left = machine.context.limit.saturating_sub(machine.issues());
        let may = machine.issue_limit == u64::MAX
            && machine.context.cluster_size == 1
            && !machine.screened
            && !machine.commit_is_due();
        may.then_some(left / KEPT_SHARE)
    }

    /// Returns whether CTAs run one after another, so that a worker may keep its counts until the
    /// CTA ends ([`Self::keep_counts`]).
    #[inline]
    #[must_use]
    pub fn is_only_resident(&self) -> bool {
        self.machine.ctas.len() == 1
    }

    /// In place of [`Self::count`]: the worker has issued something, and counts it later.
    #[inline]
    pub fn keep_counts(&mut self, progress: bool) {
        self.machine.progress |= progress;
        self.machine.issued = true;
    }

    /// Begins another turn of each warp of the only resident CTA, in whose last turns memory has
    /// changed or warps have been released.
    #[inline]
    pub fn go_on(&mut self) {
        self.keep_counts(true);
        self.release();
        let turns = self.warps() as u32;
        self.machine.turns = self.machine.turns.wrapping_add(turns);
    }

    /// Copies the held warp's stack, lowest entry first, and returns its height; returns `None` if
    /// `to` is too short.
    #[inline]
    #[must_use]
    pub fn stack(&self, to: &mut [StackEntry]) -> Option<usize> {
        let entries = self.warp.stack.entries();
        for (to, from) in to.get_mut(..entries.len())?.iter_mut().zip(entries) {
            let rejoin = from.rejoin().unwrap_or(StackEntry::NO_BLOCK);
            *to = StackEntry { block: from.block, rejoin, lanes: from.lanes, depth: from.depth };
        }
        Some(entries.len())
    }

    /// Has the interpreter execute a step of block `number` for the lanes `on`, at least one,
    /// without counting its issue. Returns whether the warp now waits after the step.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch.
    pub fn step(&mut self, number: u32, step: usize, on: u32) -> Result<bool, Declined> {
        let code = self.machine.context.code;
        let block = &code.blocks[number as usize];
        let index = step - block.steps.start;
        let (machine, warp) = (&mut *self.machine, &mut self.warp);
        let pc = block.first + index as u64;
        let after = level::step(machine, warp, &code.steps[step], pc, on)?;
        if after == StepOutcome::Park {
            self.warp.resume = index + 1;
            self.warp.stack.set_block(number);
        }
        Ok(after == StepOutcome::Park)
    }

    /// Returns whether a step is an asynchronous operation, or one on what tells that such an
    /// operation has completed: other warps may go on after it ([`Self::take_released`]).
    #[inline]
    #[must_use]
    pub fn asynchronous(&self, step: usize) -> bool {
        matches!(self.machine.context.code.steps[step].kind, Kind::Asynchronous(_))
    }

    /// Has the interpreter know that lanes of a warp have ended, which may complete a phase of the
    /// barrier of the cluster ([`Self::take_released`]).
    pub fn end_in_cluster(&mut self, warp: usize, lanes: u32) {
        self.machine.released.clear();
        self.machine.end_in_cluster(warp, lanes);
    }

    /// Returns a warp that no longer waits since the last step, until all have been returned: the
    /// slot of its CTA, which is one of the cluster, and its number.
    pub fn take_released(&mut self) -> Option<(usize, usize)> {
        self.machine.released.pop()
    }

    /// Records that all lanes of a warp have ended, of which the worker alone knows.
    pub fn end_warp(&mut self, warp: usize) {
        let machine = &mut *self.machine;
        if self.held != Some(warp) {
            let storage = &mut machine.ctas[machine.slot].storage;
            storage.has_positions = true;
            let warp = &mut storage.warps[warp];
            warp.reset_position(machine.context.code);
            warp.exited = warp.launched;
        }
    }

    /// Has the interpreter execute a step for all lanes if it is a product of matrices that neither
    /// declines nor parks. Returns `false`, having changed nothing, if it is not.
    pub fn product(&mut self, step: usize) -> bool {
        let Kind::Matrix(op) = &self.machine.context.code.steps[step].kind else { return false };
        self.machine.product(&mut self.warp, op)
    }

    /// Does the same as [`Self::step`] for an access that has been reported to the observer
    /// ([`Self::report`]).
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch.
    pub fn step_already_counted(
        &mut self,
        number: u32,
        step: usize,
        on: u32,
    ) -> Result<(), Declined> {
        // Accesses use the details for their reports only.
        let detail = self.machine.detail.take();
        let screened = std::mem::take(&mut self.machine.screened);
        let done = self.step(number, step, on);
        (self.machine.detail, self.machine.screened) = (detail, screened);
        done.map(|_| ())
    }

    /// Returns what judges accesses of the CTA, if the launch is [screened](crate::Screen).
    #[inline]
    pub fn screening(&mut self) -> Option<AccessScreen<'_>> {
        if self.machine.screened { self.machine.screening() } else { None }
    }

    /// Tells the screen of a barrier that so many threads have completed.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch.
    pub fn screen_barrier(&mut self, arrived: u32) -> Result<(), Declined> {
        self.machine.screen_barrier(arrived)
    }

    /// Has the interpreter execute the end of a block for the active lanes, and count it as a
    /// branch and as a back-edge if it is one. Its issue is not counted.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch.
    pub fn end(&mut self, block: u32) -> Result<(), Declined> {
        let Some(&top) = self.warp.stack.top() else { return Ok(()) };
        let code = self.machine.context.code;
        self.warp.resume = 0;
        self.machine.end(&mut self.warp, &code.blocks[block as usize], top.lanes).map(|_| ())
    }

    /// Returns the range of global memory around the address of the first of the lanes `on` that
    /// this worker may access without a claim for each access. Returns `None` if there is none, or
    /// if the access is not allowed.
    #[must_use]
    pub fn region(&mut self, step: usize, on: u32) -> Option<Region> {
        let code = self.machine.context.code;
        let mut on = on;
        let (memory, kind) = match &code.steps[step].kind {
            Kind::Copy(copy) => {
                // Lanes that read nothing may have any address.
                if let Some(bytes) = copy.bytes {
                    on &= lanes(on)
                        .filter(|&lane| self.warp.lane(bytes, lane) & 0xffff_ffff != 0)
                        .fold(0, |some, lane| some | 1 << lane);
                }
                if on == 0 {
                    return None;
                }
                (&copy.from, AccessKind::Load)
            }
            _ => code.steps[step].access()?,
        };
        let write = kind != AccessKind::Load;
        let parallel = self.machine.is_parallel();
        // With several threads, each atomic makes its own claim.
        if parallel && kind == AccessKind::Atomic {
            return None;
        }
        if !matches!(memory.space, Space::Global | Space::Const | Space::Generic) {
            return None;
        }
        let address = self.address(memory, on.trailing_zeros() as usize & 31);
        let direct = &self.machine.memory;
        let (hint, bytes) = (memory.hint.get(), memory.bytes());
        let place = if memory.has_footprint {
            direct.own_place(hint, address, bytes, write)?
        } else {
            direct.place(hint, address, bytes, write)?
        };
        if write && (!parallel || place.is_disjoint()) {
            return self.machine.grant_window(step, place);
        }
        let Some((base, len, bytes)) = direct.whole(place) else {
            return self.machine.window(step, (memory, kind), (address, place), on);
        };
        Some(Region { base, len: len as u64, bytes, until: Until::Launch })
    }

    /// Returns the number of commits. After each of them, written pages must enter the journal
    /// anew.
    #[inline]
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.machine.commits.count
    }

    fn address(&self, memory: &Memory, lane: usize) -> u64 {
        let value = match memory.address {
            Src::ConstPair(low, _) => low,
            src => self.warp.lane(src, lane),
        };
        value.wrapping_add_signed(memory.offset)
    }
}
