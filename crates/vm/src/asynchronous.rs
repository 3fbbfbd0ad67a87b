//! Asynchronous operations: what an instruction leaves to be done, and when it is done.
//!
//! An instruction checks all addresses, then [`issue`]s an [`Operation`]: [`Transfer`]s from a
//! source to a destination, and how the operation completes. From then on it is done in steps:
//! each transfer reads its source, then writes its destination; the last step is the completion.
//! Steps of one transfer are in this order, all others in any. [`Asynchrony`] says which comes
//! when, so that the order is part of the schedule and no host thread plays a part in it:
//!
//! | | |
//! |---|---|
//! | early | all steps at the instruction |
//! | late | a step only when no thread of the cluster can go on without it, or [`POLLS`] tests of barriers have failed; first one of an operation for which a thread waits |
//! | random | between any two instructions, with chance 1/4, a step of any operation |
//!
//! The copies and arrivals of an instruction that complete alike are a batch, unless the order is
//! random: each step is done for all lanes at once.
//!
//! An operation that reaches the shared memory of a CTA is finished at the latest when all threads
//! of the CTA have exited.
//!
//! A new kind of operation issues transfers of its own; one that computes beside it adds a variant
//! of [`Effect`].

use std::collections::VecDeque;

use ir::Ty;
use ir::mods::AtomOp;
use rustc_hash::FxHashMap;
use simt::LaneMask;
use simt::Pc;
use simt::machine::Step;
use simt::mbarrier::{Arrival, Mbarrier, Misuse};
use simt::memory::{AccessKind, Addr};
use simt::observe::{
    AsyncEvent, AsyncGroups, GroupId, MbarrierEvent, MbarrierEventKind, Observer, Space,
};
use simt::trap::Fault;
use smallvec::SmallVec;

use crate::cause::Cause;
use crate::cluster::Place;
use crate::control::fail;
use crate::engine::{Failure, Now, Release};
use crate::program::Program;
use crate::state::State;

/// Failed tests of barriers after which a late step is done.
pub(crate) const POLLS: u32 = 256;

/// Pieces that a transfer is divided into at most, where their order is random.
const PIECES: u64 = 16;

/// When the steps of asynchronous operations are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Asynchrony {
    /// At the instruction that issues the operation.
    #[default]
    Early,
    /// When nothing else can be done.
    Late,
    /// In an order and at times that a seed determines.
    Random(u64),
}

impl std::fmt::Display for Asynchrony {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Early => write!(f, "early"),
            Self::Late => write!(f, "late"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// The text is not that of an [`Asynchrony`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the order of asynchronous steps is `early`, `late` or `random:SEED`")]
pub struct NotAnOrder;

impl std::str::FromStr for Asynchrony {
    type Err = NotAnOrder;

    fn from_str(text: &str) -> Result<Self, NotAnOrder> {
        match text {
            "early" => Ok(Self::Early),
            "late" => Ok(Self::Late),
            _ => {
                let seed = text.strip_prefix("random:").and_then(|seed| seed.parse().ok());
                seed.map(Self::Random).ok_or(NotAnOrder)
            }
        }
    }
}

/// Bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// An address of global memory.
    Global(u64),
    /// An offset in the shared memory of the CTA in a slot.
    Shared { slot: usize, offset: u64 },
}

impl Location {
    pub(crate) fn plus(self, bytes: u64) -> Self {
        match self {
            Self::Global(at) => Self::Global(at + bytes),
            Self::Shared { slot, offset } => Self::Shared { slot, offset: offset + bytes },
        }
    }

    fn slot(self) -> Option<usize> {
        match self {
            Self::Global(_) => None,
            Self::Shared { slot, .. } => Some(slot),
        }
    }
}

/// Where a transfer takes its bytes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// Memory, which is read in a step of its own.
    Memory(Location),
    /// These bytes.
    Bytes(Bytes),
}

/// The bytes of a transfer: most of those of tensors are 16 bytes.
pub(crate) type Bytes = SmallVec<[u8; 16]>;

/// What a transfer does with its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Writes it.
    Copy,
    /// Writes those of each 16 bytes whose bits are set.
    Masked(u16),
    /// Combines each element with the one read.
    Combine(AtomOp, Ty),
    /// Reads 16 elements of 6 bits, a byte each, and writes them packed, as 12 bytes.
    Pack,
}

/// Bytes that an operation moves together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transfer {
    pub(crate) from: Source,
    pub(crate) to: Location,
    pub(crate) bytes: u64,
    pub(crate) effect: Effect,
}

impl Transfer {
    /// Whether its source and its destination can share no bytes with those of others of its
    /// operation, and it needs none of what its destination holds.
    fn can_be_done_at_once(&self) -> bool {
        let between = match self.from {
            Source::Memory(from) => from.slot().is_some() != self.to.slot().is_some(),
            Source::Bytes(_) => false,
        };
        between && self.effect == Effect::Copy
    }
}

/// How an operation completes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Completion {
    /// `complete_tx` of so many bytes at barriers in shared memory, by slot and offset.
    Mbarriers(SmallVec<[(usize, u64, u32); 2]>),
    /// A part of the group of the issuing thread with this number ends.
    Group(AsyncGroups, u64),
    /// An arrival at a barrier in shared memory, by slot and offset, when the copies of the thread
    /// are done that are not bulk copies and were issued before.
    Arrive((usize, u64)),
}

/// The thread and instruction that issued an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Issuer {
    pub(crate) slot: usize,
    pub(crate) group: GroupId,
    pub(crate) lane: usize,
    pub(crate) pc: Pc,
}

impl Issuer {
    /// A lane of the issue at hand.
    pub(crate) fn of<const N: usize>(state: &State<N>, now: &Now<N>, lane: usize) -> Self {
        let cta = state.resident[now.slot].as_deref();
        let group = cta.map_or_else(GroupId::default, |cta| cta.group_id(now.group));
        Self { slot: now.slot, group, lane, pc: now.pc }
    }

    /// The thread in its CTA.
    pub(crate) fn thread(&self) -> u32 {
        self.group.first_thread + self.lane as u32
    }
}

/// An asynchronous operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Operation {
    pub(crate) issuer: Issuer,
    /// Its number among those of the launch, given when it is issued.
    pub(crate) number: u64,
    /// Whether its accesses are those of threads, and not of the async proxy.
    pub(crate) generic: bool,
    /// Those that have not been written.
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) completion: Completion,
}

impl Operation {
    /// Whether all sources have been read.
    fn is_read(&self) -> bool {
        self.transfers.iter().all(|t| matches!(t.from, Source::Bytes(_)))
    }

    fn reaches(&self, slot: usize) -> bool {
        let transfers = self.transfers.iter().any(|t| {
            let from = match t.from {
                Source::Memory(from) => from.slot(),
                Source::Bytes(_) => None,
            };
            from == Some(slot) || t.to.slot() == Some(slot)
        });
        let completes = match &self.completion {
            Completion::Mbarriers(all) => all.iter().any(|m| m.0 == slot),
            Completion::Group(..) => self.issuer.slot == slot,
            Completion::Arrive(barrier) => barrier.0 == slot,
        };
        transfers || completes
    }

    /// The groups of the issuing thread to which it belongs, and the number of its group.
    fn group(&self) -> Option<(GroupsOf, u64)> {
        match self.completion {
            Completion::Group(groups, number) => {
                Some(((self.issuer.slot, self.issuer.thread(), groups), number))
            }
            Completion::Mbarriers(_) | Completion::Arrive(_) => None,
        }
    }
}

/// Operations of one instruction that take their steps together, one a lane.
type Batch = SmallVec<[Operation; 1]>;

/// A slot, a thread of its CTA, and a kind of groups.
type GroupsOf = (usize, u32, AsyncGroups);

/// The operations of a group that have not completed.
#[derive(Clone, Copy, Debug)]
struct OpenGroup {
    number: u64,
    operations: u32,
    /// Those of them that have not read all of their sources.
    unread: u32,
}

/// The operations that have not completed, in order of their issue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    policy: Asynchrony,
    batches: VecDeque<Batch>,
    /// The slot of the issuer of each of them: a step looks for those of a cluster.
    slots: VecDeque<u32>,
    /// The groups of the operations, of each thread in order of their numbers.
    groups: FxHashMap<GroupsOf, VecDeque<OpenGroup>>,
    /// Operations issued so far.
    issued: u64,
    /// Tests of barriers that failed since the last step, and the barrier of the last.
    polls: u32,
    polled: Option<(usize, u64)>,
    seed: u64,
}

impl Queue {
    pub(crate) fn new(policy: Asynchrony) -> Self {
        let seed = match policy {
            Asynchrony::Random(seed) => seed,
            _ => 0,
        };
        Self { policy, seed, ..Self::default() }
    }

    /// Whether operations go on beyond the instruction that issues them.
    pub(crate) fn delays(&self) -> bool {
        self.policy != Asynchrony::Early
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Appends operations that take their steps together.
    fn push(&mut self, batch: Batch) {
        for operation in &batch {
            let Some((of, number)) = operation.group() else { continue };
            let groups = self.groups.entry(of).or_default();
            if groups.back().is_none_or(|last| last.number != number) {
                groups.push_back(OpenGroup { number, operations: 0, unread: 0 });
            }
            if let Some(group) = groups.back_mut() {
                group.operations += 1;
                group.unread += u32::from(!operation.is_read());
            }
        }
        self.slots.push_back(batch.first().map_or(0, |operation| operation.issuer.slot as u32));
        self.batches.push_back(batch);
    }

    /// Removes operations that have done all other steps.
    fn remove(&mut self, index: usize) -> Batch {
        let batch = self.batches.remove(index).unwrap_or_default();
        self.slots.remove(index);
        for operation in &batch {
            self.change_group(operation.group(), |group| group.operations -= 1);
        }
        batch
    }

    /// Gives an operation of a batch the transfers that are left of it.
    fn put_back(&mut self, at: (usize, usize), transfers: Vec<Transfer>, was_read: bool) {
        let operation = &mut self.batches[at.0][at.1];
        operation.transfers = transfers;
        if operation.is_read() && !was_read {
            let of = operation.group();
            self.change_group(of, |group| group.unread -= 1);
        }
    }

    /// Changes the group of an operation, if it has one, and drops it with its last operation.
    fn change_group(
        &mut self,
        group: Option<(GroupsOf, u64)>,
        change: impl FnOnce(&mut OpenGroup),
    ) {
        let Some((of, number)) = group else { return };
        let Some(groups) = self.groups.get_mut(&of) else { return };
        let Some(index) = groups.iter().position(|group| group.number == number) else { return };
        change(&mut groups[index]);
        if groups[index].operations == 0 {
            groups.remove(index);
        }
        if groups.is_empty() {
            self.groups.remove(&of);
        }
    }

    /// The number of the next operation.
    pub(crate) fn number(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }

    /// Records a failed test of a barrier.
    pub(crate) fn poll(&mut self, slot: usize, offset: u64) {
        self.polls += 1;
        self.polled = Some((slot, offset));
    }

    /// Whether a step is to be done between two instructions.
    pub(crate) fn is_due(&mut self) -> bool {
        match self.policy {
            _ if self.batches.is_empty() => false,
            Asynchrony::Early => true,
            Asynchrony::Late => self.polls >= POLLS,
            Asynchrony::Random(_) => self.random(4) == 0 || self.polls >= POLLS,
        }
    }

    /// A number below `most` (SplitMix64).
    fn random(&mut self, most: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % most.max(1)
    }

    /// Whether a group of a thread is pending: one of a kind whose number is below a limit.
    pub(crate) fn is_group_pending(
        &self,
        (slot, thread): (usize, u32),
        (groups, limit): (AsyncGroups, u64),
        reads: bool,
    ) -> bool {
        let groups = self.groups.get(&(slot, thread, groups));
        let mut before = groups.into_iter().flatten().take_while(|group| group.number < limit);
        before.any(|group| !reads || group.unread > 0)
    }

    /// The batch of which a step has to be done for that of another one: copies that an arrival
    /// comes after, else that other one.
    fn first_for(&self, index: usize) -> usize {
        let arrivals = self.batches[index].iter();
        let arrivals = arrivals.filter(|op| matches!(op.completion, Completion::Arrive(_)));
        let copies = arrivals.map(|op| (op.issuer.slot, op.issuer.thread(), AsyncGroups::Copies));
        let copies: Vec<GroupsOf> = copies.filter(|of| self.groups.contains_key(of)).collect();
        if copies.is_empty() {
            return index;
        }
        let precedes = |op: &Operation| op.group().is_some_and(|(of, _)| copies.contains(&of));
        let mut before = self.batches.range(..index);
        before.position(|batch| batch.iter().any(precedes)).unwrap_or(index)
    }
}

/// Issues an operation. Its addresses have been checked.
pub(crate) fn issue<const N: usize>(state: &mut State<N>, operation: Operation) {
    let prepared = prepare(state, operation);
    state.queue.push(smallvec::smallvec![prepared]);
}

/// Issues operations of the lanes of an instruction. Those that complete alike take their steps
/// together, unless the order is random.
pub(crate) fn issue_together<const N: usize>(state: &mut State<N>, operations: Vec<Operation>) {
    let random = matches!(state.queue.policy, Asynchrony::Random(_));
    let mut batches = SmallVec::<[Batch; 1]>::new();
    for operation in operations {
        let prepared = prepare(state, operation);
        let alike = |batch: &&mut Batch| batch[0].completion == prepared.completion;
        match batches.iter_mut().find(alike).filter(|_| !random) {
            Some(batch) => batch.push(prepared),
            None => batches.push(smallvec::smallvec![prepared]),
        }
    }
    batches.into_iter().for_each(|batch| state.queue.push(batch));
}

/// Numbers and announces an operation, and divides its transfers where their order is random.
fn prepare<const N: usize>(state: &mut State<N>, mut operation: Operation) -> Operation {
    operation.number = state.queue.number();
    let Issuer { group, lane, pc, .. } = operation.issuer;
    let (groups, barrier) = match &operation.completion {
        Completion::Mbarriers(all) => (None, all.first().map(|&(slot, offset, _)| (slot, offset))),
        Completion::Group(groups, _) => (Some(*groups), None),
        Completion::Arrive(barrier) => (None, Some(*barrier)),
    };
    let barrier = barrier.map(|(slot, offset)| {
        let owner = state.resident[slot].as_deref();
        (owner.map_or(group.cta, |cta| cta.index), offset)
    });
    let (number, generic) = (operation.number, operation.generic);
    let event = AsyncEvent::Issue { operation: number, generic, group: groups, barrier };
    state.scratch.announced.add(group, pc, LaneMask::lane(lane), event);
    if matches!(state.queue.policy, Asynchrony::Random(_)) {
        operation.transfers = operation.transfers.into_iter().flat_map(pieces).collect();
    }
    operation
}

/// The transfer in pieces of whole 16 bytes.
fn pieces(transfer: Transfer) -> Vec<Transfer> {
    let Source::Memory(from) = transfer.from else { return vec![transfer] };
    let step = transfer.bytes.div_ceil(PIECES).next_multiple_of(16).max(16);
    let starts = (0..transfer.bytes).step_by(step as usize);
    starts
        .map(|at| Transfer {
            from: Source::Memory(from.plus(at)),
            to: transfer.to.plus(at),
            bytes: step.min(transfer.bytes - at),
            effect: transfer.effect,
        })
        .collect()
}

/// Does the steps that are due between two instructions: the end of the launch, if one fails.
pub(crate) fn advance<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Option<Step<Cause, N>> {
    loop {
        let index = choose(program, state, None)?;
        if let Err(failed) = step(program, state, index, observer) {
            return Some(*failed);
        }
        if state.queue.policy != Asynchrony::Early {
            return None;
        }
    }
}

/// Does one step of any operation, where nothing has changed for long.
pub(crate) fn nudge<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Result<bool, Box<Step<Cause, N>>> {
    let Some(index) = choose(program, state, None) else { return Ok(false) };
    step(program, state, index, observer)?;
    Ok(true)
}

/// The outcome of a cluster none of whose threads could run.
pub(crate) enum Blocked {
    /// One can now.
    Released,
    /// None can, and no step is left.
    Forever,
}

/// Lets threads of a cluster go on that wait for asynchronous operations, all others waiting, too.
pub(crate) fn unblock<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    place: Place,
    observer: &mut O,
) -> Result<Blocked, Box<Step<Cause, N>>> {
    loop {
        if can_run(state, place) {
            return Ok(Blocked::Released);
        }
        let Some(index) = choose(program, state, Some(place)) else { break };
        step(program, state, index, observer)?;
    }
    // A wait for a barrier gives up in the end: somebody outside of the cluster may be what the
    // thread looks at next.
    if !state.watch.give_up() {
        return Ok(Blocked::Forever);
    }
    let mut releases = SmallVec::<[Release<N>; 2]>::new();
    crate::mbarrier::give_up(program, state, place, &mut releases);
    let any = !releases.is_empty();
    crate::engine::let_go(program, state, &releases);
    crate::announce::pass_on(state, observer);
    Ok(if any { Blocked::Released } else { Blocked::Forever })
}

fn can_run<const N: usize>(state: &State<N>, place: Place) -> bool {
    let ctas = state.resident[place.slots()].iter().flatten();
    ctas.flat_map(|cta| &cta.groups).any(|group| group.mechanism.preferred().is_some())
}

/// The batch of which a step comes next: of a cluster, or of all.
fn choose<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    place: Option<Place>,
) -> Option<usize> {
    let in_place = |slot: usize| place.is_none_or(|p| p.slots().contains(&slot));
    let belongs = |&slot: &u32| in_place(slot as usize);
    let picked = match state.queue.policy {
        Asynchrony::Random(_) => {
            let count = state.queue.slots.iter().filter(|slot| belongs(slot)).count();
            let pick = state.queue.random(count as u64) as usize;
            let slots = state.queue.slots.iter().enumerate();
            slots.filter(|(_, slot)| belongs(slot)).nth(pick).map(|(index, _)| index)
        }
        Asynchrony::Early => state.queue.slots.iter().position(belongs),
        Asynchrony::Late => {
            let awaited = crate::mbarrier::awaited(program, state);
            let wanted = |barrier: &(usize, u64)| {
                awaited.barriers.contains(barrier) || state.queue.polled == Some(*barrier)
            };
            let helps = |op: &Operation| match &op.completion {
                Completion::Mbarriers(all) => all.iter().any(|m| wanted(&(m.0, m.1))),
                Completion::Arrive(barrier) => wanted(barrier),
                Completion::Group(groups, number) => {
                    let thread = (op.issuer.slot, op.issuer.thread());
                    let limit = awaited.groups.get(&(thread, *groups));
                    limit.is_some_and(|limit| number < limit)
                }
            };
            let mut batches = state.queue.slots.iter().zip(&state.queue.batches);
            let helping =
                batches.position(|(slot, batch)| belongs(slot) && batch.iter().any(helps));
            helping.or_else(|| state.queue.slots.iter().position(belongs))
        }
    };
    picked.map(|index| state.queue.first_for(index))
}

/// Finishes all operations that reach the shared memory of a CTA that ends.
pub(crate) fn drain<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    slot: usize,
    observer: &mut O,
) -> Result<(), Box<Step<Cause, N>>> {
    let reaches = |batch: &Batch| batch.iter().any(|op| op.reaches(slot));
    while let Some(index) = state.queue.batches.iter().position(reaches) {
        let index = state.queue.first_for(index);
        step(program, state, index, observer)?;
    }
    Ok(())
}

/// Does one step of a batch.
fn step<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    index: usize,
    observer: &mut O,
) -> Result<(), Box<Step<Cause, N>>> {
    (state.queue.polls, state.queue.polled) = (0, None);
    crate::announce::begin(state, observer);
    let batch = &state.queue.batches[index];
    let issuer = batch[0].issuer;
    let completes = batch.iter().all(|op| op.transfers.is_empty());
    let done = if completes {
        let batch = state.queue.remove(index);
        batch.iter().try_for_each(|operation| complete(state, operation))
    } else {
        // Lanes that have nothing to read write with the others, in the order of lanes.
        let reads = batch.iter().any(|op| !op.is_read());
        let lanes = (0..batch.len()).filter(|&lane| !reads || !batch[lane].is_read());
        let lanes: SmallVec<[usize; 32]> = lanes.collect();
        lanes.into_iter().try_for_each(|lane| transfer(state, (index, lane)))
    };
    if let Err(failure) = done {
        let (cause, lanes) = *failure;
        let Issuer { group, pc, .. } = issuer;
        return Err(Box::new(Step::Fault(Box::new(Fault { cause, group, pc, lanes }))));
    }
    let mut releases = SmallVec::<[Release<N>; 2]>::new();
    if let Some(place) = state.resident[issuer.slot].as_deref().map(|cta| cta.place) {
        crate::mbarrier::wake(program, state, (place, completes), &mut releases, observer);
    }
    crate::engine::let_go(program, state, &releases);
    crate::announce::pass_on(state, observer);
    state.watch.progress();
    Ok(())
}

/// Reads sources, or writes destinations: of one piece where the order is random, else of all.
fn transfer<const N: usize>(
    state: &mut State<N>,
    (index, place): (usize, usize),
) -> Result<(), Failure<N>> {
    let operation = &mut state.queue.batches[index][place];
    let (issuer, number, was_read) = (operation.issuer, operation.number, operation.is_read());
    let lane = LaneMask::lane(issuer.lane);
    let mut transfers = std::mem::take(&mut operation.transfers);
    if transfers.is_empty() {
        return Ok(());
    }
    if state.queue.policy == Asynchrony::Early
        && !state.scratch.announced.wanted()
        && transfers.iter().all(Transfer::can_be_done_at_once)
    {
        for transfer in transfers.drain(..) {
            at_once(state, &transfer).map_err(|cause| fail(cause, lane))?;
        }
        state.queue.put_back((index, place), transfers, was_read);
        return Ok(());
    }
    let one = matches!(state.queue.policy, Asynchrony::Random(_));
    let picked = if one { state.queue.random(transfers.len() as u64) as usize } else { 0 };
    let range = if one { picked..picked + 1 } else { 0..transfers.len() };
    let reads = transfers[range.clone()].iter().any(|t| matches!(t.from, Source::Memory(_)));
    for transfer in &mut transfers[range.clone()] {
        match &transfer.from {
            Source::Memory(from) => {
                let bytes = read(state, *from, transfer.bytes).map_err(|c| fail(c, lane))?;
                announce(state, (issuer, number), AccessKind::Load, (*from, &bytes));
                if transfer.effect == Effect::Pack {
                    (transfer.bytes, transfer.effect) = (12, Effect::Copy);
                    transfer.from = Source::Bytes(packed(&bytes));
                } else {
                    transfer.from = Source::Bytes(bytes);
                }
            }
            Source::Bytes(bytes) if !reads => {
                write(state, transfer, bytes).map_err(|c| fail(c, lane))?;
                let kind = match transfer.effect {
                    Effect::Combine(..) => AccessKind::Atomic,
                    Effect::Copy | Effect::Masked(_) | Effect::Pack => AccessKind::Store,
                };
                announce(state, (issuer, number), kind, (transfer.to, bytes));
            }
            Source::Bytes(_) => {}
        }
    }
    if !reads {
        transfers.drain(range);
    }
    state.queue.put_back((index, place), transfers, was_read);
    Ok(())
}

/// Reads and writes bytes that nobody sees in between.
fn at_once<const N: usize>(state: &mut State<N>, transfer: &Transfer) -> Result<(), Cause> {
    let Source::Memory(from) = transfer.from else { return Ok(()) };
    let bytes = read(state, from, transfer.bytes)?;
    write(state, transfer, &bytes)
}

fn read<const N: usize>(state: &State<N>, from: Location, bytes: u64) -> Result<Bytes, Cause> {
    let mut out = Bytes::from_elem(0, bytes as usize);
    match from {
        Location::Global(at) => {
            state.memory.check(AccessKind::Load, Addr(at), bytes, 1)?;
            let found = state.memory.read_bytes(Addr(at), &mut out);
            debug_assert!(found.is_ok(), "checked");
        }
        Location::Shared { slot, offset } => {
            let block = state.resident[slot].as_deref().map(|cta| &cta.shared);
            let found = block.map(|block| block.read_bytes(offset, &mut out));
            debug_assert!(matches!(found, Some(Ok(()))), "checked at the issue");
        }
    }
    Ok(out)
}

fn write<const N: usize>(
    state: &mut State<N>,
    transfer: &Transfer,
    bytes: &[u8],
) -> Result<(), Cause> {
    let mut combined = Bytes::new();
    let new = match transfer.effect {
        Effect::Copy => bytes,
        effect => {
            let old = read(state, transfer.to, transfer.bytes)?;
            combined.extend_from_slice(bytes);
            combine(effect, &old, &mut combined);
            &combined
        }
    };
    match transfer.to {
        Location::Global(at) => {
            state.memory.check(AccessKind::Store, Addr(at), transfer.bytes, 1)?;
            let done = state.memory.host_write(Addr(at), new);
            debug_assert!(done.is_ok(), "checked");
        }
        Location::Shared { slot, offset } => {
            let block = state.resident[slot].as_deref_mut().map(|cta| &mut cta.shared);
            let done = block.map(|block| block.write_bytes(offset, new));
            debug_assert!(matches!(done, Some(Ok(()))), "checked at the issue");
        }
    }
    Ok(())
}

/// The low 6 bits of each byte, one after the other from the lowest bit on.
fn packed(bytes: &[u8]) -> Bytes {
    let bits = bytes.iter().rev().fold(0u128, |bits, &byte| bits << 6 | u128::from(byte & 63));
    Bytes::from_slice(&bits.to_le_bytes()[..bytes.len() * 6 / 8])
}

/// Makes of the bytes read those that are written where `old` is.
fn combine(effect: Effect, old: &[u8], new: &mut [u8]) {
    match effect {
        Effect::Copy | Effect::Pack => {}
        Effect::Masked(mask) => {
            for (i, (new, old)) in new.iter_mut().zip(old).enumerate() {
                if mask >> (i % 16) & 1 == 0 {
                    *new = *old;
                }
            }
        }
        Effect::Combine(op, ty) => {
            let size = ty.bytes() as usize;
            let word = |bytes: &[u8]| {
                bytes.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte))
            };
            for (new, old) in new.chunks_exact_mut(size).zip(old.chunks_exact(size)) {
                let value = crate::atomic::apply(op, ty, word(old), &[word(new)]);
                new.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
    }
}

fn complete<const N: usize>(state: &mut State<N>, operation: &Operation) -> Result<(), Failure<N>> {
    let Issuer { group, lane, pc, .. } = operation.issuer;
    let number = operation.number;
    match &operation.completion {
        Completion::Mbarriers(all) => {
            for &(slot, offset, bytes) in all {
                let kind = MbarrierEventKind::Complete { operation: number, bytes };
                change(state, operation, ((slot, offset), kind), |barrier| {
                    barrier.complete(bytes)
                })?;
            }
        }
        Completion::Arrive(barrier) => {
            let kind = MbarrierEventKind::Arrive { operation: number };
            let arrive = |barrier: Mbarrier| barrier.arrive(1, Arrival::default());
            change(state, operation, (*barrier, kind), arrive)?;
        }
        Completion::Group(..) => {}
    }
    let event = AsyncEvent::Complete { operation: number };
    state.scratch.announced.add(group, pc, LaneMask::lane(lane), event);
    Ok(())
}

/// Changes a barrier in shared memory where an operation completes.
fn change<const N: usize>(
    state: &mut State<N>,
    operation: &Operation,
    ((slot, offset), kind): ((usize, u64), MbarrierEventKind),
    change: impl FnOnce(Mbarrier) -> Result<Mbarrier, Misuse>,
) -> Result<(), Failure<N>> {
    let Issuer { group, lane, pc, .. } = operation.issuer;
    let words = crate::mbarrier::change(state, (slot, offset), change)
        .map_err(|cause| fail(cause, LaneMask::EMPTY))?;
    let owner = state.resident[slot].as_deref().map_or(group.cta, |cta| cta.index);
    let lane = lane as u16;
    let event = MbarrierEvent { group, lane, pc, owner, offset, words, kind };
    state.scratch.announced.mbarrier(event);
    Ok(())
}

/// Announces an access of an operation, in pieces whose values an event has room for.
fn announce<const N: usize>(
    state: &mut State<N>,
    (issuer, operation): (Issuer, u64),
    kind: AccessKind,
    (at, data): (Location, &[u8]),
) {
    if !state.scratch.announced.wanted() {
        return;
    }
    let (space, owner, address) = match at {
        Location::Global(address) => (Space::Global, issuer.group.cta, address),
        Location::Shared { slot, offset } => {
            let owner = state.resident[slot].as_deref();
            (Space::Shared, owner.map_or(issuer.group.cta, |cta| cta.index), offset)
        }
    };
    let Issuer { group, lane, pc, .. } = issuer;
    for (address, part) in (address..).step_by(16).zip(data.chunks(16)) {
        let mut value = [0; 16];
        value[..part.len()].copy_from_slice(part);
        let value = u128::from_le_bytes(value);
        let words = Some([value as u64, (value >> 64) as u64]);
        let bytes = part.len() as u64;
        let event = AsyncEvent::Access { operation, kind, space, owner, address, bytes, words };
        state.scratch.announced.add(group, pc, LaneMask::lane(lane), event);
    }
}
