//! Makes a [`Plan`] from flow graphs.
//!
//! Each function is given as its graph and the places of its blocks. The planner finds immediate
//! post-dominators and priorities with the analyses of `flow`; it is near-linear in the size of the
//! program.
//!
//! **Branches that meet only to end.** Where the immediate post-dominator of a branch is a block
//! that does nothing but end its lanes, and lanes that leave the branch the other way may wait for
//! others first (at a collective with a member mask or at a barrier), the branch has no rejoin
//! point but the end: a lane that goes to that block ends there at once. Otherwise it would be held
//! at the rejoin point for lanes that wait until it has ended. Compilers make an `exit` instruction
//! of such a branch.

use crate::lanes::count;
use crate::plan::{BlockPlan, Plan, PlanError, Rejoin};
use flow::waits::{BlockNote, may_wait};
use flow::{BlockOrder, Cfg, FrontierRule, Frontiers, Loops, Node, PostDominator, PostDominators};
use simt::Pc;
use std::ops::Range;

/// Where the scheduling priorities of blocks come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priorities {
    /// The order of places: what the hardware compares when it runs the lowest place first.
    #[default]
    Layout,
    /// An order that keeps loops together and puts what follows them behind
    /// ([`BlockOrder::structured`]).
    Structured,
}

/// A function to plan.
#[derive(Clone, Copy, Debug)]
pub struct FunctionFlow<'a> {
    /// Its graph. Block 0 need not be the entry.
    pub cfg: &'a Cfg,
    /// The places of each block of the graph, by block index, in increasing order.
    pub places: &'a [Range<u64>],
    /// What its blocks do, by block index; empty if that is not known.
    pub notes: &'a [BlockNote],
}

/// The plan of a program whose functions stand one after another.
///
/// # Errors
/// [`PlanError`] if a function does not have one range of places for each block, or ranges are out
/// of order.
pub fn plan(functions: &[FunctionFlow<'_>], priorities: Priorities) -> Result<Plan, PlanError> {
    let mut blocks = Vec::new();
    for (index, function) in functions.iter().enumerate() {
        if function.places.len() != function.cfg.len() {
            return Err(PlanError::Layout { block: blocks.len() });
        }
        add(&mut blocks, count(index), *function, priorities);
    }
    Plan::new(blocks)
}

fn add(
    blocks: &mut Vec<BlockPlan>,
    index: u32,
    function: FunctionFlow<'_>,
    priorities: Priorities,
) {
    let FunctionFlow { cfg, places, notes } = function;
    let ends = |n: Node| notes.get(n.index()).is_some_and(|note| note.ends);
    let may_wait = may_wait(cfg, notes);
    let base = count(blocks.len());
    let post = PostDominators::new(cfg);
    let order = match priorities {
        Priorities::Layout => BlockOrder::layout(cfg),
        Priorities::Structured => BlockOrder::structured(cfg, &Loops::new(cfg)),
    };
    let frontiers = Frontiers::new(cfg, order, FrontierRule::Closed);
    let order = frontiers.order();
    blocks.extend(cfg.nodes().map(|n| BlockPlan {
        first: Pc(places[n.index()].start),
        end: Pc(places[n.index()].end),
        function: index,
        rejoin: match post.immediate(n) {
            PostDominator::Block(r) if ends(r) && may_wait[n.index()] => Rejoin::FunctionEnd,
            PostDominator::Block(r) => Rejoin::At(Pc(places[r.index()].start)),
            PostDominator::Exit => Rejoin::FunctionEnd,
            PostDominator::None => Rejoin::Never,
        },
        priority: count(order.position(n)),
        frontier: frontiers.first(n).map(|f| base.saturating_add(f.get())),
        successors: cfg.successors(n).iter().map(|s| base.saturating_add(s.get())).collect(),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_functions_one_after_another() {
        let diamond = Cfg::new(0, &[vec![1, 2], vec![3], vec![3], vec![]]).unwrap();
        let spin = Cfg::new(0, &[vec![0]]).unwrap();
        let (a, b) = ([0..2, 2..3, 3..5, 5..6], 6..7);
        let functions = [
            FunctionFlow { cfg: &diamond, places: &a, notes: &[] },
            FunctionFlow { cfg: &spin, places: std::slice::from_ref(&b), notes: &[] },
        ];
        let plan = plan(&functions, Priorities::Structured).unwrap();
        assert_eq!(plan.rejoin(Pc(1)), Rejoin::At(Pc(5)));
        assert_eq!(plan.rejoin(Pc(5)), Rejoin::FunctionEnd);
        assert_eq!(plan.rejoin(Pc(6)), Rejoin::Never);
        assert_eq!(plan.blocks()[4].successors, [4]);
        assert_eq!(plan.blocks()[4].function, 1);
        assert_eq!(plan.rejoin(Pc(99)), Rejoin::Never);
    }

    #[test]
    fn lanes_that_only_end_do_not_wait_for_those_that_wait() {
        // Two guards in a row leave for block 3, which ends; block 2 may wait.
        let cfg = Cfg::new(0, &[vec![1, 3], vec![2, 3], vec![3], vec![]]).unwrap();
        let places = [0..1, 1..2, 2..3, 3..4];
        let rejoin = |waits: Option<usize>, ends: bool| {
            let mut notes = [BlockNote::default(); 4];
            notes[3].ends = ends;
            if let Some(block) = waits {
                notes[block].waits = true;
            }
            let flow = FunctionFlow { cfg: &cfg, places: &places, notes: &notes };
            let plan = plan(&[flow], Priorities::Layout).unwrap();
            [0, 1].map(|at| plan.rejoin(Pc(at)))
        };
        let end = Rejoin::At(Pc(3));
        assert_eq!(rejoin(None, true), [end, end]);
        assert_eq!(rejoin(Some(2), false), [end, end]);
        assert_eq!(rejoin(Some(2), true), [Rejoin::FunctionEnd, Rejoin::FunctionEnd]);
        // What waits in front of the second guard does not matter to it.
        assert_eq!(rejoin(Some(1), true), [Rejoin::FunctionEnd, end]);
    }

    #[test]
    fn places_must_fit_the_graph() {
        let cfg = Cfg::new(0, &[vec![1], vec![]]).unwrap();
        let short = FunctionFlow { cfg: &cfg, places: &[], notes: &[] };
        assert_eq!(plan(&[short], Priorities::Layout), Err(PlanError::Layout { block: 0 }));
        let back = [3..4, 1..2];
        let back = FunctionFlow { cfg: &cfg, places: &back, notes: &[] };
        assert_eq!(plan(&[back], Priorities::Layout), Err(PlanError::Layout { block: 1 }));
    }
}
