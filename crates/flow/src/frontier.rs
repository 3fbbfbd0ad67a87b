//! Thread frontiers: where else lanes may be waiting while a block runs.
//!
//! Source: Diamos et al., "SIMD re-convergence at thread frontiers" (MICRO 2011). Blocks have a
//! total order of priority and a group always runs its highest-priority path, so lanes that part
//! from others can only wait in blocks of lower priority than the one that runs. The *frontier* of
//! a block is the set of those blocks. The paper walks the blocks once from the highest priority
//! down, keeping the set of blocks that some block already walked leads to
//! ([`FrontierRule::Forward`]). That leaves out lanes which wait while others go *back* along a
//! loop: [`FrontierRule::Closed`] adds them.
//!
//! In both, the blocks in whose frontier a given block stands have consecutive positions, so
//! frontiers are kept as one interval for each block instead of as sets, which together may be
//! quadratic in size. What always holds:
//!
//! - members of a block's frontier have lower priority than the block;
//! - a block that lies on no diverging path is in no frontier it does not need to be in beyond the
//!   interval rule of the paper;
//! - under [`FrontierRule::Closed`], whenever paths run in priority order, every waiting lane is in
//!   the frontier of the running block.

use crate::graph::{Adjacency, Cfg, NONE, Node};
use crate::order::BlockOrder;

/// Which frontiers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum FrontierRule {
    /// The paper's single walk: edges to a higher priority add nothing.
    Forward,
    /// Also lanes that wait while others go back to a block of higher priority.
    #[default]
    Closed,
}

/// The thread frontiers of a graph under an order of its blocks.
#[derive(Clone, Debug)]
pub struct Frontiers {
    order: BlockOrder,
    /// For each position, the first position in whose frontier its block is; the last is the one
    /// before its own.
    since: Vec<u32>,
    /// Segment tree of minima over `since`; leaves start at `leaves`.
    minima: Vec<u32>,
    leaves: usize,
}

impl Frontiers {
    /// Computes them for the reachable blocks.
    #[must_use]
    pub fn new(cfg: &Cfg, order: BlockOrder, rule: FrontierRule) -> Self {
        let by_position = edges_by_position(cfg, &order);
        let since = match rule {
            FrontierRule::Forward => forward(&by_position),
            FrontierRule::Closed => closed(&by_position),
        };
        let leaves = since.len().next_power_of_two();
        let mut minima = vec![NONE; 2 * leaves];
        minima[leaves..leaves + since.len()].copy_from_slice(&since);
        for i in (1..leaves).rev() {
            minima[i] = minima[2 * i].min(minima[2 * i + 1]);
        }
        Self { order, since, minima, leaves }
    }

    /// The order they were computed for.
    #[must_use]
    pub fn order(&self) -> &BlockOrder {
        &self.order
    }

    /// Whether lanes may wait at `waiting` while `running` runs.
    ///
    /// # Panics
    /// If one of them is not of the graph (as for every method here).
    #[must_use]
    pub fn contains(&self, running: Node, waiting: Node) -> bool {
        let (r, w) = (self.order.position(running), self.order.position(waiting));
        r < w && self.since[w] as usize <= r
    }

    /// The frontier of a block, highest priority first. Each element takes O(log n).
    pub fn of(&self, running: Node) -> impl Iterator<Item = Node> + '_ {
        let at = self.order.position(running);
        let mut from = at + 1;
        std::iter::from_fn(move || {
            let w = self.next(at, from)?;
            from = w + 1;
            Some(self.order.blocks()[w])
        })
    }

    /// The member with the highest priority, in O(log n).
    #[must_use]
    pub fn first(&self, running: Node) -> Option<Node> {
        self.of(running).next()
    }

    /// How large each block's frontier is, by block index, in O(n) for all.
    #[must_use]
    pub fn sizes(&self) -> Vec<u32> {
        let n = self.since.len();
        let mut change = vec![0i64; n + 1];
        for (w, &s) in self.since.iter().enumerate() {
            if (s as usize) < w {
                change[s as usize] += 1;
                change[w] -= 1;
            }
        }
        let mut sizes = vec![0; n];
        let mut sum = 0;
        for (position, node) in self.order.blocks().iter().enumerate() {
            sum += change[position];
            sizes[node.index()] = u32::try_from(sum).unwrap_or(u32::MAX);
        }
        sizes
    }

    /// Edges at whose end lanes may already be waiting: where code must check for a join. By
    /// source.
    pub fn join_edges<'a>(&'a self, cfg: &'a Cfg) -> impl Iterator<Item = (Node, Node)> + 'a {
        cfg.edges().filter(|&(from, to)| cfg.is_reachable(from) && self.contains(from, to))
    }

    /// The first position from `from` on whose block is in the frontier of the block at `at`.
    fn next(&self, at: usize, from: usize) -> Option<usize> {
        let limit = Node::at(at).get();
        if from >= self.since.len() {
            return None;
        }
        // Go up to the first subtree on the right that has a small enough minimum, then down to its
        // first leaf.
        let mut i = self.leaves + from;
        while self.minima[i] > limit {
            while i & 1 == 1 {
                i >>= 1;
            }
            if i == 0 {
                return None;
            }
            i += 1;
        }
        while i < self.leaves {
            i *= 2;
            if self.minima[i] > limit {
                i += 1;
            }
        }
        Some(i - self.leaves)
    }
}

/// Successor positions of each position; unreachable sources have none.
fn edges_by_position(cfg: &Cfg, order: &BlockOrder) -> Adjacency {
    let at = |n: Node| Node::at(order.position(n));
    let edges = cfg.edges().filter(|&(from, _)| cfg.is_reachable(from));
    Adjacency::from_edges(cfg.len(), edges.map(|(from, to)| (at(from), at(to))))
}

/// Since when each block is pending: right after the first block before it that leads to it.
fn forward(edges: &Adjacency) -> Vec<u32> {
    let mut since: Vec<u32> = (0..edges.len()).map(|i| Node::at(i).get()).collect();
    for (from, to) in edges.edges() {
        if from < to {
            since[to.index()] = since[to.index()].min(from.get() + 1);
        }
    }
    since
}

/// As [`forward`], with two more rules for an edge from `u` back to `h`, `h <= u`: a block that is
/// pending at the end of `u` is also pending from `h` on; and so is any other block of a higher
/// priority than `u` that `u` leads to, if it comes after `h`.
///
/// Positions are taken in increasing order. The spans `h..=u` of the edges back met so far are kept
/// merged where they overlap; a block whose pending interval would start inside a merged span
/// starts at that span's first position.
fn closed(edges: &Adjacency) -> Vec<u32> {
    let mut since = forward(edges);
    // The first position at whose end the block is pending.
    let mut after: Vec<u32> = vec![NONE; since.len()];
    for i in 0..since.len() {
        let from = Node::at(i);
        let Some(first) = edges.of(from).iter().min() else { continue };
        for to in edges.of(from) {
            let t = to.index();
            if from < *to {
                after[t] = after[t].min(from.get());
            } else if first < to {
                after[t] = after[t].min(first.get());
                since[t] = since[t].min(first.get());
            }
        }
    }
    let mut spans = Spans::new(since.len());
    for at in 0..since.len() {
        if let Some(first) = spans.start(after[at]) {
            since[at] = since[at].min(first);
        }
        if let Some(&h) = edges.of(Node::at(at)).iter().min()
            && h.index() <= at
        {
            spans.add(h.get(), Node::at(at).get());
        }
    }
    since
}

/// Merged intervals of positions.
struct Spans {
    /// Union-find towards the left end.
    left: Vec<u32>,
    covered: Vec<bool>,
}

impl Spans {
    fn new(n: usize) -> Self {
        Self { left: (0..n).map(|i| Node::at(i).get()).collect(), covered: vec![false; n] }
    }

    fn find(&mut self, mut i: u32) -> u32 {
        while self.left[i as usize] != i {
            let up = self.left[self.left[i as usize] as usize];
            self.left[i as usize] = up;
            i = up;
        }
        i
    }

    /// The left end of the span over `at`, if there is one.
    fn start(&mut self, at: u32) -> Option<u32> {
        if at == NONE {
            return None;
        }
        let first = self.find(at);
        (first < at || self.covered[at as usize]).then_some(first)
    }

    /// Adds `h..=u`. Each merge takes one set away, so all calls together are almost linear.
    fn add(&mut self, h: u32, u: u32) {
        let mut first = self.find(u);
        while first > h {
            let next = self.find(first - 1);
            self.left[first as usize] = next;
            first = next;
        }
        self.covered[first as usize] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(f: &Frontiers, n: u32) -> Vec<u32> {
        f.of(Node::new(n)).map(Node::get).collect()
    }

    /// `for { if a { continue-ish } else { b } }` with blocks 1 = header, 2 = branch, 3 = back to
    /// header, 4 = other side.
    fn looped() -> Cfg {
        Cfg::new(0, &[vec![1], vec![2, 5], vec![3, 4], vec![1], vec![1], vec![]]).unwrap()
    }

    #[test]
    fn the_paper_walks_once() {
        let g = looped();
        let f = Frontiers::new(&g, BlockOrder::layout(&g), FrontierRule::Forward);
        assert_eq!(names(&f, 1), []);
        assert_eq!(names(&f, 2), [5]);
        assert_eq!(names(&f, 3), [4, 5]);
        assert_eq!(names(&f, 4), [5]);
        assert_eq!(f.sizes(), [0, 0, 1, 2, 1, 0]);
    }

    #[test]
    fn going_back_carries_the_waiting_along() {
        let g = looped();
        let f = Frontiers::new(&g, BlockOrder::layout(&g), FrontierRule::Closed);
        // Lanes wait at 4 and 5 while those that went through 3 are at 1 again.
        assert_eq!(names(&f, 1), [4, 5]);
        assert_eq!(names(&f, 2), [4, 5]);
        assert_eq!(names(&f, 0), []);
        assert_eq!(f.first(Node::new(2)), Some(Node::new(4)));
        // Every edge to the exit goes where lanes may wait.
        assert_eq!(f.join_edges(&g).count(), 2);
    }

    #[test]
    fn straight_code_has_none() {
        let g = Cfg::new(0, &[vec![1], vec![2], vec![]]).unwrap();
        let f = Frontiers::new(&g, BlockOrder::layout(&g), FrontierRule::Closed);
        assert!(g.nodes().all(|n| f.of(n).next().is_none()));
    }
}
