//! `max-pc`: the path at the highest place runs; paths that meet are one.
//!
//! **Source.** The mirror image of `min-pc`, kept because it fails where that one works and the
//! other way round: lanes that left a loop run on before those that are still in it.
//!
//! **State.** As `min-pc`.
//!
//! **Invariants.** Running paths stand at distinct places, in decreasing order; the first is
//! preferred. Not fair: lanes that wait further up for those behind them starve. A spin loop in
//! front of the release it waits for ends. Reads the knob
//! `layout`.

use crate::mechanism::{Knobs, Mechanism, Start};
use crate::plan::{Layout, Plan};
use crate::ranked::{Rank, Ranked};
use simt::Pc;

/// Its name in the catalogue.
pub const NAME: &str = "max-pc";

#[derive(Clone, Debug)]
struct Highest;

impl Rank for Highest {
    const PLANNED: bool = false;

    fn rank(_: &Plan, pc: Pc, _: u32) -> [u64; 2] {
        [u64::MAX - pc.0, 0]
    }
}

/// The same in the layout of a number.
#[derive(Clone, Debug)]
struct In<const LAYOUT: usize>;

impl<const LAYOUT: usize> Rank for In<LAYOUT> {
    const PLANNED: bool = true;

    fn rank(plan: &Plan, pc: Pc, _: u32) -> [u64; 2] {
        [u64::MAX - plan.laid_out(pc, Layout::ALL[LAYOUT].1).0, 0]
    }
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    const FILE: usize = Layout::File as usize;
    const ORDER: usize = Layout::Compiler as usize;
    match knobs.layout {
        Layout::KernelFirst => Box::new(Ranked::<Highest, N>::new(start)),
        Layout::File => Box::new(Ranked::<In<FILE>, N>::new(start)),
        Layout::Compiler => Box::new(Ranked::<In<ORDER>, N>::new(start)),
    }
}
