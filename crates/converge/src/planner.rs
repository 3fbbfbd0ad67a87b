//! Makes a [`Plan`] from flow graphs.
//!
//! Each function is given as its graph and the places of its blocks. The planner finds immediate
//! post-dominators, priorities and layouts with the analyses of `flow`; it is near-linear in the
//! size of the program.
//!
//! **Branches that meet only to end.** Where the immediate post-dominator of a branch is a block
//! that does nothing but end its lanes, and lanes that leave the branch the other way may wait for
//! others first (at a collective with a member mask or at a barrier), the branch has no rejoin
//! point but the end: a lane that goes to that block ends there at once. Otherwise it would be held
//! at the rejoin point for lanes that wait until it has ended. Compilers make an `exit` instruction
//! of such a branch.

use crate::lanes::count;
use crate::plan::{BlockPlan, BlockRank, Layout, Plan, PlanError, Priorities, Rejoin};
use flow::waits::{BlockNote, may_wait};
use flow::{BlockOrder, Cfg, FrontierRule, Frontiers, Loops, Node, PostDominator, PostDominators};
use simt::Pc;
use std::ops::Range;

/// A function to plan.
#[derive(Clone, Copy, Debug)]
pub struct FunctionFlow<'a> {
    /// Its graph. Block 0 need not be the entry.
    pub cfg: &'a Cfg,
    /// The places of each block of the graph, by block index, in increasing order.
    pub places: &'a [Range<u64>],
    /// What its blocks do, by block index; empty if that is not known.
    pub notes: &'a [BlockNote],
    /// Where the function stands in its file: functions are in the order of these numbers there.
    pub written: u32,
}

/// The plan of a program whose functions stand one after another.
///
/// # Errors
/// [`PlanError`] if a function does not have one range of places for each block, or ranges are out
/// of order.
pub fn plan(functions: &[FunctionFlow<'_>]) -> Result<Plan, PlanError> {
    let mut blocks = Vec::new();
    let mut orders = Vec::new();
    for (index, function) in functions.iter().enumerate() {
        if function.places.len() != function.cfg.len() {
            return Err(PlanError::Layout { block: blocks.len() });
        }
        orders.push(add(&mut blocks, count(index), *function));
    }
    lay_out(&mut blocks, functions, &orders);
    Plan::new(blocks)
}

/// Adds the blocks of a function; returns their order by priority.
fn add(blocks: &mut Vec<BlockPlan>, index: u32, function: FunctionFlow<'_>) -> BlockOrder {
    let FunctionFlow { cfg, places, notes, .. } = function;
    let ends = |n: Node| notes.get(n.index()).is_some_and(|note| note.ends);
    let waits = |n: Node| notes.get(n.index()).is_some_and(|note| note.waits);
    let may_wait = may_wait(cfg, notes);
    let base = count(blocks.len());
    let post = PostDominators::new(cfg);
    let frontiers = Priorities::ALL.map(|(_, priorities)| {
        let order = match priorities {
            Priorities::Layout => BlockOrder::layout(cfg),
            Priorities::Compiler => BlockOrder::scheduled(cfg, &Loops::new(cfg), waits),
        };
        Frontiers::new(cfg, order, FrontierRule::Closed)
    });
    let rank = |frontiers: &Frontiers, n: Node| BlockRank {
        priority: count(frontiers.order().position(n)),
        frontier: frontiers.first(n).map(|f| base.saturating_add(f.get())),
    };
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
        ranks: frontiers.each_ref().map(|f| rank(f, n)),
        starts: [Pc(places[n.index()].start); Layout::ALL.len()],
        successors: cfg.successors(n).iter().map(|s| base.saturating_add(s.get())).collect(),
    }));
    frontiers[Priorities::Compiler as usize].order().clone()
}

/// Gives all blocks their places in the layouts other than that of the code.
fn lay_out(blocks: &mut [BlockPlan], functions: &[FunctionFlow<'_>], orders: &[BlockOrder]) {
    let mut bases = Vec::with_capacity(functions.len());
    let mut base = 0;
    for function in functions {
        bases.push(base);
        base += function.cfg.len();
    }
    let mut place = |layout: Layout, at: &mut u64, block: usize| {
        let block = &mut blocks[block];
        block.starts[layout as usize] = Pc(*at);
        *at += block.end.0 - block.first.0;
    };
    let mut by_file: Vec<usize> = (0..functions.len()).collect();
    by_file.sort_by_key(|&f| functions[f].written);
    let (mut in_file, mut in_order) = (0, 0);
    for f in by_file {
        (0..functions[f].cfg.len()).for_each(|n| place(Layout::File, &mut in_file, bases[f] + n));
    }
    for (f, order) in orders.iter().enumerate() {
        for node in order.blocks() {
            place(Layout::Compiler, &mut in_order, bases[f] + node.index());
        }
    }
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
            FunctionFlow { cfg: &diamond, places: &a, notes: &[], written: 0 },
            FunctionFlow { cfg: &spin, places: std::slice::from_ref(&b), notes: &[], written: 0 },
        ];
        let plan = plan(&functions).unwrap();
        assert_eq!(plan.rejoin(Pc(1)), Rejoin::At(Pc(5)));
        assert_eq!(plan.rejoin(Pc(5)), Rejoin::FunctionEnd);
        assert_eq!(plan.rejoin(Pc(6)), Rejoin::Never);
        assert_eq!(plan.blocks()[4].successors, [4]);
        assert_eq!(plan.blocks()[4].function, 1);
        assert_eq!(plan.rejoin(Pc(99)), Rejoin::Never);
    }

    #[test]
    fn layouts_move_functions_and_blocks() {
        // The join, block 1, is written before the sides; the callee is written before the kernel.
        let kernel = Cfg::new(0, &[vec![2, 3], vec![], vec![1], vec![1]]).unwrap();
        let callee = Cfg::new(0, &[vec![]]).unwrap();
        let (a, b) = ([0..2, 2..4, 4..5, 5..8], 8..10);
        let callee_places = std::slice::from_ref(&b);
        let functions = [
            FunctionFlow { cfg: &kernel, places: &a, notes: &[], written: 9 },
            FunctionFlow { cfg: &callee, places: callee_places, notes: &[], written: 3 },
        ];
        let plan = plan(&functions).unwrap();
        let places = |layout| [0, 2, 4, 6, 8].map(|at| plan.laid_out(Pc(at), layout).0);
        assert_eq!(places(Layout::KernelFirst), [0, 2, 4, 6, 8]);
        assert_eq!(places(Layout::File), [2, 4, 6, 8, 0]);
        assert_eq!(places(Layout::Compiler), [0, 6, 2, 4, 8]);
        let priorities = |p| [0, 2, 4, 5].map(|at| plan.priority(Pc(at), p));
        assert_eq!(priorities(Priorities::Compiler), [0, 3, 1, 2]);
        assert_eq!(priorities(Priorities::Layout), [0, 1, 2, 3]);
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
            let flow = FunctionFlow { cfg: &cfg, places: &places, notes: &notes, written: 0 };
            let plan = plan(&[flow]).unwrap();
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
        let short = FunctionFlow { cfg: &cfg, places: &[], notes: &[], written: 0 };
        assert_eq!(plan(&[short]), Err(PlanError::Layout { block: 0 }));
        let back = [3..4, 1..2];
        let back = FunctionFlow { cfg: &cfg, places: &back, notes: &[], written: 0 };
        assert_eq!(plan(&[back]), Err(PlanError::Layout { block: 1 }));
    }
}
