//! `min-sp-pc`: the path deepest in calls runs, and of those the one at the lowest place.
//!
//! **Source.** Collange, "Stack-less SIMT reconvergence at low cost" (2011): with a stack that
//! grows down, the lowest stack pointer first, then the lowest place, so that functions that stand
//! behind their callers do not keep lanes from meeting.
//!
//! **State.** As `min-pc`, with the depth of calls of each path.
//!
//! **Invariants.** Running paths differ in depth or place; lanes at one place at different depths
//! of recursion stay apart. Not fair, as `min-pc`. The depth of paths handed over by another
//! mechanism counts from there. Reads the knob `layout`.

use crate::mechanism::{Knobs, Mechanism, Start};
use crate::plan::{Layout, Plan};
use crate::ranked::{Rank, Ranked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "min-sp-pc";

#[derive(Clone, Debug)]
pub(crate) struct Order;

impl Rank for Order {
    const PLANNED: bool = true;

    fn rank(_: &Plan, pc: Pc, calls: u32) -> [u64; 2] {
        [u64::from(u32::MAX - calls), pc.0]
    }
}

/// The same in the layout of a number.
#[derive(Clone, Debug)]
struct In<const LAYOUT: usize>;

impl<const LAYOUT: usize> Rank for In<LAYOUT> {
    const PLANNED: bool = true;

    fn rank(plan: &Plan, pc: Pc, calls: u32) -> [u64; 2] {
        [u64::from(u32::MAX - calls), plan.laid_out(pc, Layout::ALL[LAYOUT].1).0]
    }
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    const FILE: usize = Layout::File as usize;
    const ORDER: usize = Layout::Compiler as usize;
    match knobs.layout {
        Layout::KernelFirst => Box::new(Ranked::<Order, N>::new(start)),
        Layout::File => Box::new(Ranked::<In<FILE>, N>::new(start)),
        Layout::Compiler => Box::new(Ranked::<In<ORDER>, N>::new(start)),
    }
}
