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

pub(crate) const ORDER: Rank =
    Rank { rank: |_, pc, calls| [u64::from(u32::MAX - calls), pc.0], planned: true };

/// The same in the layout of a number.
fn laid_out<const LAYOUT: usize>(plan: &Plan, pc: Pc, calls: u32) -> [u64; 2] {
    [u64::from(u32::MAX - calls), plan.laid_out(pc, Layout::ALL[LAYOUT].1).0]
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    const FILE: usize = Layout::File as usize;
    const COMPILER: usize = Layout::Compiler as usize;
    let rank = match knobs.layout {
        Layout::KernelFirst => ORDER,
        Layout::File => Rank { rank: laid_out::<FILE>, planned: true },
        Layout::Compiler => Rank { rank: laid_out::<COMPILER>, planned: true },
    };
    Box::new(Ranked::new(start, rank))
}
