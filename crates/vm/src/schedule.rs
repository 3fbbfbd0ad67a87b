//! Schedules: which path issues next, by the canonical schedule or by a strategy.
//!
//! [`Canonical`] is what the exact engine does by itself. A [`Scheduler`] follows it too, and asks
//! a [`Strategy`] at each [`ChoicePoint`]: before an instruction through which threads can affect
//! each other ([`Code::interacts`]), if more than one path could issue. All other instructions
//! commute with those of other threads, so that choices between them would change nothing. After a
//! choice the chosen path runs up to its next such instruction, and executes it.
//!
//! If the strategy picks the default at every point, the launch is that of the canonical schedule,
//! bit by bit. After another choice the chosen path has the turn, and the canonical schedule goes
//! on from there, so that every launch ends as the exact engine would end it, hangs included:
//! choices are finite, and what follows them is fair.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use converge::Path;
use simt::machine::Step;
use simt::observe::{Access, CtaEvent, Events, GroupId, Observer, Sync};
use simt::{LaneMask, Pc};
use thiserror::Error;

use crate::cause::Cause;
use crate::engine;
use crate::program::Program;
use crate::spin::Spins;
use crate::state::{State, Turn};

/// One of the ways in which a launch can go on. Its text form, which [`FromStr`] reads, is that of
/// recorded schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Choice {
    /// A path runs: `block 2 thread 33`.
    Path {
        /// Linear index of its CTA in the grid.
        cta: u64,
        /// Linear index in the CTA of the thread in its lowest lane.
        thread: u32,
    },
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { cta, thread } => write!(f, "block {cta} thread {thread}"),
        }
    }
}

/// The text is not that of a [`Choice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a choice is `block N thread N`")]
pub struct NotAChoice;

impl FromStr for Choice {
    type Err = NotAChoice;

    fn from_str(text: &str) -> Result<Self, NotAChoice> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["block", cta, "thread", thread] = words[..] else { return Err(NotAChoice) };
        let (cta, thread) = (cta.parse().ok(), thread.parse().ok());
        cta.zip(thread).map(|(cta, thread)| Self::Path { cta, thread }).ok_or(NotAChoice)
    }
}

/// A choice with what it would do.
#[derive(Clone, Copy, Debug)]
pub struct Alternative<const N: usize> {
    /// The choice.
    pub choice: Choice,
    /// The group whose lanes these are.
    pub group: GroupId,
    /// The lanes.
    pub lanes: LaneMask<N>,
    /// Their next instruction.
    pub pc: Pc,
    /// Whether the lanes have gone around a loop since memory last changed, and have ended up where
    /// they were: until somebody changes memory they only repeat that.
    pub spins: bool,
}

/// A point of a launch at which it can go on in several ways.
#[derive(Clone, Copy, Debug)]
pub struct ChoicePoint<'a, const N: usize> {
    /// The alternatives, at least two, by CTA and group, and in the order of the mechanism.
    pub alternatives: &'a [Alternative<N>],
    /// The index of the one that the canonical schedule takes.
    pub default: usize,
    /// Whether the default is the path that executed the last instruction through which threads
    /// affect each other: to choose another one is a preemption.
    pub continues: bool,
}

/// Chooses the schedule of a launch, and receives events that tell choices apart.
pub trait Strategy<const N: usize> {
    /// Called when a launch starts.
    fn begin(&mut self) {}

    /// Returns the index of an alternative. `None` stops the launch.
    fn choose(&mut self, point: &ChoicePoint<'_, N>) -> Option<usize>;

    /// Receives that an instruction through which threads affect each other is issued. Events of
    /// the issue follow.
    fn issues(&mut self, _issue: &Alternative<N>) {}

    /// Receives a memory access, before its effects.
    fn access(&mut self, _access: &Access<'_>) {}

    /// Receives a synchronisation.
    fn sync(&mut self, _sync: &Sync<'_, N>) {}

    /// Receives that the threads of a CTA have ended.
    fn end_of_cta(&mut self, _cta: u64) {}
}

/// A strategy that a scheduler and an observer share.
pub type SharedStrategy<'s, const N: usize> = RefCell<&'s mut dyn Strategy<N>>;

/// Passes events to a strategy.
pub struct StrategyObserver<'a, 's, const N: usize>(pub &'a SharedStrategy<'s, N>);

impl<const N: usize> Observer<N> for StrategyObserver<'_, '_, N> {
    const EVENTS: Events = Events::ACCESS.and(Events::VALUES).and(Events::SYNC).and(Events::CTA);

    fn access(&mut self, access: &Access<'_>) {
        self.0.borrow_mut().access(access);
    }

    fn sync(&mut self, sync: &Sync<'_, N>) {
        self.0.borrow_mut().sync(sync);
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if event == CtaEvent::End {
            self.0.borrow_mut().end_of_cta(cta);
        }
    }
}

/// Decides which path issues next.
pub trait Schedule<const N: usize> {
    /// Returns the path that issues next; `None` if the launch is to stop here.
    ///
    /// # Errors
    /// Returns how the launch ends, if no path can issue.
    fn next<O: Observer<N>>(
        &mut self,
        program: &Program,
        state: &mut State<N>,
        observer: &mut O,
    ) -> Result<Option<Path<N>>, Step<Cause, N>>;

    /// Receives that the path has issued; `turn` is whose turn it was.
    fn issued(&mut self, _: &Program, _: &mut State<N>, _: &Path<N>, _: Position) {}
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position(Turn);

impl Position {
    pub(crate) fn of<const N: usize>(state: &State<N>) -> Self {
        Self(state.turn)
    }
}

/// The canonical schedule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Canonical;

impl<const N: usize> Schedule<N> for Canonical {
    fn next<O: Observer<N>>(
        &mut self,
        program: &Program,
        state: &mut State<N>,
        observer: &mut O,
    ) -> Result<Option<Path<N>>, Step<Cause, N>> {
        engine::next(program, state, observer).map(Some)
    }
}

/// Issues up to `count` instructions in the order of a schedule; `None` if the schedule stops.
pub fn run<const N: usize, S: Schedule<N>, O: Observer<N>>(
    schedule: &mut S,
    program: &Program,
    state: &mut State<N>,
    observer: &mut O,
    count: u64,
) -> Option<Step<Cause, N>> {
    for _ in 0..count {
        let path = match schedule.next(program, state, observer) {
            Ok(path) => path?,
            Err(end) => return Some(end),
        };
        let turn = Position::of(state);
        match engine::issue(program, state, path, observer) {
            Step::Issued => schedule.issued(program, state, &path, turn),
            end => return Some(end),
        }
    }
    Some(Step::Issued)
}

/// What a [`Scheduler`] knows of the launch that it schedules.
#[derive(Default)]
pub struct SchedulerState {
    /// The path that issues now.
    running: Option<Choice>,
    /// Whether it was chosen against the canonical schedule, and so goes on to the end of the turn.
    held: bool,
    /// The one that was chosen and has not come to its instruction yet.
    chosen: Option<Choice>,
    /// The one that executed the last interacting instruction.
    last: Option<Choice>,
    spins: Spins,
}

/// The schedule of a strategy.
pub struct Scheduler<'a, 's, const N: usize> {
    /// The strategy.
    pub strategy: &'a SharedStrategy<'s, N>,
    /// What is known of the launch.
    pub state: &'a mut SchedulerState,
}

/// An alternative with the slot and the path behind it.
type Candidate<const N: usize> = (Alternative<N>, usize, Path<N>);

impl<const N: usize> Scheduler<'_, '_, N> {
    /// The path that issued last, if it is to go on against the canonical schedule and can.
    fn continued(&self, state: &mut State<N>) -> Option<Path<N>> {
        let running = self.state.running.filter(|_| self.state.held)?;
        let Choice::Path { cta: index, thread } = running;
        let Turn { slot, group, .. } = state.turn;
        let cta = state.resident.get(slot)?.as_deref().filter(|cta| cta.index == index)?;
        let group = cta.groups.get(group)?;
        let lane = (thread as usize).checked_sub(group.first_thread as usize)?;
        group.mechanism.runnable(&mut state.scratch.paths);
        state.scratch.paths.iter().find(|path| path.lanes.contains(lane)).copied()
    }

    /// All paths that can issue.
    fn candidates(&self, state: &mut State<N>) -> Vec<Candidate<N>> {
        let mut out = Vec::new();
        let mut paths = std::mem::take(&mut state.scratch.paths);
        for (slot, cta) in state.resident.iter().enumerate() {
            let Some(cta) = cta else { continue };
            for (index, group) in cta.groups.iter().enumerate() {
                group.mechanism.runnable(&mut paths);
                for path in paths.iter().filter(|path| path.lanes.any()) {
                    let id = cta.group_id(index);
                    let choice = name(id, path);
                    let spins = self.state.spins.asleep(choice, state.watch.changes());
                    let (group, lanes, pc) = (id, path.lanes, path.pc);
                    let alternative = Alternative { choice, group, lanes, pc, spins };
                    out.push((alternative, slot, *path));
                }
            }
        }
        state.scratch.paths = paths;
        out
    }

    /// Asks the strategy, if there is a choice; `None` if it stops the launch.
    fn ask(&mut self, state: &mut State<N>, (now, path): (Choice, Path<N>)) -> Option<Path<N>> {
        let candidates = self.candidates(state);
        let default = candidates.iter().position(|(known, ..)| known.choice == now);
        let Some(default) = default.filter(|_| candidates.len() > 1) else { return Some(path) };
        let alternatives: Vec<Alternative<N>> = candidates.iter().map(|c| c.0).collect();
        let continues = self.state.last == Some(now);
        let point = ChoicePoint { alternatives: &alternatives, default, continues };
        let index = self.strategy.borrow_mut().choose(&point)?;
        let Some((chosen, slot, path)) = candidates.get(index).filter(|_| index != default) else {
            return Some(path);
        };
        let group = chosen.group.group as usize;
        state.turn = Turn { slot: *slot, group, ..Turn::default() };
        self.state.held = true;
        // Equal states have equal futures only where the same choices follow.
        state.watch.restart();
        Some(*path)
    }
}

/// Whether threads can affect each other through a path's next instruction.
fn interacts<const N: usize>(program: &Program, path: &Path<N>) -> bool {
    path.lanes.any() && program.at(path.pc).is_some_and(crate::Code::interacts)
}

/// The choice of a path.
fn name<const N: usize>(group: GroupId, path: &Path<N>) -> Choice {
    let lane = path.lanes.lowest().unwrap_or(0) as u32;
    Choice::Path { cta: group.cta, thread: group.first_thread + lane }
}

impl<const N: usize> Schedule<N> for Scheduler<'_, '_, N> {
    fn next<O: Observer<N>>(
        &mut self,
        program: &Program,
        state: &mut State<N>,
        observer: &mut O,
    ) -> Result<Option<Path<N>>, Step<Cause, N>> {
        state.watch.count_changes();
        let canonical = engine::next(program, state, observer)?;
        let continued = self.continued(state);
        self.state.held = continued.is_some();
        let path = continued.unwrap_or(canonical);
        let Some(cta) = state.resident[state.turn.slot].as_deref() else { return Ok(Some(path)) };
        let now = name(cta.group_id(state.turn.group), &path);
        self.state.running = Some(now);
        if !interacts(program, &path) {
            return Ok(Some(path));
        }
        let path = match self.state.chosen == Some(now) {
            true => path,
            false => match self.ask(state, (now, path)) {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        let Some(cta) = state.resident[state.turn.slot].as_deref() else { return Ok(Some(path)) };
        let group = cta.group_id(state.turn.group);
        let running = name(group, &path);
        (self.state.running, self.state.chosen) = (Some(running), Some(running));
        if interacts(program, &path) {
            (self.state.chosen, self.state.last) = (None, Some(running));
            let (lanes, pc) = (path.lanes, path.pc);
            let issue = Alternative { choice: running, group, lanes, pc, spins: false };
            self.strategy.borrow_mut().issues(&issue);
        }
        Ok(Some(path))
    }

    fn issued(&mut self, program: &Program, state: &mut State<N>, path: &Path<N>, at: Position) {
        let Some(running) = self.state.running else { return };
        self.state.spins.issued(running, path.pc);
        let Turn { slot, group, back_edges, .. } = at.0;
        let now = state.turn;
        // Back-edges alone end a turn here.
        let ended = (now.slot, now.group) != (slot, group) || now.back_edges < back_edges;
        self.state.held &= !ended;
        if ended || now.back_edges > back_edges {
            self.state.spins.back_edge(program, state, (slot, group, path.lanes), running);
        }
    }
}
