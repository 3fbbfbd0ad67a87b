//! `tf-stack`: thread frontiers with a sorted stack: the path in the block of the highest priority
//! runs.
//!
//! **Source.** Diamos et al., "SIMD re-convergence at thread frontiers" (MICRO 2011); the sorted
//! stack is that of GPU Ocelot, whose counters are charged: list entries looked at, inserted,
//! merged. Priorities are the compiler's, as in the paper, or the layout of the code (the knob
//! `priorities`); without calls the latter runs as `min-pc`.
//!
//! **State.** A list of (place, mask) sorted by depth of calls (the source keeps a stack of such
//! lists), block priority and place.
//!
//! **Invariants.** Running paths differ in depth or place. Lanes that wait are in the thread
//! frontier of the block that runs. Not fair: lanes that wait in a block of lower priority than a
//! loop starve while it goes round. Reads the knob
//! `priorities`.

use crate::mechanism::{Knobs, Mechanism, Start};
use crate::plan::{Plan, Priorities};
use crate::ranked::{Rank, Ranked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "tf-stack";

/// Deeper calls first, then the block of the highest priority, then the lowest place.
fn rank(plan: &Plan, (pc, calls): (Pc, u32), priorities: Priorities) -> [u64; 2] {
    let deepest = u64::from(u32::MAX - calls) << 32;
    [deepest | u64::from(plan.priority(pc, priorities)), pc.0]
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    let rank = match knobs.priorities {
        Priorities::Compiler => |plan: &_, pc, calls| rank(plan, (pc, calls), Priorities::Compiler),
        Priorities::Layout => |plan: &_, pc, calls| rank(plan, (pc, calls), Priorities::Layout),
    };
    Box::new(Ranked::new(start, Rank { rank, planned: true }))
}
