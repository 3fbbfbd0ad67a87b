//! A launch on a machine, run to any position.
//!
//! Always holds: the state is that of the position on the current branch, and no instruction of it
//! has been tried in vain. A step that faults may leave traces in counters, so the state before it
//! is restored.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use simt::Pc;
use simt::inspect::{
    BarrierView, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow, PathView,
    Register, Upcoming, VariableView,
};
use simt::machine::{HangKind, Step};
use simt::memory::{Addr, Space};
use simt::observe::{Blind, GroupId};

use crate::code::Code;
use crate::companion::{Ahead, Companion, Found, Goal, Search, Searcher, Segment};
use crate::target::{
    AccessWatch, Before, BranchView, Changed, End, EndKind, Event, Issued, Judge, Lanes, Look,
    Memory, Merge, RegisterWatch, Stopped, Stops, Target, TargetError,
};
use crate::timeline::{Mark, Timeline};
use crate::watcher::Watcher;

/// Issues between two looks at the flag that interrupts.
const POLL: u64 = 1 << 12;
/// Issues between two marks, at least.
const GAP: u64 = 1 << 12;
/// Bytes of a state that may be copied for each issue.
const BYTES_AN_ISSUE: u64 = 64;
/// Issues of a replay from which on a mark is made shortly before its end.
const REPLAY: u64 = 512;
/// How shortly.
const SHORT: u64 = 128;
/// Issues of a replay from which on running ahead may pay.
pub(crate) const FAR: u64 = 1 << 16;

/// Turns a cause into a sentence.
pub type Explain<C> = fn(&C) -> String;

/// What is told of a launch beside its machine and state.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    pub(crate) code: Code,
    pub(crate) kernel: String,
    pub(crate) mechanism: String,
    pub(crate) grid: [u64; 3],
    pub(crate) block: [u64; 3],
}

/// A launch on a machine. It begins with the state that it is given.
pub struct Execution<'p, M: Inspect<N>, const N: usize> {
    machine: &'p M,
    program: &'p M::Program,
    state: M::State,
    explain: Explain<M::Cause>,
    exit: fn(&M::State) -> Option<i64>,
    about: About,
    at: u64,
    upcoming: Option<Upcoming<16>>,
    end: Option<End>,
    timeline: Timeline<M::State>,
    /// Issues between marks.
    gap: u64,
    companion: Option<Box<dyn Companion<'p, M::State> + 'p>>,
    /// Searches that have begun, by branch.
    searches: Vec<(usize, Search, Box<dyn Searcher + 'p>)>,
    ahead: Option<Result<u64, String>>,
    /// Issues from which on a replay tries to run ahead.
    far: u64,
    interrupt: Arc<AtomicBool>,
}

impl<'p, M: Inspect<N>, const N: usize> Execution<'p, M, N> {
    /// Takes over a launch at its start.
    #[must_use]
    pub fn new(
        machine: &'p M,
        program: &'p M::Program,
        mut state: M::State,
        explain: Explain<M::Cause>,
        code: Code,
    ) -> Self {
        let first = mark(machine, &mut state, 0, None);
        let mut this = Self {
            machine,
            program,
            state,
            explain,
            exit: |_| None,
            about: About { code, grid: [1; 3], block: [1; 3], ..About::default() },
            at: 0,
            upcoming: None,
            end: None,
            timeline: Timeline::new(first),
            gap: GAP,
            companion: None,
            searches: Vec::new(),
            ahead: None,
            far: FAR,
            interrupt: Arc::default(),
        };
        this.look_ahead();
        // What is resident decides what a copy costs.
        this.gap = GAP.max(machine.bytes(&this.state) as u64 / BYTES_AN_ISSUE);
        this
    }

    /// Says what the launch is called, and its extents.
    #[must_use]
    pub fn named(
        mut self,
        kernel: &str,
        mechanism: &str,
        (grid, block): ([u64; 3], [u64; 3]),
    ) -> Self {
        self.about.kernel = kernel.to_owned();
        self.about.mechanism = mechanism.to_owned();
        (self.about.grid, self.about.block) = (grid, block);
        self
    }

    /// Says how to find the code with which a program has ended itself.
    #[must_use]
    pub fn with_exit(mut self, exit: fn(&M::State) -> Option<i64>) -> Self {
        self.exit = exit;
        self
    }

    /// Adds a faster engine, and searches.
    #[must_use]
    pub fn with_companion(mut self, companion: Box<dyn Companion<'p, M::State> + 'p>) -> Self {
        self.companion = Some(companion);
        self
    }

    /// Sets the number of issues from which on replays try to run ahead, for tests.
    #[must_use]
    pub fn with_far(mut self, far: u64) -> Self {
        self.far = far;
        self
    }

    /// Sets the number of issues between two marks, for tests.
    #[must_use]
    pub fn with_gap(mut self, gap: u64) -> Self {
        self.gap = gap.max(1);
        self
    }

    /// Returns the state, from which the launch can be run on.
    #[must_use]
    pub fn into_state(self) -> M::State {
        self.state
    }

    /// Finds the next issue, or the end if there is none.
    fn look_ahead(&mut self) {
        self.upcoming = None;
        if self.end.is_some() {
            return;
        }
        match self.machine.upcoming(self.program, &mut self.state) {
            Ok(next) => self.upcoming = Some(widened(&next)),
            Err(step) => self.end = self.ended(&step),
        }
    }

    fn ended(&self, step: &Step<M::Cause, N>) -> Option<End> {
        use simt::trap::Cause as _;
        Some(match step {
            Step::Issued => return None,
            Step::Done => End {
                kind: EndKind::Done,
                code: "done",
                message: "the launch has ended".to_owned(),
                place: None,
            },
            Step::Fault(fault) => End {
                kind: EndKind::Fault,
                code: fault.cause.code(),
                message: (self.explain)(&fault.cause),
                place: Some((fault.group, fault.pc, fault.lanes.resized())),
            },
            Step::Hang(hang) => {
                let (code, message) = match hang.kind {
                    HangKind::Deadlock => ("deadlock", "the launch hangs: no lane can go on"),
                    HangKind::Repeats => ("repeats", "the launch hangs: its state repeats"),
                    HangKind::Limit => ("limit", "the launch has reached the limit of issues"),
                };
                let first = hang.waiters.first();
                End {
                    kind: EndKind::Hang,
                    code,
                    message: message.to_owned(),
                    place: first.map(|w| (w.group, w.pc, w.lanes.resized())),
                }
            }
        })
    }

    fn mark_here(&mut self) {
        let last = self.timeline.nearest(self.at);
        let before = last.map(|(branch, mark)| &self.timeline.branches[branch].marks[mark]);
        if before.is_some_and(|before| before.at == self.at) {
            return;
        }
        let memory = before.map(|before| before.memory.clone());
        let mark = mark(self.machine, &mut self.state, self.at, memory.as_ref());
        self.timeline.add(mark);
    }

    /// The position of the next mark.
    fn due(&self) -> u64 {
        let nearest = self.timeline.nearest(self.at);
        let last = nearest.map_or(0, |(b, m)| self.timeline.branches[b].marks[m].at);
        last.saturating_add(self.gap).max(self.at + 1)
    }

    /// Puts the state back to the last mark at or before a position.
    fn restore(&mut self, position: u64) -> Result<(), TargetError> {
        let Some((branch, index)) = self.timeline.nearest(position) else {
            return Err(TargetError::Host(format!("nothing was recorded before {position}")));
        };
        let mark = &self.timeline.branches[branch].marks[index];
        let mut memory = std::mem::take(self.machine.memory_mut(&mut self.state));
        let restored = memory.restore(&mark.memory);
        if restored.is_ok() {
            self.state = mark.state.clone();
            self.at = mark.at;
            self.end = None;
        }
        *self.machine.memory_mut(&mut self.state) = memory;
        restored.map_err(|error| TargetError::Host(error.to_string()))
    }

    /// Runs without being watched. The last position of a long replay gets a mark close by.
    fn replay(&mut self, position: u64) -> Stopped {
        let close = position.saturating_sub(SHORT);
        let long = position - self.at > REPLAY;
        let mut due = self.due();
        while self.at < position {
            if self.at.is_multiple_of(POLL) && self.interrupt.load(Ordering::Relaxed) {
                return Stopped::Interrupted;
            }
            if self.at >= due || long && self.at == close {
                self.mark_here();
                due = self.due();
            }
            match self.machine.step(self.program, &mut self.state, &mut Blind) {
                Step::Issued => self.at += 1,
                end => return self.stop_at_end(&end),
            }
        }
        self.timeline.reach(self.at);
        self.look_ahead();
        Stopped::Reached
    }

    /// Restores the state before the step that ended the launch.
    fn stop_at_end(&mut self, step: &Step<M::Cause, N>) -> Stopped {
        let end = self.ended(step);
        let at = self.at;
        self.timeline.reach(at);
        if !matches!(step, Step::Done) && self.restore(at).is_ok() {
            while self.at < at {
                let step = self.machine.step(self.program, &mut self.state, &mut Blind);
                if !matches!(step, Step::Issued) {
                    break;
                }
                self.at += 1;
            }
            self.look_ahead();
        }
        self.end = end;
        if matches!(step, Step::Done) {
            self.upcoming = None;
        }
        Stopped::Ended
    }

    fn watched(&self, watch: &RegisterWatch) -> Option<u128> {
        let frames = self.machine.frames(self.program, &self.state, watch.at).len() as u32;
        let frame = frames.checked_sub(watch.at.frame + 1)?;
        let at = FramePlace { frame, ..watch.at };
        self.machine.register(self.program, &self.state, at, watch.index).ok()
    }

    /// The contents of a watched range, if they are told.
    fn contents(&self, watch: &AccessWatch) -> Vec<u8> {
        let Some(at) = watch.at else { return Vec::new() };
        let mut bytes = vec![0; (watch.range.end - watch.range.start) as usize];
        match self.read(Memory { space: watch.space, at }, watch.range.start, &mut bytes) {
            Ok(()) => bytes,
            // Shared memory of a block that is not resident.
            Err(_) => Vec::new(),
        }
    }

    fn path_sets(&self, group: GroupId) -> Vec<PathView<N>> {
        let groups = self.machine.groups(self.program, &self.state).into_iter();
        let mut same = groups.filter(|g| (g.id.cta, g.id.group) == (group.cta, group.group));
        same.next().map(|g| g.paths).unwrap_or_default()
    }

    fn space(&self, memory: Memory) -> Result<(), InspectError> {
        match self.machine.block(&self.state, memory.space, memory.at) {
            Some(_) => Ok(()),
            None => Err(InspectError::NoMemory(memory.space)),
        }
    }

    /// Runs and tells of issues before and after.
    fn observe(&mut self, until: u64, stops: &Stops, skip: bool, judge: Judge<'_>) -> Stopped {
        let mut watcher = Watcher::new(stops);
        let mut values: Vec<Option<u128>> =
            stops.registers.iter().map(|watch| self.watched(watch)).collect();
        let mut contents: Vec<Vec<u8>> =
            stops.accesses.iter().map(|watch| self.contents(watch)).collect();
        let (mut due, mut skip, observes) = (self.due(), skip, stops.observes());
        self.upcoming = None;
        loop {
            if self.at >= until {
                self.look_ahead();
                return if self.end.is_some() { Stopped::Ended } else { Stopped::Reached };
            }
            if self.at.is_multiple_of(POLL) && self.interrupt.load(Ordering::Relaxed) {
                self.look_ahead();
                return Stopped::Interrupted;
            }
            if self.at >= due {
                self.mark_here();
                due = self.due();
            }
            if !stops.searches.is_empty() && !self.search_on(&stops.searches) {
                self.look_ahead();
                return Stopped::Interrupted;
            }
            let told = !std::mem::take(&mut skip) && !matches!(stops.before, Before::None);
            let mut parts = Vec::new();
            if told || stops.merges {
                let next = match self.machine.upcoming(self.program, &mut self.state) {
                    Ok(next) => next,
                    Err(step) => return self.stop_at_end(&step),
                };
                let wanted = match &stops.before {
                    Before::None => false,
                    Before::Every => true,
                    Before::At(places) => places.binary_search(&next.pc).is_ok(),
                };
                if told && wanted {
                    self.upcoming = Some(widened(&next));
                    if let Some(next) = self.upcoming
                        && judge(&*self, Event::Before(&next))
                    {
                        return Stopped::Judged;
                    }
                    self.upcoming = None;
                }
                if stops.merges {
                    parts = self.path_sets(next.group);
                }
            }
            let step = if observes {
                watcher.clear();
                self.machine.step(self.program, &mut self.state, &mut watcher)
            } else {
                self.machine.step(self.program, &mut self.state, &mut Blind)
            };
            if !matches!(step, Step::Issued) {
                return self.stop_at_end(&step);
            }
            self.at += 1;
            if !observes {
                continue;
            }
            for accessed in &mut watcher.issued.accesses {
                let new = self.contents(&stops.accesses[accessed.watch]);
                accessed.new.clone_from(&new);
                accessed.old = std::mem::replace(&mut contents[accessed.watch], new);
            }
            for (index, (watch, value)) in stops.registers.iter().zip(&mut values).enumerate() {
                // Threads of other blocks reach no register.
                if watch.at.group.cta != watcher.issued.group.cta {
                    continue;
                }
                let new = self.watched(watch);
                if new != *value {
                    let old = std::mem::replace(value, new);
                    watcher.issued.changes.push(Changed { watch: index, old, new });
                    watcher.told = true;
                }
            }
            if stops.merges {
                let after = self.path_sets(watcher.issued.group);
                watcher.issued.merges = merges(&parts, &after);
                watcher.told |= !watcher.issued.merges.is_empty();
            }
            for search in &stops.searches {
                if let Some(found) = self.found(search) {
                    watcher.issued.found.push((search.clone(), found));
                    watcher.told = true;
                }
            }
            if (watcher.told || stops.issued) && self.judged(&watcher.issued, judge) {
                return Stopped::Judged;
            }
        }
    }

    fn judged(&mut self, issued: &Issued, judge: Judge<'_>) -> bool {
        self.timeline.reach(self.at);
        let stop = judge(&*self, Event::Issued(issued));
        if stop {
            self.look_ahead();
        }
        stop
    }
}

fn widened<const N: usize>(next: &Upcoming<N>) -> Upcoming<16> {
    Upcoming { group: next.group, pc: next.pc, lanes: next.lanes.resized() }
}

/// Paths after an issue that hold lanes of several paths before it.
fn merges<const N: usize>(before: &[PathView<N>], after: &[PathView<N>]) -> Vec<Merge> {
    let merge = |path: &PathView<N>| {
        let parts = before.iter().map(|part| part.lanes & path.lanes).filter(simt::LaneMask::any);
        let parts: Vec<Lanes> = parts.map(|part| part.resized()).collect();
        (parts.len() > 1).then(|| Merge { pc: path.pc, lanes: path.lanes.resized(), parts })
    };
    after.iter().filter_map(merge).collect()
}

fn mark<M: Inspect<N>, const N: usize>(
    machine: &M,
    state: &mut M::State,
    at: u64,
    last: Option<&simt::memory::Snapshot>,
) -> Mark<M::State> {
    let mut memory = std::mem::take(machine.memory_mut(state));
    let snapshot = memory.snapshot();
    let copy = state.clone();
    *machine.memory_mut(state) = memory;
    let shared = last.map_or(0, |last| snapshot.pages_shared_with(last));
    let pages = snapshot.pages().saturating_sub(shared);
    let bytes = machine.bytes(state) + pages * simt::memory::PAGE_BYTES as usize + 1024;
    Mark { at, state: copy, memory: snapshot, bytes }
}

impl<M: Inspect<N>, const N: usize> Look for Execution<'_, M, N> {
    fn position(&self) -> u64 {
        self.at
    }

    fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    fn upcoming(&self) -> Option<Upcoming<16>> {
        self.upcoming
    }

    fn code(&self) -> &Code {
        &self.about.code
    }

    fn kernel(&self) -> &str {
        &self.about.kernel
    }

    fn extents(&self) -> ([u64; 3], [u64; 3]) {
        (self.about.grid, self.about.block)
    }

    fn mechanism_name(&self) -> &str {
        &self.about.mechanism
    }

    fn groups(&self) -> Vec<GroupView<16>> {
        let groups = self.machine.groups(self.program, &self.state).into_iter();
        let path = |p: &PathView<N>| PathView { pc: p.pc, lanes: p.lanes.resized() };
        // A policy may pick another path than the one that the mechanism prefers.
        let picked = |id: GroupId| {
            let next = self.upcoming.filter(|n| (n.group.cta, n.group.group) == (id.cta, id.group));
            next.map(|next| PathView { pc: next.pc, lanes: next.lanes })
        };
        groups
            .map(|g| GroupView {
                id: g.id,
                width: g.width,
                launched: g.launched.resized(),
                exited: g.exited.resized(),
                waiting: g.waiting.resized(),
                enabled: g.enabled.resized(),
                paths: g.paths.iter().map(path).collect(),
                next: picked(g.id).or(g.next.as_ref().map(path)),
            })
            .collect()
    }

    fn registers(&self, pc: Pc) -> Vec<Register> {
        self.machine.registers(self.program, pc)
    }

    fn register(&self, at: FramePlace, index: u32) -> Result<u128, InspectError> {
        self.machine.register(self.program, &self.state, at, index)
    }

    fn frames(&self, at: FramePlace) -> Vec<Pc> {
        self.machine.frames(self.program, &self.state, at)
    }

    fn mechanism(&self, group: GroupId) -> Vec<MechanismRow<16>> {
        let rows = self.machine.mechanism(&self.state, group).into_iter();
        rows.map(|row| MechanismRow {
            what: row.what,
            pc: row.pc,
            rejoin: row.rejoin,
            lanes: row.lanes.resized(),
        })
        .collect()
    }

    fn barriers(&self, cta: u64) -> Vec<BarrierView> {
        self.machine.barriers(&self.state, cta)
    }

    fn effects(&self, pc: Pc) -> Option<Effects> {
        self.machine.effects(self.program, pc)
    }

    fn variables(&self) -> Vec<VariableView> {
        self.machine.variables(self.program, &self.state)
    }

    fn frame_variables(&self, at: FramePlace) -> Vec<VariableView> {
        self.machine.frame_variables(self.program, &self.state, at)
    }

    fn allocations(&self) -> Vec<(Arc<str>, u64, u64)> {
        let regions = self.machine.memory(&self.state).regions().iter();
        let live = regions.filter(|region| region.is_live());
        live.map(|region| (Arc::clone(region.name()), region.base().0, region.len())).collect()
    }

    fn block_bytes(&self, memory: Memory) -> Option<u64> {
        self.machine.block(&self.state, memory.space, memory.at).map(simt::memory::Block::len)
    }

    fn read(&self, memory: Memory, address: u64, out: &mut [u8]) -> Result<(), InspectError> {
        let refused = |why: String| InspectError::Access(why);
        if matches!(memory.space, Space::Shared | Space::Local | Space::Param) {
            self.space(memory)?;
            let block = self.machine.block(&self.state, memory.space, memory.at);
            let block = block.ok_or(InspectError::NoMemory(memory.space))?;
            return block.read_bytes(address, out).map_err(|_| {
                refused(format!(
                    "{} memory has {} bytes; {} at {address:#x} are not in it",
                    memory.space.name(),
                    block.len(),
                    out.len()
                ))
            });
        }
        let map = self.machine.memory(&self.state);
        map.read_bytes(Addr(address), out).map_err(|error| refused(places::explain(&error)))
    }

    fn output(&self) -> Vec<u8> {
        self.machine.output(&self.state).to_vec()
    }

    fn exit_code(&self) -> Option<i64> {
        (self.exit)(&self.state)
    }

    fn digest(&self) -> u64 {
        self.machine.digest(&self.state)
    }
}

impl<'p, M: Inspect<N>, const N: usize> Execution<'p, M, N> {
    /// Lets searches follow the next issue; returns `false` if they were interrupted.
    fn search_on(&mut self, wanted: &[Search]) -> bool {
        let (branch, next) = (self.timeline.current, self.at + 1);
        let own = self.searches.iter_mut().filter(|(b, s, _)| *b == branch && wanted.contains(s));
        let interrupt = &self.interrupt;
        own.fold(true, |on, (_, _, searcher)| on && searcher.advance(next, interrupt))
    }

    /// What a search has found in the last issue.
    fn found(&self, search: &Search) -> Option<Found> {
        let (branch, last) = (self.timeline.current, self.at.checked_sub(1)?);
        let mut searches = self.searches.iter();
        let (.., searcher) = searches.find(|(b, s, _)| *b == branch && s == search)?;
        let found = searcher.found();
        let index = found.binary_search_by_key(&last, |found| found.position).ok()?;
        Some(found[index].clone())
    }

    /// The state of a mark, with its memory.
    fn state_of(&self, (branch, index): (usize, usize)) -> Result<M::State, String> {
        let mark = &self.timeline.branches[branch].marks[index];
        let memory = self.machine.memory(&self.state).try_clone();
        let mut memory = memory.map_err(|error| error.to_string())?;
        memory.restore(&mark.memory).map_err(|error| error.to_string())?;
        let mut state = mark.state.clone();
        *self.machine.memory_mut(&mut state) = memory;
        Ok(state)
    }

    /// The states from which the recording up to the present branch follows.
    fn segments(&self) -> Result<Vec<Segment<M::State>>, String> {
        let mut out = Vec::new();
        let mut next = Some(self.timeline.current);
        while let Some(branch) = next {
            let view = &self.timeline.branches[branch];
            out.push((view.start, self.state_of((branch, 0))?));
            next = view.parent.map(|(parent, _)| parent);
        }
        out.reverse();
        Ok(out)
    }

    /// The last mark of this branch before a position from which the launch can run ahead.
    fn springboard(&self, until: u64) -> Option<(usize, usize)> {
        let companion = self.companion.as_deref()?;
        let current = self.timeline.current;
        let marks = self.timeline.branches[current].marks.iter().enumerate().rev();
        let mut marks = marks.filter(|(_, mark)| mark.at <= until);
        let found = marks.find(|(_, mark)| companion.may_run_ahead(&mark.state));
        found.map(|(index, _)| (current, index))
    }

    /// Runs ahead to the last place before the goal; the position there.
    fn leap(&mut self, until: u64, places: &[Pc]) -> Result<u64, String> {
        let companion = self.companion.as_deref().ok_or("this machine has one engine")?;
        let from = self.springboard(self.at).ok_or("the launch was changed after its start")?;
        let interrupt = Arc::clone(&self.interrupt);
        let mut goal = Goal { until, places, interrupt: &interrupt };
        let reached = loop {
            let mut state = self.state_of(from)?;
            match companion.run_ahead(&mut state, &goal)? {
                Ahead::Reached(at) => break (state, at),
                // The state is wanted, so the last blocks are left to the exact engine.
                Ahead::Ended(at) if at > 0 && at <= goal.until => goal.until = at - 1,
                Ahead::Ended(_) => return Err("no block has ended before".to_owned()),
            }
        };
        let (state, at) = reached;
        if at <= self.at {
            return Err("the next block that ends does so behind the place".to_owned());
        }
        (self.state, self.at, self.end) = (state, at, None);
        self.mark_here();
        self.timeline.reach(at);
        self.look_ahead();
        Ok(at)
    }

    /// After a change of the state: a new branch begins.
    fn changed(&mut self, what: &str) {
        let mark = mark(self.machine, &mut self.state, self.at, None);
        self.timeline.fork(mark, what.to_owned());
        let branch = self.timeline.current;
        self.searches.retain(|(b, ..)| *b != branch);
        self.end = None;
        self.look_ahead();
    }
}

impl<M: Inspect<N>, const N: usize> Target for Execution<'_, M, N> {
    fn look(&self) -> &dyn Look {
        self
    }

    fn run(&mut self, until: u64, stops: &Stops, skip: bool, judge: Judge<'_>) -> Stopped {
        if self.end.is_some() {
            return Stopped::Ended;
        }
        if self.at >= until {
            return Stopped::Reached;
        }
        let stopped = self.observe(until, stops, skip, judge);
        self.timeline.reach(self.at);
        stopped
    }

    fn seek(&mut self, position: u64) -> Result<Stopped, TargetError> {
        if position == self.at {
            return Ok(Stopped::Reached);
        }
        let nearest = self.timeline.nearest(position);
        let mark = nearest.map_or(0, |(b, m)| self.timeline.branches[b].marks[m].at);
        if position < self.at || mark > self.at {
            self.restore(position)?;
        } else if self.end.is_some() {
            return Ok(Stopped::Ended);
        }
        if position - self.at > self.far {
            self.ahead = Some(self.leap(position, &[]));
        }
        Ok(self.replay(position))
    }

    fn run_ahead(&mut self, places: &[Pc]) -> &Result<u64, String> {
        let leapt = match self.end {
            Some(_) => Err("the launch has ended".to_owned()),
            None => self.leap(u64::MAX, places),
        };
        self.ahead.insert(leapt)
    }

    fn ran_ahead(&self) -> Option<&Result<u64, String>> {
        self.ahead.as_ref()
    }

    fn prepare(&mut self, search: &Search) -> Result<(), TargetError> {
        let branch = self.timeline.current;
        if self.searches.iter().any(|(b, s, _)| *b == branch && s == search) {
            return Ok(());
        }
        let Some(companion) = self.companion.as_deref() else {
            return Err(TargetError::Search("this machine has no such search".to_owned()));
        };
        let segments = self.segments().map_err(TargetError::Host)?;
        let searcher = companion.search(search, segments).map_err(TargetError::Search)?;
        self.searches.push((branch, search.clone(), searcher));
        Ok(())
    }

    fn marks(&self) -> Vec<u64> {
        self.timeline.positions(self.at)
    }

    fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = flag;
    }

    fn set_budget(&mut self, bytes: usize) {
        self.timeline.budget = bytes;
    }

    fn recorded(&self) -> (usize, usize) {
        self.timeline.recorded()
    }

    fn set_register(
        &mut self,
        at: FramePlace,
        index: u32,
        value: u128,
        what: &str,
    ) -> Result<(), TargetError> {
        let machine = self.machine;
        machine.set_register(self.program, &mut self.state, at, index, value)?;
        self.changed(what);
        Ok(())
    }

    fn set_mask(&mut self, group: GroupId, lanes: Lanes, what: &str) -> Result<(), TargetError> {
        self.machine.set_mask(&mut self.state, group, lanes.resized())?;
        self.changed(what);
        Ok(())
    }

    fn write(
        &mut self,
        memory: Memory,
        address: u64,
        bytes: &[u8],
        what: &str,
    ) -> Result<(), TargetError> {
        if matches!(memory.space, Space::Shared | Space::Local | Space::Param) {
            let block = self.machine.block_mut(&mut self.state, memory.space, memory.at);
            let block = block.ok_or(InspectError::NoMemory(memory.space))?;
            block.write_bytes(address, bytes).map_err(|_| {
                let space = memory.space.name();
                InspectError::Access(format!("{address:#x} is not in {space} memory"))
            })?;
        } else {
            let map = self.machine.memory_mut(&mut self.state);
            let written = map.host_write(Addr(address), bytes);
            written.map_err(|error| InspectError::Access(places::explain(&error)))?;
        }
        self.machine.memory_changed(&mut self.state);
        self.changed(what);
        Ok(())
    }

    fn allocate(&mut self, name: &str, bytes: u64) -> Result<u64, TargetError> {
        let address = self.machine.memory_mut(&mut self.state).allocate(name, bytes);
        let address = address.map_err(|error| TargetError::Host(error.to_string()))?.0;
        self.changed(&format!("allocate {bytes} {name}"));
        Ok(address)
    }

    fn branches(&self) -> (Vec<BranchView>, usize) {
        let view = |(number, branch): (usize, &crate::timeline::Branch<M::State>)| BranchView {
            number,
            parent: branch.parent,
            edits: branch.edits.clone(),
            reached: branch.reached,
        };
        let all = self.timeline.branches.iter().enumerate().map(view).collect();
        (all, self.timeline.current)
    }

    fn switch(&mut self, branch: usize) -> Result<(), TargetError> {
        let start = self.timeline.branches.get(branch).ok_or(TargetError::NoBranch(branch))?;
        let start = start.start;
        self.timeline.current = branch;
        self.restore(start)?;
        self.look_ahead();
        Ok(())
    }
}
