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

const HIGHEST: Rank = Rank { rank: |_, pc, _| [u64::MAX - pc.0, 0], planned: false };

/// The same in the layout of a number.
fn laid_out<const LAYOUT: usize>(plan: &Plan, pc: Pc, _: u32) -> [u64; 2] {
    [u64::MAX - plan.laid_out(pc, Layout::ALL[LAYOUT].1).0, 0]
}

/// A group at its start.
#[must_use]
pub fn new<const N: usize>(start: &Start<N>, knobs: Knobs) -> Box<dyn Mechanism<N>> {
    const FILE: usize = Layout::File as usize;
    const COMPILER: usize = Layout::Compiler as usize;
    let rank = match knobs.layout {
        Layout::KernelFirst => HIGHEST,
        Layout::File => Rank { rank: laid_out::<FILE>, planned: true },
        Layout::Compiler => Rank { rank: laid_out::<COMPILER>, planned: true },
    };
    Box::new(Ranked::new(start, rank))
}
