//! Hangs: detection and reports.
//!
//! A *deadlock* is found at once: a whole round over a CTA's groups without an issue. A
//! *repetition* is found by comparing states: after [`QUIET_ROUNDS`] rounds of the schedule in
//! which no CTA ended, no thread was released and (from then on) no store changed memory, the state
//! is kept, and compared with later ones (Brent's algorithm). Equal states have equal futures, so
//! the launch never ends. States are equal if they agree in all that the instructions issued
//! between them depend on ([`crate::slice`]): a counter that a loop keeps, and nothing else in it
//! reads, may grow. Where a clock decides what happens, futures may differ, and nothing is found.

use crate::cause::Cause;
use crate::code::Code;
use crate::program::Program;
use crate::slice::{Places, Relevant, relevant};
use crate::state::{Cta, State, Waiting};
use converge::Path;
use simt::machine::{Hang, HangKind, MbarrierWait, Step, Wait, Waiter};
use simt::mbarrier::Mbarrier;
use simt::memory::Width;
use simt::observe::{AsyncGroups, Observer};
use simt::{LaneMask, Pc};

/// Turns of CTAs without progress before states are compared.
const QUIET_TURNS: u64 = 4096;

/// Rounds of the schedule without progress before states are compared: fewer where more CTAs are
/// resident, so that as many instructions are issued. When states are compared does not matter to
/// what is found: equal states prove a hang at any time.
#[must_use]
pub fn quiet_rounds(resident: usize) -> u64 {
    (QUIET_TURNS / (resident as u64).max(1)).clamp(8, 256)
}

/// Looks for a repeating state.
#[derive(Clone, Default)]
pub(crate) struct Watch<const N: usize> {
    quiet: u64,
    armed: bool,
    /// Whether changes are counted.
    counting: bool,
    /// Changes of memory, if they are counted, and releases of threads.
    changes: u64,
    reference: Option<Box<Reference<N>>>,
    /// Whether waits for barriers in memory have given up since.
    gave_up: bool,
    /// Whether the state repeats: then the next wait that would give up is where the launch hangs.
    repeats: bool,
}

/// A state seen before, and for how many rounds it is kept.
#[derive(Clone)]
struct Reference<const N: usize> {
    ctas: Vec<Option<Box<Cta<N>>>>,
    policy: u64,
    age: u64,
    span: u64,
    /// The instructions issued since.
    issued: Places,
    /// The rows that these depend on, and the number of places when they were computed.
    relevant: Option<(usize, Relevant)>,
}

impl<const N: usize> Reference<N> {
    /// Computes the rows that the instructions issued since depend on, unless they are known.
    fn update(&mut self, program: &Program) {
        let count = self.issued.len();
        if self.relevant.as_ref().is_none_or(|known| known.0 != count) {
            self.relevant = Some((count, relevant(program, &self.issued)));
        }
    }
}

impl<const N: usize> Watch<N> {
    /// Records an issue.
    #[inline]
    pub(crate) fn issued(&mut self, pc: Pc) {
        if let Some(reference) = &mut self.reference {
            reference.issued.insert(pc);
        }
    }

    /// Records an event after which equal states are no longer expected.
    pub(crate) fn progress(&mut self) {
        self.changes += 1;
        self.restart();
    }

    /// Looks for states that repeat from here on.
    pub(crate) fn restart(&mut self) {
        self.quiet = 0;
        self.armed = false;
        self.reference = None;
        (self.gave_up, self.repeats) = (false, false);
    }

    /// Records that waits for barriers in memory give up, so that their threads look further.
    /// Returns `false` if that has been seen to lead nowhere.
    pub(crate) fn give_up(&mut self) -> bool {
        self.gave_up = true;
        !self.repeats
    }

    /// Returns whether stores should say if they change memory.
    pub(crate) fn wants_changes(&self) -> bool {
        self.armed || self.counting
    }

    /// Records that a store changes memory.
    pub(crate) fn changed(&mut self) {
        self.changes += 1;
        if self.armed {
            self.progress();
        }
    }

    /// Counts all changes of memory from now on.
    pub(crate) fn count_changes(&mut self) {
        self.counting = true;
    }

    /// Returns the number of changes so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }
}

/// Compares states at the end of a round over all resident CTAs.
pub(crate) fn round<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
) -> Option<Step<Cause, N>> {
    state.watch.quiet += 1;
    state.watch.armed = state.watch.quiet >= quiet_rounds(state.resident.len());
    if !state.watch.armed {
        return None;
    }
    // Threads may look at what an asynchronous operation writes.
    match crate::asynchronous::nudge(program, state, observer) {
        Ok(false) => {}
        Ok(true) => return None,
        Err(end) => return Some(*end),
    }
    let policy = state.policy.image();
    let mut span = 1;
    if let Some(reference) = &mut state.watch.reference {
        reference.update(program);
        let relevant = reference.relevant.as_ref().map_or(&Relevant::All, |known| &known.1);
        if reference.policy == policy && same(program, (&reference.ctas, &state.resident), relevant)
        {
            // Waits for barriers in memory give up, and begin again: the launch hangs at them.
            if state.watch.gave_up && !std::mem::replace(&mut state.watch.repeats, true) {
                return None;
            }
            return Some(Step::Hang(Box::new(report(program, state, HangKind::Repeats))));
        }
        reference.age += 1;
        if reference.age < reference.span {
            return None;
        }
        span = reference.span * 2;
    }
    let ctas = state.resident.clone();
    let issued = Places::default();
    let reference = Reference { ctas, policy, age: 0, span, issued, relevant: None };
    state.watch.reference = Some(Box::new(reference));
    None
}

/// The resident CTAs of two states.
type Pair<'a, const N: usize> = (&'a [Option<Box<Cta<N>>>], &'a [Option<Box<Cta<N>>>]);

/// Returns whether two sets of resident CTAs are in equal states, as far as rows are relevant.
/// Shared and local memory need no comparison: no store has changed memory since the reference was
/// taken.
fn same<const N: usize>(program: &Program, (a, b): Pair<'_, N>, relevant: &Relevant) -> bool {
    let mut room = Room::default();
    *relevant != Relevant::Clock
        && a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => same_cta(a, b, &mut room) && same_rows(program, (a, b), relevant),
            _ => false,
        })
}

/// Buffers for the images of two mechanisms.
#[derive(Default)]
struct Room {
    left: Vec<u64>,
    right: Vec<u64>,
}

/// Returns whether two states of a CTA are equal in all but the register file.
fn same_cta<const N: usize>(a: &Cta<N>, b: &Cta<N>, room: &mut Room) -> bool {
    let flat = a.index == b.index
        && a.live == b.live
        && a.exited == b.exited
        && a.parked == b.parked
        && a.rendezvous == b.rendezvous
        && a.warp_groups == b.warp_groups
        && a.barriers == b.barriers
        && a.arrivals == b.arrivals
        && a.commits == b.commits
        && a.failed_tries == b.failed_tries
        && a.frames == b.frames;
    flat && a.groups.iter().zip(&b.groups).all(|(a, b)| {
        room.left.clear();
        room.right.clear();
        a.mechanism.image(&mut room.left);
        b.mechanism.image(&mut room.right);
        room.left == room.right
            && a.exec == b.exec
            && a.masks == b.masks
            && a.scalars == b.scalars
            && a.spills == b.spills
    })
}

/// Returns whether the register files of two states of a CTA, equal in all else, agree in relevant
/// rows. Frames of callers are as they were unless something has returned, which makes all rows
/// relevant.
fn same_rows<const N: usize>(
    program: &Program,
    (a, b): (&Cta<N>, &Cta<N>),
    relevant: &Relevant,
) -> bool {
    let Relevant::Rows(rows) = relevant else { return a.file == b.file };
    let mut paths = Vec::new();
    b.groups.iter().all(|group| {
        group.mechanism.paths(&mut paths);
        paths.iter().all(|path| {
            let function = program.at(path.pc).map_or(usize::MAX, Code::function);
            let rows = rows.get(function).map_or(&[][..], Vec::as_slice);
            let same = |thread| rows.iter().all(|&row| a.row(row, thread) == b.row(row, thread));
            path.lanes.iter().all(|lane| same(group.thread(lane)))
        })
    })
}

/// Reports that no group of the CTA, and of others of its cluster, can run.
pub(crate) fn deadlock<const N: usize>(
    program: &Program,
    state: &State<N>,
    slot: usize,
) -> Hang<N> {
    let mut hang = Hang { kind: HangKind::Deadlock, waiters: Vec::new(), more: 0 };
    let place = state.resident[slot].as_deref().map(|cta| cta.place).unwrap_or_default();
    for cta in state.resident[place.slots()].iter().flatten() {
        waiters(program, state, cta, &mut hang);
    }
    hang
}

/// Reports that a CTA has taken more issues than the limit.
pub(crate) fn limit<const N: usize>(program: &Program, state: &State<N>) -> Hang<N> {
    report(program, state, HangKind::Limit)
}

fn report<const N: usize>(program: &Program, state: &State<N>, kind: HangKind) -> Hang<N> {
    let mut hang = Hang { kind, waiters: Vec::new(), more: 0 };
    for cta in state.resident.iter().flatten() {
        waiters(program, state, cta, &mut hang);
    }
    hang
}

/// Adds all paths of a CTA that have not ended.
fn waiters<const N: usize>(program: &Program, state: &State<N>, cta: &Cta<N>, hang: &mut Hang<N>) {
    let (mut paths, mut runnable) = (Vec::new(), Vec::new());
    for (g, group) in cta.groups.iter().enumerate() {
        group.mechanism.paths(&mut paths);
        group.mechanism.runnable(&mut runnable);
        for path in &paths {
            let masked = path.lanes - masked_on(program, state, (cta, g), path);
            for (lanes, wait) in waits(program, state, (cta, g), path, &runnable) {
                if hang.waiters.len() == Hang::<N>::MAX_WAITERS {
                    hang.more += 1;
                    continue;
                }
                let (group, off) = (cta.group_id(g), masked & lanes);
                hang.waiters.push(Waiter { group, pc: path.pc, lanes, off, wait });
            }
        }
    }
}

/// The lanes of a path that no mask of the machine turns off where it stands.
fn masked_on<const N: usize>(
    program: &Program,
    state: &State<N>,
    (cta, group): (&Cta<N>, usize),
    path: &Path<N>,
) -> LaneMask<N> {
    let on = path.lanes & cta.groups[group].exec;
    let code = program.at(path.pc).filter(|_| state.info.guards_are_masks);
    match code.and_then(|code| code.guard.filter(|_| !code.is_control())) {
        Some(guard) => crate::engine::guarded(cta, group, on, guard),
        None => on,
    }
}

/// The lanes of a path by what they wait for.
fn waits<const N: usize>(
    program: &Program,
    state: &State<N>,
    (cta, group): (&Cta<N>, usize),
    path: &Path<N>,
    runnable: &[Path<N>],
) -> Vec<(LaneMask<N>, Wait<N>)> {
    let g = &cta.groups[group];
    let mut out: Vec<(LaneMask<N>, Wait<N>)> = Vec::new();
    for lane in path.lanes {
        let thread = g.thread(lane);
        let wait = match cta.parked.get(thread).copied().flatten().map(|p| p.wait) {
            Some(Waiting::Barrier(id)) => {
                let (arrived, expected) =
                    crate::barrier::census(cta, &cta.barriers[usize::from(id)]);
                Wait::Barrier { id: id.into(), arrived, expected }
            }
            Some(Waiting::Collective { members }) => {
                let missing = crate::collective::missing(cta, thread, members);
                // Lanes of the architectural warp as lanes of the group, as far as they are in it.
                let warp = thread - thread % cta.warp as usize;
                let place = |bits: u32| {
                    LaneMask::<1>::from_bits(u64::from(bits))
                        .iter()
                        .filter_map(|bit| (warp + bit).checked_sub(g.first_thread as usize))
                        .filter(|&lane| lane < LaneMask::<N>::CAPACITY)
                        .collect()
                };
                Wait::Collective { missing: place(missing) }
            }
            Some(Waiting::Products { .. }) => {
                Wait::WarpGroup { missing: crate::warp_group::missing(cta, thread) }
            }
            Some(Waiting::Cluster) => {
                let (arrived, expected) = crate::cluster::census(state, cta.place);
                Wait::Cluster { arrived, expected }
            }
            Some(Waiting::Mbarrier) => mbarrier(program, state, cta, thread),
            Some(Waiting::Groups(AsyncGroups::Copies)) => Wait::CopyGroup,
            Some(Waiting::Groups(_)) => Wait::BulkGroup,
            None if runnable.iter().any(|r| r.lanes.contains(lane)) => Wait::Running,
            None => Wait::Turn,
        };
        match out.iter_mut().find(|w| w.1 == wait) {
            Some(found) => found.0.insert(lane),
            None => out.push((LaneMask::lane(lane), wait)),
        }
    }
    out
}

/// The wait of a thread for a phase of a barrier in memory.
fn mbarrier<const N: usize>(
    program: &Program,
    state: &State<N>,
    cta: &Cta<N>,
    thread: usize,
) -> Wait<N> {
    let found = crate::mbarrier::barrier_of(program, state, cta, thread);
    let ((slot, offset), _) = found.unwrap_or_default();
    let owner = state.resident[slot].as_deref().unwrap_or(cta);
    let word = owner.shared.load(offset, Width::B8).unwrap_or(0);
    let object = Mbarrier::load(word).ok();
    let symbols = &state.info.shared_names;
    let symbol = symbols.iter().find(|s| (s.offset..s.offset + s.len).contains(&offset));
    Wait::Mbarrier(Box::new(MbarrierWait {
        name: symbol.map_or_else(String::new, |s| match offset - s.offset {
            0 => s.name.to_string(),
            bytes => format!("{}+{bytes}", s.name),
        }),
        offset,
        phase: object.map(Mbarrier::phase),
        pending: object.map_or(0, Mbarrier::pending),
        expected: object.map_or(0, Mbarrier::expected),
        transactions: object.map_or(0, Mbarrier::transactions),
    }))
}
