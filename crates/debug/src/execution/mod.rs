//! A launch on a machine, run to any position.
//!
//! Always holds: the state is that of the position on the current branch, and no instruction of it
//! has been tried in vain. A step that faults may leave traces in counters, so the state before it
//! is restored.

mod ahead;
mod drive;
mod look;
mod observe;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use simt::inspect::{Inspect, Upcoming};
use simt::machine::{HangKind, Step};

use crate::code::Code;
use crate::companion::{Companion, Search, Searcher};
use crate::target::{Abilities, End, EndKind, Stopped, TargetError};
use crate::timeline::{Mark, Timeline};

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
    pub(crate) abilities: Abilities,
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
    /// The mechanism under which the launch is to begin again, and its first state.
    again: Option<(String, M::State)>,
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
            again: None,
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

    /// Says what launches of the machine have; by default they have all but masks of lanes.
    #[must_use]
    pub fn with_abilities(mut self, abilities: Abilities) -> Self {
        self.about.abilities = abilities;
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

    /// Takes the mechanism under which the launch is to begin again, and its state before the first
    /// issue, if the client has asked for that.
    pub fn take_again(&mut self) -> Option<(String, M::State)> {
        self.again.take()
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
            match self.machine.run_unobserved(self.program, &mut self.state, 1) {
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
                let step = self.machine.run_unobserved(self.program, &mut self.state, 1);
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
}

fn widened<const N: usize>(next: &Upcoming<N>) -> Upcoming<16> {
    Upcoming { group: next.group, pc: next.pc, lanes: next.lanes.resized() }
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
