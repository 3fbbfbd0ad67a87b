//! Everything that changes while a launch runs.
//!
//! A [`State`] holds no code, observer or thread. Cloning it in mid-kernel gives a launch that runs
//! on to the same end.
//!
//! Registers are columns: row `r` of thread `t` is `file[r * threads + t]`, so an issue group may
//! gather threads of any warps, and a lane operation walks adjacent words. Frames stack rows; frame
//! base and return stack are per lane.

use crate::asynchronous::{Asynchrony, Queue};
use crate::barrier::CtaBarrier;
use crate::cluster::{Arrivals, Clusters, Place};
use crate::collective::Rendezvous;
use crate::engine::STALLED_ROUNDS;
use crate::heap::Heap;
use crate::launch::{LaunchError, MakeMechanism};
use crate::program::{FuncInfo, Program};
use crate::shared::SharedLayout;
use crate::tolerated::Tolerated;
use crate::warp_group::WarpGroup;
use crate::watch::Watch;
use converge::{Knobs, Mechanism, Path, Policy, Refusal, Start};
use ir::mods::Space;
use rustc_hash::FxHashMap;
use simt::console::{self, OUTPUT_LIMIT};
use simt::counts::Counts;
use simt::matrix::MatrixSums;
use simt::memory::{Block, MemoryMap, Symbol};
use simt::observe::AsyncGroups;
use simt::{GroupId, LaneMask, Pc};
use std::sync::Arc;

/// The constants of a launch.
pub(crate) struct LaunchInfo<const N: usize> {
    pub(crate) kernel: u32,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Threads of a CTA.
    pub(crate) threads: u32,
    /// Lanes that a mechanism sees together.
    pub(crate) width: u32,
    /// Slots of an issue: the same, unless the mechanism regroups the warps of a CTA.
    pub(crate) slots: u32,
    /// Lanes of the architectural warp.
    pub(crate) warp: u32,
    /// CTAs of the grid.
    pub(crate) total: u64,
    pub(crate) clusters: Clusters,
    pub(crate) shared: SharedLayout,
    pub(crate) shared_names: Vec<Symbol>,
    /// Addresses of variables.
    pub(crate) vars: Vec<u64>,
    pub(crate) mechanism: MakeMechanism<N>,
    pub(crate) knobs: Knobs,
    pub(crate) guards_are_masks: bool,
    /// Whether warps, not threads, arrive at barriers.
    pub(crate) warp_barriers: bool,
    pub(crate) limit: u64,
    pub(crate) stack_limit: u64,
    pub(crate) heap_limit: u64,
    /// The address of the grid's workspace.
    pub(crate) workspace: u64,
    /// Whether the launch goes on from refused accesses.
    pub(crate) tolerant: bool,
    pub(crate) asynchrony: Asynchrony,
    pub(crate) matrix_sums: MatrixSums,
}

/// The state of a launch.
#[derive(Clone)]
pub struct State<const N: usize> {
    pub(crate) info: Arc<LaunchInfo<N>>,
    pub(crate) memory: MemoryMap,
    pub(crate) params: Block,
    /// Resident CTAs.
    pub(crate) resident: Vec<Option<Box<Cta<N>>>>,
    /// How many of them there can be.
    pub(crate) most_resident: usize,
    /// Rounds of the schedule since a CTA ended, or others became resident.
    pub(crate) stalled: u64,
    /// Whether the first CTAs have been made resident.
    pub(crate) filled: bool,
    pub(crate) next_cta: u64,
    pub(crate) turn: Turn,
    pub(crate) policy: Policy,
    pub(crate) stats: Counts,
    pub(crate) heap: Heap,
    pub(crate) output: Vec<u8>,
    pub(crate) tolerated: Tolerated<N>,
    pub(crate) watch: Watch<N>,
    /// Asynchronous operations that have been issued and have not completed.
    pub(crate) queue: Queue,
    /// Issues so far: the launch's clock.
    pub(crate) clock: u64,
    /// Not state: room that an issue reuses.
    pub(crate) scratch: Scratch<N>,
}

/// The turn in the canonical schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Index of the resident CTA.
    pub(crate) slot: usize,
    /// Index of the group in it.
    pub(crate) group: usize,
    /// Loop back-edges that the group has taken in this turn.
    pub(crate) back_edges: u32,
    /// Whether any group of the CTA has issued since its first group's turn.
    pub(crate) issued: bool,
}

/// Buffers that keep their capacity between issues.
#[derive(Default)]
pub(crate) struct Scratch<const N: usize> {
    pub(crate) paths: Vec<Path<N>>,
    pub(crate) values: Vec<u64>,
    pub(crate) lanes: Vec<(u16, u64)>,
    /// Sources and results of a computation.
    pub(crate) rows: Vec<u64>,
    /// Events that the observer has not received.
    pub(crate) announced: crate::announce::Announcements<N>,
}

impl<const N: usize> Clone for Scratch<N> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// A resident CTA.
#[derive(Clone)]
pub(crate) struct Cta<const N: usize> {
    /// Linear index in the grid.
    pub(crate) index: u64,
    /// Lanes of the architectural warp.
    pub(crate) warp: u32,
    /// Whether a warp's arrival at a barrier stands for all of its threads.
    pub(crate) warp_barriers: bool,
    pub(crate) id: [u32; 3],
    pub(crate) place: Place,
    /// Addresses of variables, where they are not those of the launch: shared ones of a CTA of a
    /// cluster that is not its first.
    pub(crate) vars: Option<Box<[u64]>>,
    /// The register file, row by row.
    pub(crate) file: Vec<u64>,
    pub(crate) frames: Frames,
    pub(crate) shared: Block,
    /// Local memory of each thread.
    pub(crate) local: Vec<Block>,
    pub(crate) groups: Vec<Group<N>>,
    pub(crate) barriers: Vec<CtaBarrier>,
    pub(crate) rendezvous: Vec<Rendezvous>,
    /// Products that warp groups have issued.
    pub(crate) warp_groups: Vec<WarpGroup>,
    pub(crate) arrivals: Arrivals,
    /// Groups of bulk copies that each thread has committed, if any.
    pub(crate) commits: FxHashMap<(u32, AsyncGroups), u64>,
    /// Threads that wait at barriers in memory, or for groups of bulk copies.
    pub(crate) watching: u32,
    /// The barrier, as a generic address, at which the last try of a thread has failed.
    pub(crate) failed_tries: FxHashMap<usize, u64>,
    /// The wait of each thread.
    pub(crate) parked: Vec<Option<Parked>>,
    /// Threads that have exited.
    pub(crate) exited: Vec<bool>,
    /// Threads that have not exited.
    pub(crate) live: u32,
    pub(crate) issues: u64,
}

/// The place at which a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    pub(crate) pc: Pc,
    pub(crate) wait: Waiting,
}

/// The reason that a thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    Barrier(u8),
    Collective {
        members: u32,
    },
    /// For products of its warp group.
    Products {
        most: u32,
    },
    /// At the barrier of the cluster.
    Cluster,
    /// For a phase of a barrier in memory.
    Mbarrier,
    /// For groups of copies.
    Groups(AsyncGroups),
}

/// Call frames of all threads of a CTA.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frames {
    /// First row of each thread's current frame.
    pub(crate) base: Vec<u32>,
    /// First byte of local memory of each thread's current frame, and one past its last.
    pub(crate) local: Vec<(u32, u32)>,
    pub(crate) stack: Vec<Vec<Frame>>,
    /// Whether any thread has ever called: until then all bases are 0.
    pub(crate) called: bool,
}

/// A suspended caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) return_to: Pc,
    pub(crate) base: u32,
    pub(crate) local: (u32, u32),
}

/// An issue group: the lanes that one mechanism sees.
#[derive(Clone)]
pub(crate) struct Group<const N: usize> {
    pub(crate) mechanism: Box<dyn Mechanism<N>>,
    pub(crate) first_thread: u32,
    pub(crate) launched: LaneMask<N>,
    pub(crate) exited: LaneMask<N>,
    pub(crate) waiting: LaneMask<N>,
    /// The EXEC mask.
    pub(crate) exec: LaneMask<N>,
    pub(crate) masks: Vec<LaneMask<N>>,
    pub(crate) scalars: Vec<u64>,
    pub(crate) spills: Vec<LaneMask<N>>,
}

/// The checked and laid-out parameters of a launch: all that another engine needs to run it from
/// the start.
#[derive(Clone, Debug)]
pub struct Setup<'s> {
    /// The kernel's index.
    pub kernel: u32,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// Threads of a CTA.
    pub threads: u32,
    /// Lanes of an issue group.
    pub width: u32,
    /// Lanes of the architectural warp.
    pub warp: u32,
    /// CTAs of the grid.
    pub total: u64,
    /// Its clusters.
    pub clusters: Clusters,
    /// CTAs resident at first.
    pub resident: usize,
    /// CTAs resident when none has ended for [`crate::STALLED_ROUNDS`] rounds.
    pub most_resident: usize,
    /// The layout of a CTA's shared memory.
    pub shared: SharedLayout,
    /// Its parts.
    pub shared_names: &'s [Symbol],
    /// Addresses of the module's variables, in their spaces.
    pub variables: &'s [u64],
    /// The parameter block.
    pub params: Vec<u8>,
    /// The mechanism's settings.
    pub knobs: Knobs,
    /// Whether the first runnable path always runs.
    pub first_path: bool,
    /// Whether a warp's arrival at a barrier stands for all of its threads.
    pub warp_barriers: bool,
    /// How the products of matrices of floats are added.
    pub matrix_sums: MatrixSums,
    /// Issues after which a CTA is assumed to hang.
    pub limit: u64,
    /// Statistics of the CTAs that another engine has run before; see [`State::skip`].
    pub done: Counts,
    /// Bytes of a thread's stack.
    pub stack_limit: u64,
    /// The address of the grid's workspace, 0 if it has none.
    pub workspace: u64,
    /// Bytes of output that it still keeps.
    pub output_room: usize,
}

impl<const N: usize> State<N> {
    /// Returns the parameters of the launch.
    #[must_use]
    pub fn setup(&self) -> Setup<'_> {
        let info = &self.info;
        Setup {
            kernel: info.kernel,
            grid: info.grid,
            block: info.block,
            threads: info.threads,
            width: info.width,
            warp: info.warp,
            total: info.total,
            clusters: info.clusters,
            resident: self.resident.len(),
            most_resident: self.most_resident,
            shared: info.shared,
            shared_names: &info.shared_names,
            variables: &info.vars,
            params: self.params.to_vec(),
            knobs: info.knobs,
            first_path: self.policy == Policy::First,
            warp_barriers: info.warp_barriers,
            matrix_sums: info.matrix_sums,
            limit: info.limit,
            done: if self.filled { Counts::default() } else { self.stats },
            stack_limit: info.stack_limit,
            workspace: info.workspace,
            output_room: OUTPUT_LIMIT.saturating_sub(self.output.len()),
        }
    }

    /// Returns whether no CTA has begun, but for those that were [skipped](Self::skip).
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        !self.filled || self.clock == 0
    }

    /// Returns whether no CTA is resident yet, so that another engine may run the first ones of the
    /// grid.
    #[must_use]
    pub fn is_vacant(&self) -> bool {
        !self.filled
    }

    /// Records that another engine has run the first CTAs of the grid in the canonical schedule,
    /// each of which ended in its first turn, with these statistics; memory must be as they have
    /// left it. The launch continues with the next CTA. Does nothing once CTAs are resident.
    pub fn skip(&mut self, done: &Counts) {
        if self.filled {
            return;
        }
        self.next_cta = done.ctas.min(self.info.total);
        let threads = self.next_cta * u64::from(self.info.threads);
        self.stats = Counts { threads, ..*done };
        // A CTA that ends passes the turn on to the next slot.
        self.turn.slot = (done.ctas % self.resident.len().max(1) as u64) as usize;
        self.clock = done.slots.issues();
    }

    pub(crate) fn new(
        info: LaunchInfo<N>,
        memory: MemoryMap,
        params: &[u8],
        policy: Policy,
        (first, most): (u32, u32),
    ) -> Result<Self, LaunchError> {
        // Whole clusters are resident, one at least.
        let size = info.clusters.size().max(1);
        let whole = |count: u32| (count / size).max(1) * size;
        let slots = |count: u32| u64::from(whole(count)).min(info.total) as usize;
        let (first, most_resident) = (slots(first), slots(most));
        let info = Arc::new(info);
        let mut resident = Vec::with_capacity(first);
        resident.resize_with(first, || None);
        Ok(Self {
            memory,
            params: Block::from_bytes(params)?,
            resident,
            most_resident,
            stalled: 0,
            filled: false,
            next_cta: 0,
            turn: Turn::default(),
            policy,
            stats: Counts::default(),
            heap: Heap::new(info.heap_limit),
            output: Vec::new(),
            tolerated: Tolerated::default(),
            watch: Watch::default(),
            queue: Queue::new(info.asynchrony),
            clock: 0,
            scratch: Scratch::default(),
            info,
        })
    }

    /// Makes the first CTAs resident, if that has not been done: a state that another engine runs
    /// needs none of them.
    pub(crate) fn fill(&mut self, program: &Program) -> Result<(), LaunchError> {
        if std::mem::replace(&mut self.filled, true) {
            return Ok(());
        }
        let slots = self.resident.len();
        for slot in (self.turn.slot..slots).chain(0..self.turn.slot) {
            self.resident[slot] = self.next_resident(program, slot)?;
        }
        Ok(())
    }

    /// After a round in which no CTA has ended: makes as many resident as there can be, if it is
    /// time for that; whether there were any.
    pub(crate) fn make_more_resident(&mut self, program: &Program) -> Result<bool, LaunchError> {
        self.stalled += 1;
        let before = self.resident.len();
        if self.stalled < STALLED_ROUNDS || before == self.most_resident {
            return Ok(false);
        }
        self.stalled = 0;
        while self.resident.len() < self.most_resident {
            let Some(next) = self.next_resident(program, self.resident.len())? else { break };
            self.resident.push(Some(next));
        }
        Ok(self.resident.len() > before)
    }

    /// The next CTA of the grid, if there is one.
    pub(crate) fn next_resident(
        &mut self,
        program: &Program,
        slot: usize,
    ) -> Result<Option<Box<Cta<N>>>, LaunchError> {
        if self.next_cta == self.info.total {
            return Ok(None);
        }
        let cta = Cta::new(program, &self.info, self.next_cta, slot)?;
        self.next_cta += 1;
        self.stats.threads += u64::from(self.info.threads);
        Ok(Some(Box::new(cta)))
    }

    /// Guest memory.
    #[must_use]
    pub fn memory(&self) -> &MemoryMap {
        &self.memory
    }

    /// Returns guest memory, to be changed between two issues: a context can put its memory into a
    /// launch that has been checked, and take it back.
    pub fn memory_mut(&mut self) -> &mut MemoryMap {
        &mut self.memory
    }

    /// Returns the device heap, likewise: a context can put in the one that its launches share.
    pub fn heap_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// Takes the guest memory out, when the launch has ended.
    #[must_use]
    pub fn into_memory(self) -> MemoryMap {
        self.memory
    }

    /// Counters so far. Mechanisms' charges are added when their CTA ends.
    #[must_use]
    pub fn stats(&self) -> &Counts {
        &self.stats
    }

    /// The output that the kernel has printed so far.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Adds output of the kernel. A launch keeps [`OUTPUT_LIMIT`] bytes; more is dropped, as a full
    /// buffer on a device drops it.
    pub fn print(&mut self, bytes: &[u8]) {
        console::append(&mut self.output, bytes);
    }

    /// Returns the accesses that a tolerant launch was refused so far.
    #[must_use]
    pub fn tolerated(&self) -> &Tolerated<N> {
        &self.tolerated
    }

    /// Whether its kernel has asynchronous operations that go on beyond the instruction that
    /// issues them.
    #[must_use]
    pub fn delays_operations(&self, program: &Program) -> bool {
        self.queue.delays() && program.has_asynchronous_operations(self.info.kernel)
    }

    /// Records that memory may have changed from outside, while the launch did not run. One that
    /// was found to repeat its state can go on: its threads look at memory again.
    pub fn memory_changed(&mut self) {
        self.watch.progress();
    }

    /// CTAs that have ended, and all of the grid.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.stats.ctas, self.info.total)
    }

    /// The paths of every group of a resident CTA, by CTA, group and path.
    #[must_use]
    pub fn paths(&self) -> Vec<(GroupId, Path<N>)> {
        let mut out = Vec::new();
        let mut paths = Vec::new();
        for cta in self.resident.iter().flatten() {
            for (g, group) in cta.groups.iter().enumerate() {
                group.mechanism.paths(&mut paths);
                out.extend(paths.iter().map(|&p| (cta.group_id(g), p)));
            }
        }
        out
    }
}

impl<const N: usize> Cta<N> {
    fn new(
        program: &Program,
        info: &LaunchInfo<N>,
        order: u64,
        slot: usize,
    ) -> Result<Self, LaunchError> {
        let threads = info.threads as usize;
        let kernel = &program.functions[info.kernel as usize];
        let size = info.clusters.size().max(1);
        let rank = (order % u64::from(size)) as u32;
        let place = Place { first_slot: slot - (rank as usize).min(slot), rank, size };
        let id = info.clusters.coordinates(order, info.grid);
        let index = crate::cluster::rank_in(id, info.grid);
        let local_bytes = program.local_bytes(info.kernel, info.stack_limit);
        let local = (0..threads).map(|_| Block::zeroed(u64::from(local_bytes)));
        let groups = (0..info.threads).step_by(info.width as usize);
        let mut cta = Self {
            index,
            warp: info.warp,
            warp_barriers: info.warp_barriers,
            id,
            place,
            vars: (rank > 0).then(|| shifted(program, info, place.base())),
            file: vec![0; kernel.rows as usize * threads],
            frames: Frames {
                base: vec![0; threads],
                local: vec![(0, kernel.local_bytes); threads],
                stack: vec![Vec::new(); threads],
                called: false,
            },
            shared: Block::zeroed(info.shared.bytes())?,
            local: local.collect::<Result<_, _>>()?,
            groups: groups
                .map(|first| Group::new(program, info, kernel, first))
                .collect::<Result<_, _>>()?,
            barriers: vec![CtaBarrier::default(); crate::barrier::COUNT],
            rendezvous: Vec::new(),
            warp_groups: vec![WarpGroup::default(); threads.div_ceil(simt::matrix::THREADS)],
            arrivals: Arrivals::default(),
            commits: FxHashMap::default(),
            watching: 0,
            failed_tries: FxHashMap::default(),
            parked: vec![None; threads],
            exited: vec![false; threads],
            live: info.threads,
            issues: 0,
        };
        for &(row, offset) in &kernel.local_rows {
            cta.file[row as usize * threads..][..threads].fill(offset as u64);
        }
        Ok(cta)
    }

    /// Addresses of variables for the CTA, of which `launch` are those of the launch.
    #[inline]
    pub(crate) fn variables<'a>(&'a self, launch: &'a [u64]) -> &'a [u64] {
        self.vars.as_deref().unwrap_or(launch)
    }

    /// The group that a thread is in.
    pub(crate) fn group_of(&self, thread: usize) -> usize {
        self.groups.partition_point(|g| g.first_thread as usize <= thread).saturating_sub(1)
    }

    pub(crate) fn group_id(&self, group: usize) -> GroupId {
        let first_thread = self.groups[group].first_thread;
        GroupId { cta: self.index, group: group as u32, first_thread }
    }

    /// Index in the file of a row of a thread's frame.
    #[inline]
    pub(crate) fn at(&self, row: u32, thread: usize) -> usize {
        (self.frames.base[thread] + row) as usize * self.parked.len() + thread
    }

    /// A thread's value of a row.
    #[inline]
    pub(crate) fn row(&self, row: u32, thread: usize) -> u64 {
        self.file[self.at(row, thread)]
    }

    /// Sets a thread's value of a row.
    #[inline]
    pub(crate) fn set_row(&mut self, row: u32, thread: usize, value: u64) {
        let at = self.at(row, thread);
        self.file[at] = value;
    }
}

impl<const N: usize> Group<N> {
    fn new(
        program: &Program,
        info: &LaunchInfo<N>,
        kernel: &FuncInfo,
        first: u32,
    ) -> Result<Self, Refusal> {
        let lanes = (info.threads - first).min(info.width);
        let launched = LaneMask::first(lanes as usize);
        let start = Start { slots: info.slots, ..Start::at(kernel.entry, launched, info.width) };
        Ok(Self {
            mechanism: (info.mechanism)(&start, &info.knobs)?,
            first_thread: first,
            launched,
            exited: LaneMask::EMPTY,
            waiting: LaneMask::EMPTY,
            exec: LaneMask::first(info.width as usize),
            masks: vec![LaneMask::EMPTY; program.masks as usize],
            scalars: vec![0; program.scalars as usize],
            spills: vec![LaneMask::EMPTY; program.spills as usize],
        })
    }

    /// The thread in a lane.
    #[inline]
    pub(crate) fn thread(&self, lane: usize) -> usize {
        self.first_thread as usize + lane
    }
}

/// Addresses of variables in a CTA whose shared memory begins at `base`.
fn shifted<const N: usize>(program: &Program, info: &LaunchInfo<N>, base: u64) -> Box<[u64]> {
    let vars = program.module().vars.iter().zip(&info.vars);
    vars.map(|(var, &at)| if var.space == Space::Shared { at + base } else { at }).collect()
}

/// The coordinates of the `index`-th element of a box, x fastest.
pub(crate) fn unrank(index: u64, size: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(size[0]), u64::from(size[1]));
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}
