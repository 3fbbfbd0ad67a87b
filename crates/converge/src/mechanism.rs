//! The contract between a convergence mechanism and whoever executes.

use crate::event::Event;
use crate::plan::{Layout, Plan, Priorities};
pub use simt::counts::Charges;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};
use thiserror::Error;

/// Names a path of one mechanism until that path's next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

/// Lanes that stand at one place together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<const N: usize> {
    /// Its name in the mechanism.
    pub id: PathId,
    /// Where it stands.
    pub pc: Pc,
    /// Its lanes; empty for an idle issue.
    pub lanes: LaneMask<N>,
    /// Live split levels above it: 1 for a group that never diverged.
    pub depth: u32,
}

/// Where a mechanism starts: at one place, or with the paths that another mechanism exported.
#[derive(Clone, Debug, PartialEq)]
pub struct Start<const N: usize> {
    /// Lanes of the issue group.
    pub width: u32,
    /// Disjoint, non-empty paths; usually one.
    pub paths: Vec<(Pc, LaneMask<N>)>,
    /// Lanes among them that are parked.
    pub parked: LaneMask<N>,
    /// Slots of an issue: the width, unless the group gathers the lanes of several warps
    /// ([`Scope::Cta`]). Lane `l` takes slot `l % slots`.
    pub slots: u32,
}

/// Whose lanes a mechanism sees together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Those of one issue group, a warp.
    #[default]
    Group,
    /// Those of all warps of a CTA; each issue still has the slots of one warp.
    Cta,
}

impl<const N: usize> Start<N> {
    /// All `lanes` at `pc`.
    #[must_use]
    pub fn at(pc: Pc, lanes: LaneMask<N>, width: u32) -> Self {
        Self { width, paths: vec![(pc, lanes)], parked: LaneMask::EMPTY, slots: width }
    }
}

/// Which side of a divergent branch runs first. The targets of a branch are ordered by it; ties go
/// to the lower place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The target other than the next instruction.
    Taken,
    /// The next instruction.
    #[default]
    Fallthrough,
    /// The target with fewer lanes: bounds a stack to log2(width) levels.
    Minority,
    /// The target with more lanes.
    Majority,
}

impl Order {
    /// All orders with their names.
    pub const ALL: [(&'static str, Self); 4] = [
        ("taken", Self::Taken),
        ("fallthrough", Self::Fallthrough),
        ("minority", Self::Minority),
        ("majority", Self::Majority),
    ];

    /// Sorts branch targets so that the one to run first comes first. `at` is the branch; its
    /// fall-through is `at + 1`.
    pub fn sort<const N: usize>(self, at: Pc, targets: &mut [(Pc, LaneMask<N>)]) {
        let next = Pc(at.0 + 1);
        targets.sort_by_key(|&(pc, lanes)| {
            let key = match self {
                Self::Taken => i64::from(pc == next),
                Self::Fallthrough => i64::from(pc != next),
                Self::Minority => i64::from(lanes.count()),
                Self::Majority => -i64::from(lanes.count()),
            };
            (key, pc)
        });
    }
}

/// Settings of a mechanism; each mechanism's file says which it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knobs {
    /// Which side of a divergent branch runs first; `None` is what the mechanism's source does.
    pub order: Option<Order>,
    /// Issues after which a fair mechanism lets another path run; 0 means never (strict order).
    pub slice: u64,
    /// Longest forward branch, in instructions up to where its lanes meet again, that is run as
    /// predicated code.
    pub predicate: u64,
    /// The block priorities of thread frontiers.
    pub priorities: Priorities,
    /// The layout in which places are compared.
    pub layout: Layout,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            order: None,
            slice: 1 << 12,
            predicate: 12,
            priorities: Priorities::default(),
            layout: Layout::default(),
        }
    }
}

/// Why a mechanism cannot go on. The executor turns it into a fault at the event's place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Lanes part under a mechanism that keeps them together.
    #[error("lanes part under the mechanism `{mechanism}`, which keeps all lanes together")]
    Parted {
        /// The mechanism.
        mechanism: &'static str,
    },
    /// A join without a split, or a split left open.
    #[error("{what}: splits and joins must be balanced")]
    Unbalanced {
        /// What was found.
        what: &'static str,
    },
    /// The path named is not one of the mechanism's: a fault of the executor.
    #[error("the mechanism has no path {path}")]
    UnknownPath {
        /// The path.
        path: u32,
    },
    /// A barrier register that the mechanism does not have.
    #[error("convergence barrier {barrier} does not exist: there are {count}")]
    NoSuchBarrier {
        /// The register asked for.
        barrier: u16,
        /// How many there are.
        count: u16,
    },
    /// The mechanism's bounded state is full.
    #[error("{what} is full ({limit} entries)")]
    Full {
        /// Which structure.
        what: &'static str,
        /// Its size.
        limit: usize,
    },
    /// An operation of which the mechanism has no notion.
    #[error("the mechanism `{mechanism}` does not support {what}")]
    Unsupported {
        /// The mechanism.
        mechanism: &'static str,
        /// The operation.
        what: &'static str,
    },
}

/// A convergence mechanism of one issue group.
///
/// Invariants that every implementation keeps, and that tests check after every event:
/// - the paths of [`Mechanism::paths`] are disjoint, and their union is the set of lanes that have
///   started and not exited;
/// - [`Mechanism::runnable`] gives paths without parked lanes, each a part of an exported path or
///   empty;
/// - if no lane is parked and some lane lives, a path with lanes is runnable, or is after finitely
///   many idle issues;
/// - the same events give the same answers.
pub trait Mechanism<const N: usize>: Send {
    /// The paths that may run now, the preferred one first. `out` is cleared first.
    fn runnable(&self, out: &mut Vec<Path<N>>);

    /// The first of [`Mechanism::runnable`], without a list of the others.
    fn preferred(&self) -> Option<Path<N>> {
        let mut all = Vec::new();
        self.runnable(&mut all);
        all.first().copied()
    }

    /// Tells what the instruction just issued on `path` did.
    ///
    /// # Errors
    /// If the program does what this mechanism cannot take; the mechanism's state is then that
    /// before the event.
    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal>;

    /// Lanes that are parked at one place (all of them at the same) go on to `next`.
    fn release(&mut self, plan: &Plan, lanes: LaneMask<N>, next: Pc);

    /// All paths with live lanes, parked ones included, in a stable order. `out` is cleared first.
    fn paths(&self, out: &mut Vec<Path<N>>);

    /// Its state as rows, what runs next last: for people. By default the paths.
    fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        let mut paths = Vec::new();
        self.paths(&mut paths);
        let row = |path: &Path<N>| MechanismRow {
            what: "path".to_owned(),
            pc: Some(path.pc),
            rejoin: None,
            lanes: path.lanes,
        };
        out.extend(paths.iter().rev().map(row));
    }

    /// What it did so far.
    fn charges(&self) -> Charges;

    /// Writes out everything on which its answers depend, charges excluded: equal images, equal
    /// behaviour.
    fn image(&self, out: &mut Vec<u64>);

    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn Mechanism<N>>;
}

impl<const N: usize> Clone for Box<dyn Mechanism<N>> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}
