//! A mechanism for somebody's own executor: chosen by name, told of branches by masks, asked what
//! runs next.
//!
//! A [`Session`] keeps a mechanism, the graph of the program and statistics of one group. The
//! executor asks [`Session::now`] which lanes stand where, executes that instruction, and says what
//! it was: [`Session::step`] for an ordinary one, [`Session::branch`] with the lanes that were
//! active and those that jump, [`Session::jump`], [`Session::switch`], [`Session::exit`]. Whoever
//! needs calls, waits or several groups drives a [`Mechanism`] by its events instead.
//!
//! Nothing is taken on trust: places have to be in the graph, and masks have to be those of the
//! path that runs.

use crate::catalogue::{BuildMechanism, Entry, UnknownMechanism};
use crate::event::Event;
use crate::listing::{Flow, Listing, ListingError};
use crate::mechanism::{Charges, Knobs, Mechanism, Path, Refusal, Start};
use crate::plan::Plan;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};
use std::fmt;
use thiserror::Error;

/// Why a session cannot go on. Its state is then that before the call.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SessionError {
    /// No mechanism of this name.
    #[error(transparent)]
    Name(#[from] UnknownMechanism),
    /// No graph was set, and the mechanism plans with it.
    #[error("the mechanism `{0}` needs the flow graph: set it first")]
    NoGraph(&'static str),
    /// The graph is broken.
    #[error(transparent)]
    Graph(#[from] ListingError),
    /// A place that the graph does not have.
    #[error("place {place} is not in the flow graph, which ends at {last}")]
    OutOfRange {
        /// The place.
        place: u64,
        /// The last place of the graph.
        last: u64,
    },
    /// A target that is not a block's first instruction.
    #[error("no block begins at {place}, where lanes are said to go from {at}")]
    NotABlock {
        /// The branch.
        at: u64,
        /// Its target.
        place: u64,
    },
    /// No lanes to begin with, or lanes beyond the width.
    #[error("a group needs lanes below its width")]
    Lanes,
    /// Nothing runs: the session has not begun, or all lanes have ended.
    #[error("no lane runs")]
    Idle,
    /// The active mask is not that of the path that runs.
    #[error("active lanes {given} are not those of the path that runs, {expected}")]
    Active {
        /// Lanes given.
        given: String,
        /// Lanes of the path.
        expected: String,
    },
    /// Lanes that are not active.
    #[error("lanes {0} are not active")]
    NotActive(String),
    /// The mechanism refuses.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What a group did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Instructions issued.
    pub issues: u64,
    /// Of them, issues without lanes.
    pub idle_issues: u64,
    /// Active lanes, summed over all issues.
    pub active_lanes: u64,
    /// Lanes of the group, summed over all issues.
    pub lane_slots: u64,
    /// Branches issued.
    pub branches: u64,
    /// Branches whose lanes went to more than one place.
    pub divergent_branches: u64,
    /// Places that divergent branches went to, summed.
    pub divergent_paths: u64,
    /// Splits that rejoined: all their lanes that had not ended were active together again.
    pub rejoined: u64,
    /// Issues from those splits to where they rejoined, summed.
    pub rejoin_issues: u64,
    /// Splits that never will: the lanes that are left are of one side.
    pub never_rejoined: u64,
    /// What the mechanism did.
    pub charges: Charges,
}

impl Statistics {
    /// Active lanes over lane slots; 0 before the first issue.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        if self.lane_slots == 0 { 0.0 } else { self.active_lanes as f64 / self.lane_slots as f64 }
    }

    /// Divergent branches over branches; 0 without branches.
    #[must_use]
    pub fn divergence_rate(&self) -> f64 {
        let branches = self.branches.max(1);
        self.divergent_branches as f64 / branches as f64
    }

    /// Issues from a split to its own rejoin, averaged; `None` if no split rejoined.
    #[must_use]
    pub fn mean_reconvergence_time(&self) -> Option<f64> {
        (self.rejoined > 0).then(|| self.rejoin_issues as f64 / self.rejoined as f64)
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = &self.charges;
        writeln!(f, "issues              {:>8}  ({} idle)", self.issues, self.idle_issues)?;
        writeln!(f, "lane efficiency     {:>7.1}%", 100.0 * self.efficiency())?;
        writeln!(f, "branches            {:>8}", self.branches)?;
        writeln!(
            f,
            "divergent branches  {:>8}  ({} paths, {:.1}% of branches)",
            self.divergent_branches,
            self.divergent_paths,
            100.0 * self.divergence_rate()
        )?;
        let mean = self.mean_reconvergence_time();
        let mean = mean.map_or_else(String::new, |mean| format!("  (after {mean:.1} issues)"));
        writeln!(f, "splits rejoined     {:>8}{mean}", self.rejoined)?;
        writeln!(f, "merges              {:>8}", c.merges)?;
        writeln!(f, "pushes, pops        {:>8}  {}", c.pushes, c.pops)?;
        write!(f, "greatest depth      {:>8}", c.max_depth)?;
        if c.unsound_splits > 0 {
            write!(f, "\nunsound splits      {:>8}", c.unsound_splits)?;
        }
        Ok(())
    }
}

/// A mechanism with the graph of a program and the statistics of one group.
pub struct Session<const N: usize = 1> {
    entry: &'static Entry,
    plan: Option<Plan>,
    mechanism: Option<Box<dyn Mechanism<N>>>,
    width: u32,
    knobs: Knobs,
    statistics: Statistics,
    open: Vec<OpenSplit<N>>,
    exited: LaneMask<N>,
}

/// A split whose sides have not all come together.
struct OpenSplit<const N: usize> {
    at: u64,
    lanes: LaneMask<N>,
    sides: Vec<LaneMask<N>>,
}

/// Most open splits that are followed; beyond, the oldest is forgotten.
const MOST_OPEN: usize = 2048;

impl<const N: usize> Session<N> {
    /// A session under the mechanism of a name or alias: `basic`, `cfg`, `stack`, or any other of
    /// the catalogue.
    ///
    /// # Errors
    /// [`SessionError::Name`], with the nearest name.
    pub fn new(name: &str) -> Result<Self, SessionError> {
        let entry = Entry::find(name)?;
        Ok(Self {
            entry,
            plan: None,
            mechanism: None,
            width: 0,
            knobs: Knobs::default(),
            statistics: Statistics::default(),
            open: Vec::new(),
            exited: LaneMask::EMPTY,
        })
    }

    /// Sets the knobs of the mechanism, from the next beginning on.
    pub fn set_knobs(&mut self, knobs: Knobs) {
        self.knobs = knobs;
    }

    /// The mechanism's row of the catalogue.
    #[must_use]
    pub fn mechanism(&self) -> &'static Entry {
        self.entry
    }

    /// Sets the program's flow graph, of a listing of its instructions.
    ///
    /// # Errors
    /// [`SessionError::Graph`] if a target is outside or control runs off the end.
    pub fn set_graph(&mut self, code: &[Flow]) -> Result<(), SessionError> {
        self.plan = Some(Listing::new(code)?.plan()?);
        Ok(())
    }

    /// Begins with lanes of a group of `width` at a place; statistics begin anew. Without a graph
    /// ([`Entry::needs_graph`]) any place will do, and `unsound_splits` is not counted.
    ///
    /// # Errors
    /// Without a graph that the mechanism needs, at a place that the graph does not have, without
    /// lanes or with lanes beyond the width.
    pub fn begin(&mut self, at: Pc, lanes: LaneMask<N>, width: u32) -> Result<(), SessionError>
    where
        Start<N>: BuildMechanism<N>,
    {
        self.known(at)?;
        if lanes.is_empty() || !lanes.is_subset(&LaneMask::first(width as usize)) {
            return Err(SessionError::Lanes);
        }
        self.mechanism = Some(self.entry.build(&Start::at(at, lanes, width), self.knobs)?);
        self.width = width;
        self.statistics = Statistics::default();
        self.open.clear();
        self.exited = LaneMask::EMPTY;
        Ok(())
    }

    /// The path that runs now: its place and its lanes, which may be none (an idle issue). None
    /// when all lanes have ended.
    #[must_use]
    pub fn now(&self) -> Option<Path<N>> {
        self.mechanism.as_ref()?.preferred()
    }

    /// All paths, those that wait included.
    #[must_use]
    pub fn paths(&self) -> Vec<Path<N>> {
        let mut out = Vec::new();
        if let Some(mechanism) = &self.mechanism {
            mechanism.paths(&mut out);
        }
        out
    }

    /// The mechanism's state as rows, what runs next last: its stack, list or tables.
    #[must_use]
    pub fn rows(&self) -> Vec<MechanismRow<N>> {
        let mut out = Vec::new();
        if let Some(mechanism) = &self.mechanism {
            mechanism.rows(&mut out);
        }
        out
    }

    /// An ordinary instruction was executed.
    ///
    /// # Errors
    /// If no lane runs, or the program ends behind the instruction.
    pub fn step(&mut self) -> Result<(), SessionError> {
        let path = self.running()?;
        let next = Pc(path.pc.0 + 1);
        self.known(next)?;
        self.tell(&path, &Event::Advance { next })
    }

    /// A conditional branch was executed: of the `active` lanes, those of `taken` go to `target`,
    /// the others on.
    ///
    /// # Errors
    /// If `active` is not the path that runs, `taken` is not part of it, or no block begins at the
    /// target.
    pub fn branch(
        &mut self,
        active: LaneMask<N>,
        taken: LaneMask<N>,
        target: Pc,
    ) -> Result<(), SessionError> {
        let path = self.running()?;
        if active != path.lanes {
            let (given, expected) = (active.to_string(), path.lanes.to_string());
            return Err(SessionError::Active { given, expected });
        }
        self.switch(&[(target, taken), (Pc(path.pc.0 + 1), active - taken)])
    }

    /// All lanes of the path jump to a place.
    ///
    /// # Errors
    /// If no lane runs, or no block begins there.
    pub fn jump(&mut self, target: Pc) -> Result<(), SessionError> {
        let path = self.running()?;
        self.block(path.pc, target)?;
        if path.lanes.is_empty() {
            return self.tell(&path, &Event::Branch { at: path.pc, targets: &[] });
        }
        self.tell(&path, &Event::Branch { at: path.pc, targets: &[(target, path.lanes)] })
    }

    /// A branch with any number of targets was executed; empty masks are left out.
    ///
    /// # Errors
    /// If the masks are not disjoint, do not make up the path, or no block begins at a target.
    pub fn switch(&mut self, targets: &[(Pc, LaneMask<N>)]) -> Result<(), SessionError> {
        let path = self.running()?;
        let mut all = LaneMask::EMPTY;
        let mut sorted: Vec<(Pc, LaneMask<N>)> = Vec::new();
        for &(pc, lanes) in targets.iter().filter(|t| t.1.any()) {
            let extra = (lanes - path.lanes) | (lanes & all);
            if extra.any() {
                return Err(SessionError::NotActive(extra.to_string()));
            }
            self.block(path.pc, pc)?;
            all |= lanes;
            match sorted.binary_search_by_key(&pc, |t| t.0) {
                Ok(i) => sorted[i].1 |= lanes,
                Err(i) => sorted.insert(i, (pc, lanes)),
            }
        }
        if all != path.lanes {
            let (given, expected) = (all.to_string(), path.lanes.to_string());
            return Err(SessionError::Active { given, expected });
        }
        self.tell(&path, &Event::Branch { at: path.pc, targets: &sorted })?;
        self.split(path.lanes, &sorted);
        let ways = sorted.len() as u64;
        self.statistics.branches += 1;
        if ways > 1 {
            self.statistics.divergent_branches += 1;
            self.statistics.divergent_paths += ways;
        }
        Ok(())
    }

    /// Lanes of the path end; the others go on to the next instruction.
    ///
    /// # Errors
    /// If lanes are not active, or others would run off the end of the program.
    pub fn exit(&mut self, lanes: LaneMask<N>) -> Result<(), SessionError> {
        let path = self.running()?;
        if !lanes.is_subset(&path.lanes) {
            return Err(SessionError::NotActive((lanes - path.lanes).to_string()));
        }
        let next = Pc(path.pc.0 + 1);
        if lanes != path.lanes {
            self.known(next)?;
        }
        if path.lanes.is_empty() {
            return self.tell(&path, &Event::Branch { at: path.pc, targets: &[] });
        }
        self.tell(&path, &Event::Exit { at: path.pc, lanes, next })?;
        self.exited |= lanes;
        Ok(())
    }

    /// What the group did so far; prints itself as a table.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let mut charges = self.mechanism.as_ref().map_or_else(Charges::default, |m| m.charges());
        if self.plan.is_none() {
            charges.unsound_splits = 0;
        }
        Statistics { charges, ..self.statistics }
    }

    fn running(&self) -> Result<Path<N>, SessionError> {
        self.now().ok_or(SessionError::Idle)
    }

    /// The graph; none if none was set and the mechanism does without.
    fn planned(&self) -> Result<Option<&Plan>, SessionError> {
        match &self.plan {
            None if self.entry.needs_graph() => Err(SessionError::NoGraph(self.entry.name)),
            plan => Ok(plan.as_ref()),
        }
    }

    fn known(&self, place: Pc) -> Result<(), SessionError> {
        let Some(plan) = self.planned()? else { return Ok(()) };
        let last = plan.blocks().last().map_or(0, |b| b.end.0.saturating_sub(1));
        if plan.block_of(place).is_some() {
            return Ok(());
        }
        Err(SessionError::OutOfRange { place: place.0, last })
    }

    fn block(&self, at: Pc, place: Pc) -> Result<(), SessionError> {
        self.known(place)?;
        let Some(plan) = self.planned()? else { return Ok(()) };
        let first = plan.block_of(place).map(|b| plan.blocks()[b].first);
        if first == Some(place) {
            return Ok(());
        }
        Err(SessionError::NotABlock { at: at.0, place: place.0 })
    }

    fn tell(&mut self, path: &Path<N>, event: &Event<'_, N>) -> Result<(), SessionError> {
        let Some(mechanism) = &mut self.mechanism else { return Err(SessionError::Idle) };
        let nothing = Plan::default();
        mechanism.event(self.plan.as_ref().unwrap_or(&nothing), path.id, event)?;
        self.rejoin(&path.lanes);
        self.statistics.issues += 1;
        self.statistics.idle_issues += u64::from(path.lanes.is_empty());
        self.statistics.active_lanes += u64::from(path.lanes.count());
        self.statistics.lane_slots += u64::from(self.width);
        Ok(())
    }

    /// Follows a divergent branch, issued last.
    fn split(&mut self, lanes: LaneMask<N>, targets: &[(Pc, LaneMask<N>)]) {
        if targets.len() < 2 {
            return;
        }
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
            self.statistics.never_rejoined += 1;
        }
        let sides = targets.iter().map(|target| target.1).collect();
        self.open.push(OpenSplit { at: self.statistics.issues, lanes, sides });
    }

    /// Counts the splits that rejoin in an issue for these lanes.
    fn rejoin(&mut self, active: &LaneMask<N>) {
        let Self { open, exited, statistics, .. } = self;
        open.retain(|split| {
            let left = split.lanes - *exited;
            if split.sides.iter().any(|side| left.is_subset(side)) {
                statistics.never_rejoined += 1;
                return false;
            }
            if left.is_subset(active) {
                statistics.rejoined += 1;
                statistics.rejoin_issues += statistics.issues - split.at;
                return false;
            }
            true
        });
    }
}

#[cfg(test)]
mod tests;
