//! Steps, runs and jumps, forwards and backwards.
//!
//! Backwards, the stretches between two snapshots are replayed from the last one on, and what is
//! told on the way is looked through from its end.

use std::collections::VecDeque;

use simt::Pc;
use simt::inspect::FramePlace;
use simt::observe::{GroupId, SyncKind};

use super::breakpoint::{Hit, Points};
use super::{Follow, Session, same};
use crate::code::LineKey;
use crate::execution::FAR;
use crate::target::{Before, EndKind, Event, Lanes, Look, Stopped, Stops, TargetError};

/// Events of a stretch that are kept at a time.
const KEPT: usize = 1 << 16;
/// Issues of others after which it is looked whether the followed still live.
const PATIENCE: u32 = 256;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// One issue.
    Issue,
    /// To another line.
    Line,
    /// To another line, calls aside.
    Over,
    /// Out of the function.
    Out,
    /// Until the lane in focus meets lanes that it has parted from.
    Rejoin,
    /// Until a barrier of the block is released.
    Barrier,
}

/// A direction in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// As the launch runs.
    Forward,
    /// Against it.
    Backward,
}

/// Why a launch stands where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has not been run yet, or the start of the recording was reached.
    Start,
    /// A step has been taken.
    Step,
    /// A position was asked for.
    Position,
    /// A breakpoint.
    Breakpoint {
        /// Its number.
        number: u32,
    },
    /// A watch or a catch.
    Told {
        /// Its number.
        number: u32,
        /// What happened.
        text: String,
    },
    /// The launch has ended, faulted or hangs.
    End(EndKind),
    /// It was interrupted.
    Interrupted,
    /// What was stepped has ended.
    Gone,
}

/// A stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopReport {
    /// Why.
    pub reason: Reason,
    /// The position.
    pub position: u64,
}

type Moved = Result<StopReport, TargetError>;

/// Where the followed instructions stand before a step.
struct Origin {
    focus: FramePlace,
    follow: Follow,
    line: Option<LineKey>,
    depth: usize,
}

impl Origin {
    fn own(&self, group: GroupId, lanes: &Lanes) -> bool {
        match self.follow {
            Follow::Launch => true,
            Follow::Warp => same(group, self.focus.group),
            Follow::Lane => {
                same(group, self.focus.group) && lanes.contains(self.focus.lane as usize)
            }
        }
    }

    /// Frames of the first of these lanes.
    fn depth(look: &dyn Look, group: GroupId, lanes: &Lanes) -> usize {
        let lane = lanes.lowest().unwrap_or(0) as u32;
        look.frames(FramePlace { group, lane, frame: 0 }).len()
    }

    /// Whether what is followed has ended.
    fn gone(&self, look: &dyn Look) -> bool {
        if self.follow == Follow::Launch {
            return false;
        }
        look.group(self.focus.group).is_none_or(|group| {
            let alive = group.launched - group.exited;
            match self.follow {
                Follow::Lane => !alive.contains(self.focus.lane as usize),
                _ => alive.is_empty(),
            }
        })
    }

    /// Whether a step ends with an event.
    fn ends(&self, step: Step, look: &dyn Look, event: &Event<'_>) -> bool {
        match (step, event) {
            (Step::Issue, Event::Issued(issued)) => self.own(issued.group, &issued.active),
            (Step::Line | Step::Over | Step::Out, Event::Before(next)) => {
                if !self.own(next.group, &next.lanes) {
                    return false;
                }
                let depth = || Self::depth(look, next.group, &next.lanes);
                match step {
                    Step::Out => depth() < self.depth,
                    Step::Over if depth() > self.depth => false,
                    _ => {
                        look.code().line(next.pc) != self.line || look.code().at(next.pc).is_none()
                    }
                }
            }
            (Step::Rejoin, Event::Issued(issued)) if same(issued.group, self.focus.group) => {
                let lane = self.focus.lane as usize;
                issued.merges.iter().any(|merge| merge.lanes.contains(lane))
            }
            (Step::Barrier, Event::Issued(issued)) => {
                let released = |(kind, _, group, _): &(SyncKind, u32, GroupId, Lanes)| {
                    *kind == SyncKind::BarrierRelease && group.cta == self.focus.group.cta
                };
                issued.syncs.iter().any(released)
            }
            _ => false,
        }
    }
}

/// What is kept of an issue on the way back.
enum Trace {
    /// With line and depth, where these matter.
    Hit(Hit, Option<(Option<LineKey>, usize)>),
    Own(Option<LineKey>, usize),
    Mark,
}

impl Session<'_> {
    fn origin(&self) -> Origin {
        let look = self.target.look();
        let focus = FramePlace { frame: 0, ..self.focus };
        let follow = self.debugger.follow;
        let pc = match follow {
            Follow::Launch => look.upcoming().map(|next| next.pc),
            Follow::Warp => look.group(focus.group).and_then(|g| g.next).map(|path| path.pc),
            Follow::Lane => look.frames(focus).first().copied(),
        };
        let line = pc.and_then(|pc| look.code().line(pc));
        Origin { focus, follow, line, depth: look.frames(focus).len() }
    }

    /// Why a step leads nowhere: the lane has no caller, or the machine has no such event.
    #[must_use]
    pub fn refuses(&self, step: Step) -> Option<String> {
        let look = self.look();
        let abilities = look.abilities();
        match step {
            Step::Issue | Step::Line | Step::Over => None,
            Step::Out => {
                let frames = look.frames(FramePlace { frame: 0, ..self.focus });
                let outermost = frames.len() == 1;
                outermost.then(|| "the lane is in its outermost function: no call returns".into())
            }
            Step::Rejoin => abilities.no_parting.map(str::to_owned),
            Step::Barrier => abilities.no_barriers.map(str::to_owned),
        }
    }

    /// Takes a step; breakpoints on the way stop it.
    ///
    /// # Errors
    /// If the state cannot be restored.
    pub fn step(&mut self, step: Step, direction: Direction) -> Moved {
        match direction {
            Direction::Forward => self.forward(Some(step)),
            Direction::Backward => self.backward(Some(step)),
        }
    }

    /// Runs to the next breakpoint or the end of the launch, or back to the last one or its start.
    ///
    /// # Errors
    /// If the state cannot be restored.
    pub fn resume(&mut self, direction: Direction) -> Moved {
        match direction {
            Direction::Forward => self.forward(None),
            Direction::Backward => self.backward(None),
        }
    }

    /// Goes to a position; breakpoints on the way do not stop it.
    ///
    /// # Errors
    /// If the state cannot be restored.
    pub fn goto(&mut self, position: u64) -> Moved {
        let stopped = self.target.seek(position)?;
        let reason = self.reason(stopped, Reason::Position);
        Ok(self.stopped(reason, None))
    }

    fn reason(&self, stopped: Stopped, otherwise: Reason) -> Reason {
        match stopped {
            Stopped::Interrupted => Reason::Interrupted,
            Stopped::Ended => Reason::End(self.target.end().map_or(EndKind::Done, |end| end.kind)),
            Stopped::Judged | Stopped::Reached => otherwise,
        }
    }

    fn stopped(&mut self, reason: Reason, hit: Option<(GroupId, Option<u32>)>) -> StopReport {
        if let Some((group, lane)) = hit {
            self.focus = FramePlace { group, lane: lane.unwrap_or(0), frame: 0 };
        } else if let (Reason::End(_), Some((group, _, lanes))) =
            (&reason, self.target.end().and_then(|end| end.place))
        {
            let lane = lanes.lowest().unwrap_or(0) as u32;
            self.focus = FramePlace { group, lane, frame: 0 };
        }
        if hit.is_none() && !matches!(reason, Reason::End(_)) {
            self.refocus();
        }
        if reason == Reason::Interrupted {
            self.rearm();
        }
        self.listed = None;
        let report = StopReport { reason, position: self.target.position() };
        self.last = Some(report.clone());
        report
    }

    fn wanted(&self, step: Option<Step>, back: bool) -> Stops {
        let mut stops = self.armed();
        match step {
            None => {}
            Some(Step::Issue) => stops.issued = true,
            Some(Step::Line | Step::Over | Step::Out) => stops.before = Before::Every,
            Some(Step::Rejoin) if back => stops.splits = true,
            Some(Step::Rejoin) => {
                stops.merges = true;
                stops.before = Before::Every;
            }
            Some(Step::Barrier) => stops.syncs = true,
        }
        stops
    }

    fn forward(&mut self, step: Option<Step>) -> Moved {
        self.prepare_searches()?;
        let stops = self.wanted(step, false);
        // A faster engine knows places alone.
        let places: Option<Vec<Pc>> = match (&stops.before, step) {
            (Before::None, None) if !stops.observes() => Some(Vec::new()),
            (Before::At(places), None) if !stops.observes() => Some(places.clone()),
            _ => None,
        };
        let origin = self.origin();
        let mut points = Points::new(&mut self.debugger.points, self.target.look(), true);
        let mut found: Option<Result<Hit, Reason>> = None;
        let mut foreign = 0;
        let judge = &mut |look: &dyn Look, event: Event<'_>| {
            if let Some(hit) = points.judge(look, &event) {
                found = Some(Ok(hit));
            } else if let Some(step) = step {
                if origin.ends(step, look, &event) {
                    found = Some(Err(Reason::Step));
                } else if let Event::Before(next) = event {
                    foreign += 1;
                    if origin.own(next.group, &next.lanes) {
                        foreign = 0;
                    } else if foreign % PATIENCE == 1 && origin.gone(look) {
                        found = Some(Err(Reason::Gone));
                    }
                }
            }
            found.is_some()
        };
        let near = match places {
            Some(_) => self.target.look().position().saturating_add(FAR),
            None => u64::MAX,
        };
        let mut stopped = self.target.run(near, &stops, true, judge);
        if let (Stopped::Reached, Some(places)) = (stopped, places) {
            let _ = self.target.run_ahead(&places);
            stopped = self.target.run(u64::MAX, &stops, false, judge);
        }
        let (reason, hit) = match found {
            Some(Ok(hit)) => (hit.reason, Some((hit.group, hit.lane))),
            Some(Err(reason)) => (reason, None),
            None => (self.reason(stopped, Reason::Step), None),
        };
        Points::retire(&mut self.debugger.points, &reason);
        Ok(self.stopped(reason, hit))
    }

    fn backward(&mut self, step: Option<Step>) -> Moved {
        self.prepare_searches()?;
        let stops = self.wanted(step, true);
        let origin = self.origin();
        let lines = matches!(step, Some(Step::Line | Step::Over | Step::Out));
        let now = self.target.position();
        let mut run = Backward { step, depth: origin.depth, line: None, best: None };
        let mut points = std::mem::take(&mut self.debugger.points);
        let mut judge = Points::new(&mut points, self.target.look(), false);
        let found = self.scan_back(
            now,
            &stops,
            &mut |look, event| {
                let own = match event {
                    Event::Before(next) if lines && origin.own(next.group, &next.lanes) => {
                        let depth = Origin::depth(look, next.group, &next.lanes);
                        Some((look.code().line(next.pc), depth))
                    }
                    _ => None,
                };
                if let Some(hit) = judge.judge(look, event) {
                    return Some(Trace::Hit(hit, own));
                }
                if let Some((line, depth)) = own {
                    return Some(Trace::Own(line, depth));
                }
                match (step?, event) {
                    (Step::Rejoin, Event::Issued(issued)) => {
                        let lane = origin.focus.lane as usize;
                        let parted = issued.split.iter().any(|(_, lanes)| lanes.contains(lane));
                        let own = same(issued.group, origin.focus.group);
                        (own && parted).then_some(Trace::Mark)
                    }
                    (step @ (Step::Issue | Step::Barrier), event) => {
                        origin.ends(step, look, event).then_some(Trace::Mark)
                    }
                    _ => None,
                }
            },
            &mut |position, trace| run.visit(position, trace),
        );
        self.debugger.points = points;
        let interrupted = found?;
        let (position, reason, hit) = match run.best {
            _ if interrupted => (self.target.position(), Reason::Interrupted, None),
            Some((position, Some(hit))) => (position, hit.reason, Some((hit.group, hit.lane))),
            Some((position, None)) => (position, Reason::Step, None),
            None => (0, Reason::Start, None),
        };
        let stopped = self.target.seek(position)?;
        let reason = self.reason(stopped, reason);
        Points::retire(&mut self.debugger.points, &reason);
        // A lane of an issue that has not begun may not be the one that the hit had.
        Ok(self.stopped(reason, hit))
    }

    /// Goes through what `collect` keeps of the events before a position, the last first, until
    /// `visit` says stop. An event of an issue has the position before the issue. Returns whether
    /// it was interrupted. Leaves the target at some position.
    pub(crate) fn scan_back<T>(
        &mut self,
        until: u64,
        stops: &Stops,
        collect: &mut dyn FnMut(&dyn Look, &Event<'_>) -> Option<T>,
        visit: &mut dyn FnMut(u64, T) -> bool,
    ) -> Result<bool, TargetError> {
        let mut bound = until;
        let mut marks = self.target.marks();
        marks.retain(|&mark| mark < until);
        while let Some(mark) = marks.pop() {
            while mark < bound {
                let mut kept: VecDeque<(u64, T)> = VecDeque::new();
                let mut dropped = false;
                if self.target.seek(mark)? == Stopped::Interrupted {
                    return Ok(true);
                }
                let stopped = self.target.run(bound, stops, false, &mut |look, event| {
                    let position = match event {
                        Event::Before(_) => look.position(),
                        Event::Issued(_) => look.position() - 1,
                    };
                    if let Some(item) = collect(look, &event) {
                        if kept.len() == KEPT {
                            kept.pop_front();
                            dropped = true;
                        }
                        kept.push_back((position, item));
                    }
                    false
                });
                if stopped == Stopped::Interrupted {
                    return Ok(true);
                }
                let first = kept.front().map_or(mark, |(position, _)| *position);
                while let Some((position, item)) = kept.pop_back() {
                    if visit(position, item) {
                        return Ok(false);
                    }
                }
                bound = if dropped { first } else { mark };
            }
        }
        Ok(false)
    }
}

/// A run backwards: what it looks for, and the best position so far.
struct Backward {
    step: Option<Step>,
    depth: usize,
    /// The line whose begin is looked for, with its depth.
    line: Option<(Option<LineKey>, usize)>,
    best: Option<(u64, Option<Hit>)>,
}

impl Backward {
    fn visit(&mut self, position: u64, trace: Trace) -> bool {
        match trace {
            Trace::Hit(hit, own) => {
                // Unless the begin of the line lies behind the breakpoint.
                let inside = own.is_some() && own == self.line;
                if self.best.is_none() || inside {
                    self.best = Some((position, Some(hit)));
                }
                true
            }
            Trace::Mark => {
                self.best = Some((position, None));
                true
            }
            Trace::Own(line, depth) => match self.step {
                Some(Step::Out) => {
                    let found = depth < self.depth;
                    if found {
                        self.best = Some((position, None));
                    }
                    found
                }
                step => {
                    if step == Some(Step::Over) && depth > self.depth {
                        return false;
                    }
                    let here = (line, depth);
                    match &self.line {
                        Some(wanted) if *wanted != here => true,
                        _ => {
                            self.line = Some(here);
                            self.best = Some((position, None));
                            false
                        }
                    }
                }
            },
        }
    }
}
