//! Control dependence: which branches decide whether a block runs.
//!
//! Source: Ferrante, Ottenstein and Warren, "The program dependence graph and its use in
//! optimization" (1987). A block is control dependent on an edge if it post-dominates the edge's
//! target but does not strictly post-dominate its source. The whole relation may be quadratic in
//! size, so it is enumerated from the post-dominator tree on demand. Blocks from which no exit can
//! be reached are outside it.

use crate::dom::{PostDominator, PostDominators};
use crate::graph::{Cfg, Node};

/// Control dependence of a graph.
#[derive(Clone, Copy, Debug)]
pub struct ControlDependence<'a> {
    cfg: &'a Cfg,
    post: &'a PostDominators,
}

impl<'a> ControlDependence<'a> {
    /// A view on the graph and its post-dominators.
    #[must_use]
    pub fn new(cfg: &'a Cfg, post: &'a PostDominators) -> Self {
        Self { cfg, post }
    }

    /// Whether the block runs because (or not because) this edge is taken.
    ///
    /// # Panics
    /// If a block is not of the graph (as for every method here).
    #[must_use]
    pub fn depends(&self, block: Node, (from, to): (Node, Node)) -> bool {
        self.post.post_dominates(block, to)
            && (block == from || !self.post.post_dominates(block, from))
    }

    /// The blocks that are control dependent on the edge, nearest first.
    pub fn controlled_by(&self, (from, to): (Node, Node)) -> impl Iterator<Item = Node> + 'a {
        let post = self.post;
        let stop = post.immediate(from);
        let mut at =
            if post.reaches_exit(to) { PostDominator::Block(to) } else { PostDominator::None };
        std::iter::from_fn(move || {
            let node = if at == stop { None } else { at.block() }?;
            at = post.immediate(node);
            Some(node)
        })
    }

    /// The edges that the block is control dependent on, by target; looks at all blocks that
    /// `block` post-dominates.
    pub fn controllers(&self, block: Node) -> impl Iterator<Item = (Node, Node)> + 'a {
        let this = *self;
        self.post.subtree(block).iter().flat_map(move |&to| {
            let all = this.cfg.predecessors(to).iter().map(move |&from| (from, to));
            all.filter(move |&edge| this.depends(block, edge))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_controls_its_sides_but_not_the_join() {
        let g = Cfg::new(0, &[vec![1, 2], vec![3], vec![3], vec![]]).unwrap();
        let p = PostDominators::new(&g);
        let c = ControlDependence::new(&g, &p);
        let n = Node::new;
        assert_eq!(c.controllers(n(1)).collect::<Vec<_>>(), [(n(0), n(1))]);
        assert_eq!(c.controllers(n(3)).count(), 0);
        assert_eq!(c.controlled_by((n(0), n(2))).collect::<Vec<_>>(), [n(2)]);
    }

    #[test]
    fn a_loop_branch_controls_itself() {
        let g = Cfg::new(0, &[vec![0, 1], vec![]]).unwrap();
        let p = PostDominators::new(&g);
        let c = ControlDependence::new(&g, &p);
        let n = Node::new;
        assert_eq!(c.controllers(n(0)).collect::<Vec<_>>(), [(n(0), n(0))]);
        assert_eq!(c.controlled_by((n(0), n(0))).collect::<Vec<_>>(), [n(0)]);
    }
}
