//! `tf-stack`: thread frontiers with a sorted stack: the path in the block of the highest priority
//! runs.
//!
//! **Source.** Diamos et al., "SIMD re-convergence at thread frontiers" (MICRO 2011); the sorted
//! stack is that of GPU Ocelot, whose counters are charged: list entries looked at, inserted,
//! merged. Priorities come from the plan; laid out in their order, code runs as under `min-pc`.
//!
//! **State.** A list of (place, mask) sorted by depth of calls (the source keeps a stack of such
//! lists), block priority and place.
//!
//! **Invariants.** Running paths differ in depth or place. Lanes that wait are in the thread
//! frontier of the block that runs. Not fair: lanes that wait in a block of lower priority than a
//! loop starve while it goes round. Reads no knob.

use crate::mechanism::{Mechanism, Start};
use crate::plan::Plan;
use crate::ranked::{Rank, Ranked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "tf-stack";

#[derive(Clone, Debug)]
struct Order;

impl Rank for Order {
    const PLANNED: bool = true;

    fn rank(plan: &Plan, pc: Pc, calls: u32) -> [u64; 2] {
        let deepest = u64::from(u32::MAX - calls) << 32;
        [deepest | u64::from(plan.priority(pc)), pc.0]
    }
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>) -> Box<dyn Mechanism<N>> {
    Box::new(Ranked::<Order, N>::new(start))
}
