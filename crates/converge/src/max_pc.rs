//! `max-pc`: the path at the highest place runs; paths that meet are one.
//!
//! **Source.** The mirror image of `min-pc`, kept because it fails where that one works and the
//! other way round: lanes that left a loop run on before those that are still in it.
//!
//! **State.** As `min-pc`.
//!
//! **Invariants.** Running paths stand at distinct places, in decreasing order; the first is
//! preferred. Not fair: lanes that wait further up for those behind them starve. A spin loop in
//! front of the release it waits for ends. Reads no knob.

use crate::mechanism::{Mechanism, Start};
use crate::plan::Plan;
use crate::ranked::{Rank, Ranked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "max-pc";

#[derive(Clone, Debug)]
struct Order;

impl Rank for Order {
    const PLANNED: bool = false;

    fn rank(_: &Plan, pc: Pc, _: u32) -> [u64; 2] {
        [u64::MAX - pc.0, 0]
    }
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>) -> Box<dyn Mechanism<N>> {
    Box::new(Ranked::<Order, N>::new(start))
}
