//! Dominators and post-dominators.
//!
//! Implements the algorithm of Lengauer and Tarjan ("A fast algorithm for finding dominators in a
//! flowgraph", 1979) with path compression, O(m log n) on every graph. The iterative algorithm of
//! Cooper, Harvey and Kennedy is shorter and usually faster, but it walks the tree under
//! construction once for each edge into a join, which is quadratic for a shape that compilers do
//! produce: a long chain of checks that all leave to one handler. A kernel may have a million
//! branches here, so the bound matters more than the constant.
//!
//! What always holds:
//!
//! - unreachable blocks have no dominators and dominate nothing;
//! - post-dominators are dominators of the reversed graph from one *virtual exit* that every exit
//!   leads to;
//! - a block from which no exit can be reached (all its paths run round an endless loop) has **no**
//!   post-dominator, not even the virtual exit ([`PostDominator::None`]). Lanes that go there are
//!   not waited for by the other side of a branch: the branch's own post-dominator is computed from
//!   the paths that do end.

use crate::forest::Forest;
use crate::graph::{Adjacency, Cfg, DepthFirst, NONE, Node};

/// The dominator tree of a graph.
#[derive(Clone, Debug)]
pub struct Dominators {
    tree: Forest,
}

impl Dominators {
    /// Computes it.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let (succ, pred) = cfg.forward();
        Self { tree: dominator_tree(succ, pred, cfg.entry()) }
    }

    /// The immediate dominator: the closest block other than this one that is on every path to it.
    /// The entry and unreachable blocks have none.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn immediate(&self, node: Node) -> Option<Node> {
        self.tree.parent(node)
    }

    /// Whether every path from the entry to `b` goes through `a` (a block dominates itself). False
    /// if either is unreachable.
    ///
    /// # Panics
    /// If one of them is not of this graph.
    #[must_use]
    pub fn dominates(&self, a: Node, b: Node) -> bool {
        self.tree.is_ancestor(a, b)
    }

    /// The closest block that dominates both, if both are reachable.
    ///
    /// # Panics
    /// If one of them is not of this graph.
    #[must_use]
    pub fn common(&self, a: Node, b: Node) -> Option<Node> {
        self.tree.common(a, b)
    }

    /// Distance from the entry in the tree, if the block is reachable.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn depth(&self, node: Node) -> Option<u32> {
        self.tree.depth(node)
    }

    /// The reachable blocks, each after its dominators.
    #[must_use]
    pub fn preorder(&self) -> &[Node] {
        self.tree.preorder()
    }
}

/// What comes after a block on all its ways out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PostDominator {
    /// This block, on every path to an exit.
    Block(Node),
    /// Only the end of the function: paths part and do not meet in a block again.
    Exit,
    /// Nothing: no path from the block leaves the function.
    None,
}

impl PostDominator {
    /// The block, if it is one.
    #[must_use]
    pub fn block(self) -> Option<Node> {
        match self {
            Self::Block(n) => Some(n),
            Self::Exit | Self::None => None,
        }
    }
}

/// The post-dominator tree of a graph, rooted in the virtual exit.
#[derive(Clone, Debug)]
pub struct PostDominators {
    tree: Forest,
    exit: Node,
}

impl PostDominators {
    /// Computes it. Unreachable blocks take part: they have post-dominators, and count as
    /// predecessors.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let (succ, pred) = cfg.backward_from_virtual_exit();
        let exit = Node::at(cfg.len());
        Self { tree: dominator_tree(&succ, &pred, exit), exit }
    }

    /// The immediate post-dominator: the closest block other than this one that is on every path
    /// from it to an exit.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn immediate(&self, node: Node) -> PostDominator {
        match self.tree.parent(node) {
            Some(p) if p == self.exit => PostDominator::Exit,
            Some(p) => PostDominator::Block(p),
            None => PostDominator::None,
        }
    }

    /// Whether every path from `b` to an exit goes through `a` (a block post-dominates itself).
    /// False if no exit can be reached from either.
    ///
    /// # Panics
    /// If one of them is not of this graph.
    #[must_use]
    pub fn post_dominates(&self, a: Node, b: Node) -> bool {
        self.tree.is_ancestor(a, b)
    }

    /// Whether some path leads from the block to an exit.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn reaches_exit(&self, node: Node) -> bool {
        self.tree.contains(node)
    }

    /// Where paths from both first have to meet again.
    ///
    /// # Panics
    /// If one of them is not of this graph.
    #[must_use]
    pub fn common(&self, a: Node, b: Node) -> PostDominator {
        match self.tree.common(a, b) {
            Some(n) if n == self.exit => PostDominator::Exit,
            Some(n) => PostDominator::Block(n),
            None => PostDominator::None,
        }
    }

    /// The blocks that `node` post-dominates, itself first.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn subtree(&self, node: Node) -> &[Node] {
        &self.tree.preorder()[self.tree.range(node)]
    }
}

/// The dominator tree of everything reachable from `root`.
fn dominator_tree(succ: &Adjacency, pred: &Adjacency, root: Node) -> Forest {
    let walk = DepthFirst::new(succ, [root]);
    let idom = LengauerTarjan::new(&walk, pred).run();
    let mut parent = vec![NONE; succ.len()];
    for (number, &dom) in idom.iter().enumerate().skip(1) {
        parent[walk.preorder[number].index()] = walk.preorder[dom as usize].get();
    }
    Forest::new(parent, &[root])
}

/// State of the algorithm; every node is named by its preorder number.
struct LengauerTarjan<'a> {
    walk: &'a DepthFirst,
    pred: &'a Adjacency,
    parent: Vec<u32>,
    semi: Vec<u32>,
    idom: Vec<u32>,
    ancestor: Vec<u32>,
    label: Vec<u32>,
    /// Linked lists of the nodes that have a given semidominator.
    bucket: Vec<u32>,
    next: Vec<u32>,
    path: Vec<u32>,
}

impl<'a> LengauerTarjan<'a> {
    fn new(walk: &'a DepthFirst, pred: &'a Adjacency) -> Self {
        let n = walk.preorder.len();
        let numbers: Vec<u32> = (0..n).map(|i| Node::at(i).get()).collect();
        let number_of = |p: u32| if p == NONE { NONE } else { walk.number[p as usize] };
        Self {
            walk,
            pred,
            parent: walk.preorder.iter().map(|v| number_of(walk.parent[v.index()])).collect(),
            semi: numbers.clone(),
            idom: vec![0; n],
            ancestor: vec![NONE; n],
            label: numbers,
            bucket: vec![NONE; n],
            next: vec![NONE; n],
            path: Vec::new(),
        }
    }

    /// Immediate dominators by preorder number.
    fn run(mut self) -> Vec<u32> {
        let n = self.walk.preorder.len();
        for w in (1..n).rev() {
            let (pred, walk) = (self.pred, self.walk);
            for v in pred.of(walk.preorder[w]) {
                let v = walk.number[v.index()];
                if v != NONE {
                    let u = self.eval(v);
                    self.semi[w] = self.semi[w].min(self.semi[u as usize]);
                }
            }
            let s = self.semi[w] as usize;
            self.next[w] = self.bucket[s];
            self.bucket[s] = Node::at(w).get();
            let p = self.parent[w];
            self.ancestor[w] = p;
            let mut v = std::mem::replace(&mut self.bucket[p as usize], NONE);
            while v != NONE {
                let u = self.eval(v);
                let below = self.semi[u as usize] < self.semi[v as usize];
                self.idom[v as usize] = if below { u } else { p };
                v = self.next[v as usize];
            }
        }
        for w in 1..n {
            if self.idom[w] != self.semi[w] {
                self.idom[w] = self.idom[self.idom[w] as usize];
            }
        }
        self.idom
    }

    /// The node with the least semidominator on the linked path above `v`, compressing the path.
    fn eval(&mut self, v: u32) -> u32 {
        let mut at = v as usize;
        if self.ancestor[at] == NONE {
            return v;
        }
        self.path.clear();
        while self.ancestor[self.ancestor[at] as usize] != NONE {
            self.path.push(Node::at(at).get());
            at = self.ancestor[at] as usize;
        }
        while let Some(w) = self.path.pop() {
            let w = w as usize;
            let a = self.ancestor[w] as usize;
            let (mine, above) = (self.label[w], self.label[a]);
            if self.semi[above as usize] < self.semi[mine as usize] {
                self.label[w] = above;
            }
            self.ancestor[w] = self.ancestor[a];
        }
        self.label[v as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(i: u32) -> Node {
        Node::new(i)
    }

    #[test]
    fn diamond_with_a_loop_behind() {
        let g = Cfg::new(0, &[vec![1, 2], vec![3], vec![3], vec![4, 5], vec![3], vec![]]).unwrap();
        let d = Dominators::new(&g);
        let p = PostDominators::new(&g);
        assert_eq!(d.immediate(n(3)), Some(n(0)));
        assert_eq!(d.immediate(n(0)), None);
        assert_eq!(p.immediate(n(0)), PostDominator::Block(n(3)));
        assert_eq!(p.immediate(n(4)), PostDominator::Block(n(3)));
        assert_eq!(p.immediate(n(5)), PostDominator::Exit);
        assert_eq!(d.common(n(1), n(4)), Some(n(0)));
        assert_eq!(p.common(n(1), n(4)), PostDominator::Block(n(3)));
        assert_eq!(d.depth(n(4)), Some(2));
    }

    #[test]
    fn an_endless_loop_has_no_post_dominator() {
        // 0 branches to 1 (spins for ever with 2) or 3 (exit).
        let g = Cfg::new(0, &[vec![1, 3], vec![2], vec![1], vec![]]).unwrap();
        let p = PostDominators::new(&g);
        assert_eq!(p.immediate(n(1)), PostDominator::None);
        assert_eq!(p.immediate(n(2)), PostDominator::None);
        assert!(!p.reaches_exit(n(1)));
        assert_eq!(p.immediate(n(0)), PostDominator::Block(n(3)));
        assert!(!p.post_dominates(n(1), n(1)) && !p.post_dominates(n(3), n(1)));
    }

    #[test]
    fn a_graph_that_never_ends() {
        let g = Cfg::new(0, &[vec![0]]).unwrap();
        assert_eq!(PostDominators::new(&g).immediate(n(0)), PostDominator::None);
        assert_eq!(PostDominators::new(&g).common(n(0), n(0)), PostDominator::None);
    }

    #[test]
    fn two_exits_meet_only_at_the_end() {
        let g = Cfg::new(0, &[vec![1, 2], vec![], vec![]]).unwrap();
        assert_eq!(PostDominators::new(&g).immediate(n(0)), PostDominator::Exit);
    }

    #[test]
    fn a_conditional_exit_hides_what_follows() {
        // 0 may leave the function itself, so 1 is not on every path.
        let mut b = crate::graph::CfgBuilder::new();
        b.exiting_block([1]).unwrap();
        b.block([]).unwrap();
        let p = PostDominators::new(&b.build(0).unwrap());
        assert_eq!(p.immediate(n(0)), PostDominator::Exit);
    }
}
