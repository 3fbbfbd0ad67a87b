//! Loops and their nesting, irreducible ones too.
//!
//! A *loop* is what Havlak ("Nesting of reducible and irreducible loops", 1997) and LLVM's cycle
//! terminology call one: a strongly connected set of blocks that is maximal at its level. Its
//! *header* is the block of it that the depth-first walk reaches first; taking the header away, the
//! strongly connected sets that remain are the loops nested in it. The loops are found by
//! Ramalingam's variant ("Identifying loops in almost linear time", 1999): cross and forward edges
//! are kept aside at the common ancestor of their ends, so that deep nests and irreducible graphs
//! stay almost linear.
//!
//! What always holds:
//!
//! - loops are nested or disjoint; each block is the header of at most one;
//! - a loop is *reducible* if it can be entered only at its header, which then dominates its
//!   blocks, and is then the natural loop of its back edges; the graph is reducible if all its
//!   loops are;
//! - unreachable blocks are in no loop.

use crate::forest::Forest;
use crate::graph::{Cfg, DepthFirst, NONE, Node};

/// A loop of a [`Loops`]: its index. An outer loop has a smaller index than those nested in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(Node);

impl LoopId {
    /// The index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index()
    }
}

/// The loop nesting forest of a graph.
#[derive(Clone, Debug)]
pub struct Loops {
    header: Vec<Node>,
    irreducible: Vec<bool>,
    nest: Forest,
    /// Innermost loop of each block, or [`NONE`].
    innermost: Vec<u32>,
    /// Blocks in loops; those of one loop, nested ones included, stand together.
    bodies: Vec<Node>,
    /// Where in `bodies` each nest preorder position starts.
    start: Vec<u32>,
}

impl Loops {
    /// Finds all loops.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        Finder::new(cfg).run(cfg)
    }

    /// How many loops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.header.len()
    }

    /// Whether there is no loop.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.header.is_empty()
    }

    /// All loops, outer ones before those in them.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = LoopId> + DoubleEndedIterator + use<> {
        (0..self.header.len()).map(|i| LoopId(Node::at(i)))
    }

    /// The first block of the loop that the walk reaches; for a reducible loop, its only entry.
    ///
    /// # Panics
    /// If the loop is not of this forest (as for every method here).
    #[must_use]
    pub fn header(&self, id: LoopId) -> Node {
        self.header[id.index()]
    }

    /// The loop around this one.
    #[must_use]
    pub fn parent(&self, id: LoopId) -> Option<LoopId> {
        self.nest.parent(id.0).map(LoopId)
    }

    /// How many loops the loop is in, itself counted: 1 for an outermost one.
    #[must_use]
    pub fn depth(&self, id: LoopId) -> u32 {
        self.nest.depth(id.0).map_or(0, |d| d + 1)
    }

    /// The innermost loop that the block is in.
    #[must_use]
    pub fn innermost(&self, node: Node) -> Option<LoopId> {
        let l = self.innermost[node.index()];
        (l != NONE).then(|| LoopId(Node::new(l)))
    }

    /// How many loops the block is in.
    #[must_use]
    pub fn depth_of(&self, node: Node) -> u32 {
        self.innermost(node).map_or(0, |l| self.depth(l))
    }

    /// The innermost loop that both blocks are in.
    #[must_use]
    pub fn common(&self, a: Node, b: Node) -> Option<LoopId> {
        self.nest.common(self.innermost(a)?.0, self.innermost(b)?.0).map(LoopId)
    }

    /// The loop around `id` (or itself) that is at `depth`, counted from 1.
    pub(crate) fn at_depth(&self, id: LoopId, depth: u32) -> LoopId {
        LoopId(self.nest.ancestor_at(id.0, depth.saturating_sub(1)))
    }

    /// Whether `inner` is `outer` or nested in it.
    #[must_use]
    pub fn is_within(&self, inner: LoopId, outer: LoopId) -> bool {
        self.nest.is_ancestor(outer.0, inner.0)
    }

    /// Whether the block is in the loop.
    #[must_use]
    pub fn contains(&self, id: LoopId, node: Node) -> bool {
        self.innermost(node).is_some_and(|l| self.is_within(l, id))
    }

    /// The blocks of the loop, those of nested loops included; the header is among them.
    #[must_use]
    pub fn body(&self, id: LoopId) -> &[Node] {
        let range = self.nest.range(id.0);
        &self.bodies[self.start[range.start] as usize..self.start[range.end] as usize]
    }

    /// Whether the loop can be entered only at its header.
    #[must_use]
    pub fn is_reducible(&self, id: LoopId) -> bool {
        !self.irreducible[id.index()]
    }

    /// Whether every loop of the graph is reducible.
    #[must_use]
    pub fn graph_is_reducible(&self) -> bool {
        !self.irreducible.contains(&true)
    }

    /// Whether the edge stays in a loop and goes to its header.
    #[must_use]
    pub fn is_back_edge(&self, from: Node, to: Node) -> bool {
        self.innermost(to).is_some_and(|l| self.header(l) == to && self.contains(l, from))
    }

    /// Blocks with an edge to the header from inside, in increasing order.
    pub fn latches<'a>(&'a self, cfg: &'a Cfg, id: LoopId) -> impl Iterator<Item = Node> + 'a {
        let all = cfg.predecessors(self.header(id)).iter().copied();
        let mut last = None;
        all.filter(move |&p| self.contains(id, p) && last.replace(p) != Some(p))
    }

    /// Edges that leave the loop, by source in body order. Looks at the whole body.
    pub fn exits<'a>(
        &'a self,
        cfg: &'a Cfg,
        id: LoopId,
    ) -> impl Iterator<Item = (Node, Node)> + 'a {
        self.body(id).iter().flat_map(move |&from| {
            let out = cfg.successors(from).iter().filter(move |&&to| !self.contains(id, to));
            out.map(move |&to| (from, to))
        })
    }

    /// Blocks of the loop that can be reached from outside in one step, in body order; more than
    /// one if the loop is irreducible. Looks at the whole body.
    pub fn entries<'a>(&'a self, cfg: &'a Cfg, id: LoopId) -> impl Iterator<Item = Node> + 'a {
        self.body(id).iter().copied().filter(move |&to| {
            let mut from = cfg.predecessors(to).iter();
            to == cfg.entry() || from.any(|&p| cfg.is_reachable(p) && !self.contains(id, p))
        })
    }
}

/// Union-find whose representative is always the node that was linked to.
struct Sets(Vec<u32>);

impl Sets {
    fn new(n: usize) -> Self {
        Self((0..n).map(|i| Node::at(i).get()).collect())
    }

    fn find(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            let up = self.0[self.0[i as usize] as usize];
            self.0[i as usize] = up;
            i = up;
        }
        i
    }

    fn link(&mut self, i: u32, to: u32) {
        self.0[i as usize] = to;
    }
}

/// The search; nodes are named by preorder number.
struct Finder {
    preorder: Vec<Node>,
    parent: Vec<u32>,
    /// Sources of back edges (to an ancestor on the walk's stack, or to itself), by target.
    back: Vec<Vec<u32>>,
    /// Cross and forward edges, by the common ancestor of their ends.
    tied: Vec<Vec<(u32, u32)>>,
    /// Sources of those already released, by the loop (its header) or block that they enter.
    entering: Vec<Vec<u32>>,
    sets: Sets,
    is_header: Vec<bool>,
    irreducible: Vec<bool>,
    /// Header of the innermost loop around a block, its own loop not counted, or [`NONE`].
    around: Vec<u32>,
    /// Shortcut from a header over irreducible loops outward.
    skip: Vec<u32>,
}

impl Finder {
    fn new(cfg: &Cfg) -> Self {
        let (succ, _) = cfg.forward();
        let mut back = Vec::new();
        let mut tied = Vec::new();
        let finished = std::cell::RefCell::new(Sets::new(cfg.len()));
        let walk = DepthFirst::visit(
            succ,
            [cfg.entry()],
            |from, to, done| {
                if done {
                    let common = finished.borrow_mut().find(to.get());
                    tied.push((common, from, to));
                } else {
                    back.push((from, to));
                }
            },
            |node, parent| {
                if let Some(parent) = parent {
                    finished.borrow_mut().link(node.get(), parent.get());
                }
            },
        );
        let n = walk.preorder.len();
        let number = |v: Node| walk.number[v.index()];
        let mut this = Self {
            parent: walk
                .preorder
                .iter()
                .map(|v| match walk.parent[v.index()] {
                    NONE => NONE,
                    p => walk.number[p as usize],
                })
                .collect(),
            back: vec![Vec::new(); n],
            tied: vec![Vec::new(); n],
            entering: vec![Vec::new(); n],
            sets: Sets::new(n),
            is_header: vec![false; n],
            irreducible: vec![false; n],
            around: vec![NONE; n],
            skip: (0..n).map(|i| Node::at(i).get()).collect(),
            preorder: Vec::new(),
        };
        for (from, to) in back {
            this.back[number(to) as usize].push(number(from));
        }
        for (common, from, to) in tied {
            let common = walk.number[common as usize] as usize;
            this.tied[common].push((number(from), number(to)));
        }
        this.preorder = walk.preorder;
        this
    }

    fn run(mut self, cfg: &Cfg) -> Loops {
        for w in (0..self.preorder.len()).rev() {
            for (from, to) in std::mem::take(&mut self.tied[w]) {
                self.mark_irreducible(to);
                let inner = self.sets.find(to);
                self.entering[inner as usize].push(from);
            }
            self.collect(w);
        }
        self.finish(cfg)
    }

    /// An edge from outside enters every loop found so far around `to`: those of which `to` is not
    /// the header are entered beside their header.
    fn mark_irreducible(&mut self, to: u32) {
        let mut at = self.around[to as usize];
        while at != NONE {
            at = self.next_reducible(at);
            if self.irreducible[at as usize] {
                break;
            }
            self.irreducible[at as usize] = true;
            at = self.around[at as usize];
        }
    }

    /// The first loop not yet marked, going outward from `at`, or the outermost so far if all are
    /// marked.
    fn next_reducible(&mut self, mut at: u32) -> u32 {
        while self.irreducible[at as usize] {
            let out = match self.skip[at as usize] {
                own if own == at => self.around[at as usize],
                far => far,
            };
            if out == NONE {
                return at;
            }
            let further = if self.irreducible[out as usize] {
                match self.skip[out as usize] {
                    own if own == out => self.around[out as usize],
                    far => far,
                }
            } else {
                out
            };
            self.skip[at as usize] = if further == NONE { out } else { further };
            at = out;
        }
        at
    }

    /// Everything from which a back edge to `w` is reached, within `w`'s subtree, is the loop of
    /// `w`.
    fn collect(&mut self, w: usize) {
        let header = Node::at(w).get();
        let mut body: Vec<u32> = Vec::new();
        for from in std::mem::take(&mut self.back[w]) {
            self.is_header[w] = true;
            self.adopt(from, header, &mut body);
        }
        let mut next = 0;
        while let Some(&x) = body.get(next) {
            next += 1;
            self.adopt(self.parent[x as usize], header, &mut body);
            for from in std::mem::take(&mut self.entering[x as usize]) {
                self.adopt(from, header, &mut body);
            }
        }
    }

    /// Puts the outermost loop (or block) around `from` into the body of `header`, once.
    fn adopt(&mut self, from: u32, header: u32, body: &mut Vec<u32>) {
        let x = self.sets.find(from);
        if x != header {
            self.around[x as usize] = header;
            self.sets.link(x, header);
            body.push(x);
        }
    }

    fn finish(self, cfg: &Cfg) -> Loops {
        let mut id = vec![NONE; self.preorder.len()];
        let mut headers = Vec::new();
        for (w, _) in self.is_header.iter().enumerate().filter(|&(_, &h)| h) {
            id[w] = Node::at(headers.len()).get();
            headers.push(w);
        }
        let loop_around = |w: usize| match self.around[w] {
            NONE => NONE,
            h => id[h as usize],
        };
        let parent: Vec<u32> = headers.iter().map(|&w| loop_around(w)).collect();
        let roots: Vec<Node> =
            (0..parent.len()).filter(|&l| parent[l] == NONE).map(Node::at).collect();
        let nest = Forest::new(parent, &roots);
        let mut innermost = vec![NONE; cfg.len()];
        for (w, node) in self.preorder.iter().enumerate() {
            innermost[node.index()] = if id[w] == NONE { loop_around(w) } else { id[w] };
        }
        let (bodies, start) = bodies(cfg, &nest, &innermost, headers.len());
        Loops {
            header: headers.iter().map(|&w| self.preorder[w]).collect(),
            irreducible: headers.iter().map(|&w| self.irreducible[w]).collect(),
            nest,
            innermost,
            bodies,
            start,
        }
    }
}

/// Sorts blocks by the nest position of their innermost loop, in reverse postorder within one.
fn bodies(cfg: &Cfg, nest: &Forest, innermost: &[u32], loops: usize) -> (Vec<Node>, Vec<u32>) {
    let place = |n: Node| match innermost[n.index()] {
        NONE => None,
        l => Some(nest.range(Node::new(l)).start),
    };
    let mut start = vec![0u32; loops + 1];
    for &n in cfg.reverse_postorder() {
        if let Some(p) = place(n) {
            start[p + 1] += 1;
        }
    }
    for i in 0..loops {
        start[i + 1] += start[i];
    }
    let mut next = start.clone();
    let mut bodies = vec![cfg.entry(); start[loops] as usize];
    for &n in cfg.reverse_postorder() {
        if let Some(p) = place(n) {
            bodies[next[p] as usize] = n;
            next[p] += 1;
        }
    }
    (bodies, start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(i: u32) -> Node {
        Node::new(i)
    }

    #[test]
    fn nest_of_two_with_break() {
        // 0 -> 1 (outer header) -> 2 (inner header) -> 3 -> {2, 5 break} ; 2 -> 4 -> 1 ; 1 -> 5
        let g = Cfg::new(0, &[vec![1], vec![2, 5], vec![3, 4], vec![2, 5], vec![1], vec![]]);
        let g = g.unwrap();
        let l = Loops::new(&g);
        assert_eq!(l.len(), 2);
        let (outer, inner) = (l.innermost(n(1)).unwrap(), l.innermost(n(2)).unwrap());
        assert_eq!((l.header(outer), l.header(inner)), (n(1), n(2)));
        assert_eq!(l.parent(inner), Some(outer));
        assert_eq!((l.depth_of(n(0)), l.depth_of(n(4)), l.depth_of(n(3))), (0, 1, 2));
        assert_eq!(l.body(outer).len(), 4);
        assert_eq!(l.exits(&g, inner).collect::<Vec<_>>(), [(n(2), n(4)), (n(3), n(5))]);
        assert_eq!(l.latches(&g, outer).collect::<Vec<_>>(), [n(4)]);
        assert!(l.graph_is_reducible());
        assert!(l.is_back_edge(n(3), n(2)) && !l.is_back_edge(n(3), n(5)));
    }

    #[test]
    fn two_entries_are_irreducible() {
        let g = Cfg::new(0, &[vec![1, 2], vec![2, 3], vec![1], vec![]]).unwrap();
        let l = Loops::new(&g);
        let id = l.innermost(n(1)).unwrap();
        assert!(!l.is_reducible(id) && !l.graph_is_reducible());
        assert_eq!(l.entries(&g, id).count(), 2);
    }

    #[test]
    fn a_block_that_loops_to_itself() {
        let g = Cfg::new(0, &[vec![1], vec![1, 2], vec![]]).unwrap();
        let l = Loops::new(&g);
        let id = l.innermost(n(1)).unwrap();
        assert_eq!(l.body(id), [n(1)]);
        assert_eq!(l.latches(&g, id).collect::<Vec<_>>(), [n(1)]);
        assert!(l.is_reducible(id));
    }
}
