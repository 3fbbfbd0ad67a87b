//! The exact engine: one issue at a time, in the canonical schedule.
//!
//! **Schedule.** In a CTA each group runs until all its paths wait or have ended, or until it has
//! taken [`BACK_EDGES`] loop back-edges; then the next group of the CTA has its turn; after the
//! last, the next resident CTA. CTAs become resident in order of their index, at most
//! `Launch::resident` at once; those of a cluster together, once all that were in their slots have
//! ended, and then that of rank 0 has the first turn. Host threads play no part in it.
//!
//! **Effects, then commit.** An instruction's effects are computed and checked for all its lanes
//! before any is committed, so a fault leaves the state before the instruction. Lanes commit in
//! increasing order: of two stores to one place the higher lane's stays; atomics of one instruction
//! see each other in lane order.
//!
//! **Hangs.** A CTA none of whose groups can run hangs at once, for only threads of a CTA can
//! release each other from a barrier or collective. A launch whose complete state repeats hangs. A
//! CTA that takes more issues than the limit is taken to.

use crate::asynchronous::{self, Blocked};
use crate::cause::Cause;
use crate::code::{Code, Exec, GuardRow, MaskBrSrc};
use crate::compiled::Compiled;
use crate::launch::{self, Launch, LaunchError};
use crate::program::{LoadError, Program};
use crate::state::{Cta, State, Turn};
use converge::{Event, Path, Policy, SyncOp};
use ir::module::MaskTest;
use simt::machine::{Machine, Step};
use simt::observe::{AnyObserver, Branch, CtaEvent, Events, Issue, Observer};
use simt::slots::{Domain, IssueLanes, LaneSlots};
use simt::trap::Fault;
use simt::{LaneMask, Pc};
use smallvec::SmallVec;

/// Loop back-edges after which a group's turn ends.
pub const BACK_EDGES: u32 = 64;

/// Rounds of the schedule without the end of a CTA after which as many become resident as there can
/// be: those that are may wait for the others.
pub const STALLED_ROUNDS: u64 = 256;

/// The exact engine for issue groups of up to `64 * N` lanes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Engine<const N: usize = 1>;

/// Places with the lanes that go there, distinct and in increasing order.
pub(crate) type Targets<const N: usize> = SmallVec<[(Pc, LaneMask<N>); 2]>;

/// The effect of an instruction on the places of its lanes: an owned [`Event`].
pub(crate) enum Outcome<const N: usize> {
    Advance,
    Branch(Targets<N>),
    Call { targets: Targets<N>, return_to: Pc },
    Return { targets: Targets<N>, rest: LaneMask<N> },
    Exit(LaneMask<N>),
    Park(LaneMask<N>),
    Sync(SyncOp<N>),
}

/// Lanes of a CTA, by group, that a synchronisation releases at `pc`.
pub(crate) struct Release<const N: usize> {
    pub(crate) slot: usize,
    pub(crate) group: usize,
    pub(crate) lanes: LaneMask<N>,
    pub(crate) pc: Pc,
}

/// A fault before it has a place: its cause and its lanes.
pub(crate) type Failure<const N: usize> = Box<(Cause, LaneMask<N>)>;

/// The outcome of executing an instruction.
pub(crate) type Executed<const N: usize> = Result<Outcome<N>, Failure<N>>;

/// The issue at hand.
#[derive(Clone, Copy)]
pub(crate) struct Now<const N: usize> {
    pub(crate) slot: usize,
    pub(crate) group: usize,
    pub(crate) pc: Pc,
    pub(crate) path: Path<N>,
    /// Lanes of the path that EXEC leaves on.
    pub(crate) unmasked: LaneMask<N>,
    /// Lanes that execute.
    pub(crate) on: LaneMask<N>,
}

impl<const N: usize> Machine<N> for Engine<N>
where
    State<N>: Compiled<N>,
{
    const NAME: &'static str = "ir";
    type Program = Program;
    type LoadError = LoadError;
    type Launch = Launch<N>;
    type LaunchError = LaunchError;
    type State = State<N>;
    type Cause = Cause;

    /// Reads the IR's text form.
    fn load(&self, image: &[u8]) -> Result<Program, LoadError> {
        let text = std::str::from_utf8(image).map_err(|_| LoadError::NotText)?;
        let module = ir::text::parse(isa::FileId::default(), text).map_err(LoadError::Text)?;
        Program::link(module).map_err(LoadError::Link)
    }

    fn launch(&self, program: &Program, launch: Launch<N>) -> Result<State<N>, LaunchError> {
        let mut state = launch::begin(program, launch)?;
        state.fill(program)?;
        Ok(state)
    }

    fn step<O: Observer<N>>(
        &self,
        program: &Program,
        state: &mut State<N>,
        observer: &mut O,
    ) -> Step<Cause, N> {
        step(program, state, observer)
    }

    fn slots<'s>(&self, state: &'s State<N>) -> &'s LaneSlots {
        &state.stats.slots
    }

    fn run_unobserved(
        &self,
        program: &Program,
        state: &mut State<N>,
        limit: u64,
    ) -> Step<Cause, N> {
        state.run_unobserved(program, limit)
    }

    fn run_observed(
        &self,
        program: &Program,
        state: &mut State<N>,
        observer: &mut AnyObserver<'_, N>,
        limit: u64,
    ) -> Step<Cause, N> {
        state.run_observed(program, observer, limit)
    }
}

/// Issues up to `limit` instructions.
pub(crate) fn run<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
    limit: u64,
) -> Step<Cause, N> {
    for _ in 0..limit {
        match step(program, state, observer) {
            Step::Issued => {}
            end => return end,
        }
    }
    Step::Issued
}

fn step<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Step<Cause, N> {
    match next(program, state, observer) {
        Ok(path) => issue(program, state, path, observer),
        Err(end) => end,
    }
}

/// Returns the path whose instruction is issued next, or the end of the launch if there is none.
pub(crate) fn next<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Result<Path<N>, Step<Cause, N>> {
    if !state.filled
        && let Err(error) = state.fill(program)
    {
        return Err(no_room(&error, simt::observe::GroupId::default()));
    }
    loop {
        let Turn { slot, group, .. } = state.turn;
        let Some(Some(cta)) = state.resident.get(slot) else {
            if state.resident.iter().all(Option::is_none) {
                return Err(Step::Done);
            }
            next_slot(state);
            continue;
        };
        let mechanism = &cta.groups[group].mechanism;
        let path = if state.policy == Policy::First {
            mechanism.preferred()
        } else {
            mechanism.runnable(&mut state.scratch.paths);
            let any = !state.scratch.paths.is_empty();
            any.then(|| state.scratch.paths[state.policy.pick(&state.scratch.paths)])
        };
        if let Some(path) = path {
            return Ok(path);
        }
        if let Some(end) = end_turn(program, state, observer) {
            return Err(end);
        }
    }
}

/// Ends the turn of a group and begins that of the next group, or the next CTA.
fn end_turn<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Option<Step<Cause, N>> {
    let slot = state.turn.slot;
    state.turn.group += 1;
    state.turn.back_edges = 0;
    let cta = state.resident[slot].as_ref()?;
    if state.turn.group < cta.groups.len() {
        return None;
    }
    if cta.live == 0 {
        return retire(program, state, observer);
    }
    if !state.turn.issued
        && let Err(end) = blocked(program, state, slot, observer)
    {
        return Some(*end);
    }
    // Slots are empty where the grid has no CTA left.
    let round = state.resident[slot + 1..].iter().all(Option::is_none);
    next_slot(state);
    if !round {
        return None;
    }
    match state.make_more_resident(program) {
        Ok(false) => crate::watch::round(program, state, observer),
        Ok(true) => {
            state.watch.progress();
            None
        }
        Err(error) => Some(no_room(&error, simt::observe::GroupId::default())),
    }
}

/// Lets the launch go on from a CTA none of whose groups can run, if another CTA of its cluster can
/// or something asynchronous is left to be done.
fn blocked<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    slot: usize,
    observer: &mut O,
) -> Result<(), Box<Step<Cause, N>>> {
    let Some(place) = state.resident[slot].as_deref().map(|cta| cta.place) else { return Ok(()) };
    match asynchronous::unblock(program, state, place, observer)? {
        Blocked::Released => Ok(()),
        Blocked::Forever => {
            Err(Box::new(Step::Hang(Box::new(crate::watch::deadlock(program, state, slot)))))
        }
    }
}

fn next_slot<const N: usize>(state: &mut State<N>) {
    let slot = (state.turn.slot + 1) % state.resident.len().max(1);
    state.turn = Turn { slot, ..Turn::default() };
}

/// The host has no memory for another CTA.
fn no_room<const N: usize>(error: &LaunchError, group: simt::observe::GroupId) -> Step<Cause, N> {
    let cause = Cause::HostMemory(error.to_string());
    Step::Fault(Box::new(Fault { cause, group, pc: Pc(0), lanes: LaneMask::EMPTY }))
}

/// Ends the CTA whose turn it is and makes the next one resident in its place.
fn retire<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Option<Step<Cause, N>> {
    let slot = state.turn.slot;
    if !state.queue.is_empty()
        && let Err(end) = asynchronous::drain(program, state, slot, observer)
    {
        return Some(*end);
    }
    let cta = state.resident[slot].take()?;
    if observer.wants(Events::CTA) {
        observer.cta(cta.index, CtaEvent::End);
    }
    for group in &cta.groups {
        state.stats.charges.add(&group.mechanism.charges());
    }
    state.stats.ctas += 1;
    state.stalled = 0;
    state.watch.progress();
    // The CTAs of a cluster make room together, and begin in the order of their ranks, whichever
    // has ended last: so a cluster's own schedule does not depend on others.
    if state.resident[cta.place.slots()].iter().all(Option::is_none) {
        for slot in cta.place.slots() {
            match state.next_resident(program, slot) {
                Ok(next) => state.resident[slot] = next,
                Err(error) => return Some(no_room(&error, cta.group_id(0))),
            }
            state.turn.slot = slot;
        }
    }
    next_slot(state);
    None
}

/// Issues the instruction of a path.
pub(crate) fn issue<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    path: Path<N>,
    observer: &mut O,
) -> Step<Cause, N> {
    let Turn { slot, group, .. } = state.turn;
    let Some(cta) = state.resident[slot].as_deref_mut() else { return Step::Done };
    let id = cta.group_id(group);
    if observer.wants(Events::CTA) && cta.issues == 0 {
        observer.cta(cta.index, CtaEvent::Begin);
    }
    let Some(code) = program.at(path.pc) else {
        let cause = Cause::CallTarget { address: path.pc.0, what: "where there is no code" };
        return Step::Fault(Box::new(Fault { cause, group: id, pc: path.pc, lanes: path.lanes }));
    };
    if cta.issues >= state.info.limit {
        return Step::Hang(Box::new(crate::watch::limit(program, state)));
    }
    state.watch.issued(path.pc);
    let unmasked = path.lanes & cta.groups[group].exec;
    let on = match code.guard {
        // A guarded jump, return or exit is on in all its lanes: the guard is its condition.
        Some(guard) if !code.is_control() => guarded(cta, group, unmasked, guard),
        _ => unmasked,
    };
    let guard_off = match code.guard {
        Some(guard) if observer.wants(Events::ISSUE) && code.is_control() => {
            (unmasked - guarded(cta, group, unmasked, guard)).count()
        }
        _ => 0,
    };
    let now = Now { slot, group, pc: path.pc, path, unmasked, on };
    let lanes = issue_lanes(state, &now, code);
    if observer.wants(Events::ISSUE) {
        let domain = if code.is_uniform() { Domain::Uniform } else { Domain::Vector };
        let (lanes, depth) = (&lanes, path.depth);
        observer.issue(&Issue { group: id, pc: path.pc, domain, lanes, depth, guard_off });
    }
    let mut releases = SmallVec::<[Release<N>; 2]>::new();
    let executed = if path.lanes.is_empty() {
        Ok(if code.is_control() { Outcome::Branch(Targets::new()) } else { Outcome::Advance })
    } else {
        crate::announce::begin(state, observer);
        execute(program, state, &now, code, &mut releases, observer)
    };
    if let Some(mut refused) = state.tolerated.pending.take() {
        crate::frames::name_local(program, state, &now, &mut refused);
        let (cause, lanes) = *refused;
        state.tolerated.add(Fault { cause, group: id, pc: path.pc, lanes });
    }
    let commit = executed.and_then(|outcome| {
        if observer.wants(Events::BRANCH)
            && let Outcome::Branch(targets) = &outcome
        {
            observer.branch(&Branch { group: id, pc: path.pc, targets });
        }
        commit(program, state, &now, code, &outcome)
    });
    if let Err(mut failure) = commit {
        crate::frames::name_local(program, state, &now, &mut failure);
        let (cause, lanes) = *failure;
        return Step::Fault(Box::new(Fault { cause, group: id, pc: path.pc, lanes }));
    }
    let_go(program, state, &releases);
    crate::announce::pass_on(state, observer);
    if !releases.is_empty() {
        state.watch.progress();
    }
    count(state, code, &lanes, slot);
    if state.queue.is_due()
        && let Some(end) = asynchronous::advance(program, state, observer)
    {
        return end;
    }
    let turn_over = state.turn.back_edges >= BACK_EDGES;
    if turn_over && let Some(end) = end_turn(program, state, observer) {
        return end;
    }
    Step::Issued
}

fn issue_lanes<const N: usize>(state: &State<N>, now: &Now<N>, code: &Code) -> IssueLanes<N> {
    let Some(cta) = state.resident[now.slot].as_deref() else { unreachable!("the CTA issues") };
    let group = &cta.groups[now.group];
    // A conditional branch's guard decides where lanes go, not whether they take part.
    let on = if code.is_control() { now.unmasked } else { now.on };
    IssueLanes {
        width: state.info.slots,
        launched: group.launched,
        exited: group.exited,
        waiting: group.waiting,
        active: now.path.lanes,
        unmasked: if state.info.guards_are_masks { on } else { now.unmasked },
        on,
    }
}

fn count<const N: usize>(state: &mut State<N>, code: &Code, lanes: &IssueLanes<N>, slot: usize) {
    if code.is_uniform() {
        state.stats.slots.uniform();
    } else {
        state.stats.slots.vector(lanes);
    }
    state.stats.block_issues += u64::from(code.block_head);
    state.clock += 1;
    state.turn.issued = true;
    if let Some(cta) = state.resident[slot].as_deref_mut() {
        cta.issues += 1;
    }
}

/// Reports the outcome to the mechanism, and updates the counters of branches and the group's sets.
fn commit<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    code: &Code,
    outcome: &Outcome<N>,
) -> Result<(), Failure<N>> {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(()) };
    let group = &mut cta.groups[now.group];
    let (at, next) = (now.pc, Pc(now.pc.0 + 1));
    let mut jump = |targets: &Targets<N>| {
        let back = targets.iter().any(|t| t.0 <= at);
        state.turn.back_edges += u32::from(back);
    };
    let event = match outcome {
        Outcome::Advance => Event::Advance { next },
        Outcome::Branch(targets) => {
            jump(targets);
            Event::Branch { at, targets }
        }
        Outcome::Call { targets, return_to } => {
            jump(targets);
            Event::Call { at, targets, return_to: *return_to }
        }
        Outcome::Return { targets, rest } => {
            let rest = rest.any().then_some((next, *rest));
            Event::Return { at, targets, rest }
        }
        Outcome::Exit(lanes) => Event::Exit { at, lanes: *lanes, next },
        Outcome::Park(lanes) => Event::Park { at, lanes: *lanes, next },
        Outcome::Sync(op) => Event::Sync { at, op: *op, next },
    };
    let told = group.mechanism.event(&program.plan, now.path.id, &event);
    told.map_err(|refusal| Box::new((refusal.into(), now.path.lanes)))?;
    match outcome {
        Outcome::Exit(lanes) => group.exited |= *lanes,
        Outcome::Park(lanes) => group.waiting |= *lanes,
        _ => {}
    }
    if code.is_branch()
        && let Outcome::Branch(targets) | Outcome::Call { targets, .. } = outcome
    {
        state.stats.conditional_branches += 1;
        if targets.len() > 1 {
            state.stats.divergent_branches += 1;
            state.stats.divergent_paths += targets.len() as u64;
        }
    }
    Ok(())
}

/// Lets lanes continue that a synchronisation has released.
pub(crate) fn let_go<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    releases: &[Release<N>],
) {
    for release in releases {
        announce_wait(program, state, release);
        let Some(cta) = state.resident[release.slot].as_deref_mut() else { continue };
        let group = &mut cta.groups[release.group];
        group.waiting -= release.lanes;
        group.mechanism.release(&program.plan, release.lanes, Pc(release.pc.0 + 1));
    }
}

/// Announces that lanes go on from a wait for groups of asynchronous operations.
fn announce_wait<const N: usize>(program: &Program, state: &mut State<N>, release: &Release<N>) {
    if !state.scratch.announced.wanted() {
        return;
    }
    let event = match program.at(release.pc).map(|code| &code.exec) {
        Some(Exec::GroupWait(op)) => crate::groups::waited(op),
        Some(&Exec::WaitProducts(most)) => crate::warp_group::waited(most),
        _ => return,
    };
    let Some(cta) = state.resident[release.slot].as_deref() else { return };
    let group = cta.group_id(release.group);
    state.scratch.announced.add(group, release.pc, release.lanes, event);
}

/// The lanes whose guard holds.
pub(crate) fn guarded<const N: usize>(
    cta: &Cta<N>,
    group: usize,
    lanes: LaneMask<N>,
    guard: GuardRow,
) -> LaneMask<N> {
    let first = cta.groups[group].first_thread as usize;
    let threads = cta.parked.len();
    let flip = u64::from(guard.negated);
    if cta.frames.called {
        return lanes.filter(|lane| cta.row(guard.row, first + lane) ^ flip != 0);
    }
    let column =
        &cta.file[guard.row as usize * threads + first..(guard.row as usize + 1) * threads];
    let mut words = [0; N];
    for (word, chunk) in words.iter_mut().zip(column.chunks(64)) {
        for (i, &value) in chunk.iter().enumerate() {
            *word |= (value ^ flip) << i;
        }
    }
    lanes & LaneMask::from_words(words)
}

fn execute<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    code: &Code,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> Executed<N> {
    match &code.exec {
        Exec::Lanes(op) => {
            crate::lanes::execute(state, now, op);
            Ok(Outcome::Advance)
        }
        Exec::Br(target) => Ok(Outcome::Branch(smallvec::smallvec![(*target, now.path.lanes)])),
        Exec::CondBr(target) => Ok(conditional(state, now, code, *target)),
        Exec::MaskBr { test, mask, target } => Ok(mask_branch(state, now, *test, *mask, *target)),
        Exec::Load(_)
        | Exec::Store(_)
        | Exec::Atomic(_)
        | Exec::Copy(_)
        | Exec::Fence(..)
        | Exec::Alloca { .. } => crate::access::execute(state, now, code, observer),
        Exec::Mbarrier(op) => crate::mbarrier::execute(program, state, now, op, releases, observer),
        Exec::Bulk(op) => crate::bulk::copy(state, now, op),
        Exec::Tensor(op) => crate::tensor::copy(state, now, op),
        Exec::Texture(op) => crate::texture::execute(state, now, op, observer),
        Exec::GroupCommit(groups) => Ok(crate::groups::commit(state, now, *groups)),
        Exec::GroupWait(op) => Ok(crate::groups::wait(state, now, op)),
        Exec::AsyncStore(op) => crate::bulk::store(state, now, op),
        Exec::ClusterArrive => crate::cluster::execute(state, now, false, releases, observer),
        Exec::ClusterWait => crate::cluster::execute(state, now, true, releases, observer),
        Exec::Collective(op) => {
            crate::collective::execute(program, state, now, op, releases, observer)
        }
        Exec::WaitProducts(most) => Ok(crate::warp_group::wait(state, now, *most)),
        Exec::Bar { .. } => crate::barrier::execute(program, state, now, code, releases, observer),
        Exec::Mask(op) => {
            crate::masks::execute(state, now, op);
            Ok(Outcome::Advance)
        }
        Exec::Split(_)
        | Exec::Join
        | Exec::BarrierSet { .. }
        | Exec::BarrierWait(_)
        | Exec::BarrierBreak(_)
        | Exec::Yield => Ok(crate::masks::converge(state, now, &code.exec)),
        Exec::Switch { .. } | Exec::Call(_) | Exec::Ret | Exec::Exit => {
            crate::control::execute(program, state, now, code, releases, observer)
        }
        _ => crate::system::execute(state, now, code),
    }
}

fn conditional<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    code: &Code,
    target: Pc,
) -> Outcome<N> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Outcome::Advance };
    let taken = match code.guard {
        Some(guard) => guarded(cta, now.group, now.unmasked, guard),
        None => now.unmasked,
    };
    // Lanes that EXEC turns off do not vote: they follow the others, or fall through if there are
    // none.
    let masked = now.path.lanes - now.unmasked;
    let stay = now.unmasked - taken;
    let (taken, stay) = if masked.is_empty() || stay.any() || taken.is_empty() {
        (taken, stay | masked)
    } else {
        (taken | masked, stay)
    };
    Outcome::Branch(two_targets((target, taken), (Pc(now.pc.0 + 1), stay)))
}

/// Returns up to two places as targets: without empty ones, equal ones merged, in increasing order.
pub(crate) fn two_targets<const N: usize>(
    a: (Pc, LaneMask<N>),
    b: (Pc, LaneMask<N>),
) -> Targets<N> {
    let mut out = Targets::new();
    for (pc, lanes) in if a.0 <= b.0 { [a, b] } else { [b, a] } {
        add_target(&mut out, pc, lanes);
    }
    out
}

/// Adds lanes to the target at a place, keeping the order.
pub(crate) fn add_target<const N: usize>(targets: &mut Targets<N>, pc: Pc, lanes: LaneMask<N>) {
    if lanes.is_empty() {
        return;
    }
    match targets.binary_search_by_key(&pc, |t| t.0) {
        Ok(i) => targets[i].1 |= lanes,
        Err(i) => targets.insert(i, (pc, lanes)),
    }
}

fn mask_branch<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    test: MaskTest,
    mask: MaskBrSrc,
    target: Pc,
) -> Outcome<N> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Outcome::Advance };
    let group = &cta.groups[now.group];
    let mask = match mask {
        MaskBrSrc::Exec => group.exec,
        MaskBrSrc::Reg(index) => group.masks[index as usize],
        MaskBrSrc::Pred(row) => {
            guarded(cta, now.group, now.unmasked, GuardRow { row, negated: false })
        }
    };
    // Lanes without a live thread never count.
    let any = (mask & now.path.lanes).any();
    let jump = any == (test == MaskTest::Any);
    let to = if jump { target } else { Pc(now.pc.0 + 1) };
    Outcome::Branch(smallvec::smallvec![(to, now.path.lanes)])
}
