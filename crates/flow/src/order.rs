//! Block priorities: a total order of the blocks, highest first.
//!
//! Thread frontiers and every mechanism that runs "the first path in layout" take such an order as
//! an input; it is also the layout in which code for them should be written. An order that keeps
//! loops together and puts what follows a loop behind it lets lanes that left early be caught up by
//! the rest.

use crate::graph::{Adjacency, Cfg, DepthFirst, NONE, Node};
use crate::loops::{LoopId, Loops};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Why an order was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Some block is missing or named twice.
    #[error("a block order names every block once: {given} entries for {blocks} blocks")]
    Length {
        /// Entries given.
        given: usize,
        /// Blocks of the graph.
        blocks: usize,
    },
    /// Not a block.
    #[error("entry {position} of the block order is block {block}, which does not exist")]
    Unknown {
        /// Which entry.
        position: usize,
        /// What it says.
        block: u32,
    },
    /// Named twice.
    #[error("entry {position} of the block order names block {block} a second time")]
    Twice {
        /// Which entry.
        position: usize,
        /// What it says.
        block: u32,
    },
}

/// A permutation of the blocks of a graph; position 0 has the highest priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOrder {
    order: Vec<Node>,
    position: Vec<u32>,
}

impl BlockOrder {
    /// Blocks by index: the layout of the program, if blocks were numbered in it.
    #[must_use]
    pub fn layout(cfg: &Cfg) -> Self {
        Self::from_permutation(cfg.nodes().collect())
    }

    /// The order given.
    ///
    /// # Errors
    /// [`OrderError`] if it is not a permutation of the graph's blocks.
    pub fn new(cfg: &Cfg, order: &[u32]) -> Result<Self, OrderError> {
        let blocks = cfg.len();
        if order.len() != blocks {
            return Err(OrderError::Length { given: order.len(), blocks });
        }
        let mut seen = vec![false; blocks];
        for (position, &block) in order.iter().enumerate() {
            match seen.get_mut(block as usize) {
                None => return Err(OrderError::Unknown { position, block }),
                Some(true) => return Err(OrderError::Twice { position, block }),
                Some(s) => *s = true,
            }
        }
        Ok(Self::from_permutation(order.iter().map(|&i| Node::new(i)).collect()))
    }

    /// A topological order of the loop nest: every edge but those to a header goes to a lower
    /// priority (in an irreducible loop, the header is the one [`Loops`] chose), the blocks of a
    /// loop stand together, and among blocks that are free to go anywhere a block's first successor
    /// follows it. Unreachable blocks come last.
    #[must_use]
    pub fn structured(cfg: &Cfg, loops: &Loops) -> Self {
        Self::from_permutation(structured(cfg, loops))
    }

    /// The priorities that a compiler assigns for thread frontiers (Diamos et al., "SIMD
    /// re-convergence at thread frontiers", MICRO 2011; the authors' implementation in GPU Ocelot).
    ///
    /// A topological order of the loop nest as [`BlockOrder::structured`] is one. Of the blocks and
    /// loops of a level that may come next, those in which no lane waits for others come first, so
    /// that all lanes that can get there do before the first of them waits; of these the one with
    /// the longest way to the level's end, where a way back to the loop's header is longer than any
    /// other; of equal ones the one whose block, or loop header, has the lowest index.
    #[must_use]
    pub fn scheduled(cfg: &Cfg, loops: &Loops, waits: impl Fn(Node) -> bool) -> Self {
        let blocks = cfg.len();
        let mut late: Vec<bool> = cfg.nodes().map(&waits).collect();
        late.resize(blocks + loops.len(), false);
        // The outermost level to which an edge from the item leads, as a number of loops.
        let mut leads: Vec<u32> = vec![u32::MAX; blocks + loops.len()];
        for (from, to) in cfg.edges().filter(|&(from, _)| cfg.is_reachable(from)) {
            let depth = loops.common(from, to).map_or(0, |l| loops.depth(l));
            leads[from.index()] = leads[from.index()].min(depth);
        }
        let up = |item: usize, around: Option<LoopId>, late: &mut [bool], leads: &mut [u32]| {
            if let Some(l) = around {
                let outer = blocks + l.index();
                late[outer] |= late[item];
                leads[outer] = leads[outer].min(leads[item]);
            }
        };
        for node in cfg.nodes() {
            up(node.index(), loops.innermost(node), &mut late, &mut leads);
        }
        for id in loops.ids().rev() {
            up(blocks + id.index(), loops.parent(id), &mut late, &mut leads);
        }
        let header = |id: LoopId| (loops.header(id), loops.depth(id) - 1);
        let of_blocks = cfg.nodes().map(|n| (n, loops.depth_of(n)));
        let keys = of_blocks.chain(loops.ids().map(header)).enumerate();
        let keys = keys.map(|(item, (index, depth))| {
            let (late, leaves) = (late[item], leads[item] < depth);
            ItemKey { late, leaves: leaves || depth == 0, index }
        });
        Self::from_permutation(ordered(cfg, loops, Some(&keys.collect::<Vec<_>>())))
    }

    fn from_permutation(order: Vec<Node>) -> Self {
        let mut position = vec![NONE; order.len()];
        for (i, n) in order.iter().enumerate() {
            position[n.index()] = Node::at(i).get();
        }
        Self { order, position }
    }

    /// The blocks, highest priority first.
    #[must_use]
    pub fn blocks(&self) -> &[Node] {
        &self.order
    }

    /// Where the block stands; 0 is the highest priority.
    ///
    /// # Panics
    /// If `node` is not of the graph the order was made for.
    #[must_use]
    pub fn position(&self, node: Node) -> usize {
        self.position[node.index()] as usize
    }
}

/// Items of one nesting level are blocks directly in it and whole loops. The item graphs of all
/// levels are disjoint and acyclic, so one walk orders them all; loops are then spelled out in
/// place.
fn structured(cfg: &Cfg, loops: &Loops) -> Vec<Node> {
    ordered(cfg, loops, None)
}

/// What decides when an item of a level comes, beside the graph.
#[derive(Clone, Copy, Debug)]
struct ItemKey {
    /// Whether lanes wait for others in it.
    late: bool,
    /// Whether it has an edge out of the level, or the level is the function.
    leaves: bool,
    index: Node,
}

/// The same, scheduled by keys of items if these are given.
fn ordered(cfg: &Cfg, loops: &Loops, keys: Option<&[ItemKey]>) -> Vec<Node> {
    let blocks = cfg.len();
    let items = blocks + loops.len();
    // The item that stands for `node` at `depth` loops.
    let item = |node: Node, depth: u32| match loops.innermost(node) {
        Some(l) if loops.depth(l) > depth => {
            Node::at(blocks + loops.at_depth(l, depth + 1).index())
        }
        _ => node,
    };
    let mut edges = Vec::new();
    for &from in cfg.reverse_postorder() {
        for &to in cfg.successors(from) {
            let level = loops.common(from, to);
            if level.is_some_and(|l| loops.header(l) == to) {
                continue;
            }
            let depth = level.map_or(0, |l| loops.depth(l));
            let (a, b) = (item(from, depth), item(to, depth));
            if a != b {
                edges.push((a, b));
            }
        }
    }
    let graph = Adjacency::from_edges(items, edges.iter().copied());
    let heads = loops.ids().map(|l| loops.header(l));
    let roots: Vec<Node> = std::iter::once(item(cfg.entry(), 0)).chain(heads).collect();
    spell_out(cfg, loops, (&graph, &roots), keys)
}

fn spell_out(
    cfg: &Cfg,
    loops: &Loops,
    (graph, roots): (&Adjacency, &[Node]),
    keys: Option<&[ItemKey]>,
) -> Vec<Node> {
    let blocks = cfg.len();
    // One walk for each level; remember where in the common postorder each one ends.
    let mut postorder = DepthFirst::new(graph, roots.iter().copied()).postorder;
    if let Some(keys) = keys {
        schedule(graph, &mut postorder, keys);
    }
    let mut rank = vec![NONE; graph.len()];
    for (i, n) in postorder.iter().enumerate() {
        rank[n.index()] = Node::at(i).get();
    }
    // A root finishes last of its level, before which nothing can be put, and levels follow one
    // another in the postorder.
    let level_end: Vec<usize> = roots.iter().map(|r| rank[r.index()] as usize + 1).collect();
    let mut order = Vec::with_capacity(blocks);
    // (next position, first position) of the levels being spelled out, in decreasing postorder.
    let start_of = |level: usize| if level == 0 { 0 } else { level_end[level - 1] };
    let mut stack = vec![(level_end[0], 0)];
    while let Some((at, first)) = stack.last_mut() {
        if at == first {
            stack.pop();
            continue;
        }
        *at -= 1;
        let item = postorder[*at];
        if item.index() < blocks {
            order.push(item);
        } else {
            let level = item.index() - blocks + 1;
            stack.push((level_end[level], start_of(level)));
        }
    }
    debug_assert_eq!(loops.len() + 1, roots.len());
    order.extend(cfg.nodes().filter(|&n| !cfg.is_reachable(n)));
    order
}

/// Puts a postorder of a graph without cycles into another one: of the items that may come next in
/// its reverse, the late ones come last, those with long ways to the end first.
///
/// Levels stay apart, for each has one item that nothing comes before: its root.
fn schedule(graph: &Adjacency, postorder: &mut [Node], keys: &[ItemKey]) {
    let mut height = vec![0usize; graph.len()];
    let mut before = vec![0u32; graph.len()];
    for &from in postorder.iter() {
        if graph.of(from).is_empty() && !keys[from.index()].leaves {
            // It only goes back.
            height[from.index()] = graph.len();
        }
        for to in graph.of(from) {
            height[from.index()] = height[from.index()].max(height[to.index()] + 1);
            before[to.index()] += 1;
        }
    }
    let rank = |item: Node| {
        let ItemKey { late, index, .. } = keys[item.index()];
        Reverse((late, Reverse(height[item.index()]), index, item))
    };
    let roots = postorder.iter().rev().copied().filter(|n| before[n.index()] == 0);
    let roots: Vec<Node> = roots.collect();
    let mut out: Vec<Node> = Vec::with_capacity(postorder.len());
    for root in roots {
        let mut ready = BinaryHeap::from([rank(root)]);
        while let Some(Reverse((.., item))) = ready.pop() {
            out.push(item);
            for &to in graph.of(item) {
                before[to.index()] -= 1;
                if before[to.index()] == 0 {
                    ready.push(rank(to));
                }
            }
        }
    }
    debug_assert_eq!(out.len(), postorder.len());
    out.reverse();
    postorder.copy_from_slice(&out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(successors: &[Vec<u32>]) -> Vec<u32> {
        let g = Cfg::new(0, successors).unwrap();
        let order = BlockOrder::structured(&g, &Loops::new(&g));
        order.blocks().iter().map(|n| n.get()).collect()
    }

    #[test]
    fn exits_follow_the_loop() {
        // while loop whose exit is named first; 3 is the exit, 4 unreachable.
        assert_eq!(order(&[vec![1], vec![3, 2], vec![1], vec![], vec![3]]), [0, 1, 2, 3, 4]);
        // A break in the middle does not come before the latch.
        let g = [vec![1], vec![2, 3], vec![5, 4], vec![4], vec![1, 6], vec![6], vec![]];
        assert_eq!(order(&g), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn first_successor_first() {
        assert_eq!(order(&[vec![2, 1], vec![3], vec![3], vec![]]), [0, 2, 1, 3]);
    }

    #[test]
    fn blocks_in_which_lanes_wait_come_last() {
        // A branch with a barrier on its first side, behind which that side goes on.
        let g = [vec![1, 2], vec![3], vec![4], vec![4], vec![]];
        let scheduled = |g: &[Vec<u32>], waiting: &[u32]| {
            let g = Cfg::new(0, g).unwrap();
            let waits = |n: Node| waiting.contains(&n.get());
            let order = BlockOrder::scheduled(&g, &Loops::new(&g), waits);
            order.blocks().iter().map(|n| n.get()).collect::<Vec<_>>()
        };
        assert_eq!(scheduled(&g, &[]), [0, 1, 2, 3, 4]);
        assert_eq!(scheduled(&g, &[1]), [0, 2, 1, 3, 4]);
        // What leads to a barrier cannot come behind it; a loop with one is late as a whole.
        let g = [vec![1, 3], vec![2], vec![1, 4], vec![4], vec![]];
        assert_eq!(scheduled(&g, &[4]), [0, 1, 2, 3, 4]);
        assert_eq!(scheduled(&g, &[2]), [0, 3, 1, 2, 4]);
    }

    #[test]
    fn what_goes_back_comes_before_what_leaves() {
        // Two loops with one header: 1 goes back at once, 2 and 3 lead out or back.
        let g = [vec![1, 2], vec![0], vec![3], vec![0, 4], vec![]];
        let g = Cfg::new(0, &g).unwrap();
        let order = BlockOrder::scheduled(&g, &Loops::new(&g), |_| false);
        assert_eq!(order.blocks().iter().map(|n| n.get()).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn refuses_what_is_no_permutation() {
        let g = Cfg::new(0, &[vec![1], vec![]]).unwrap();
        assert_eq!(BlockOrder::new(&g, &[0]), Err(OrderError::Length { given: 1, blocks: 2 }));
        assert_eq!(
            BlockOrder::new(&g, &[0, 2]),
            Err(OrderError::Unknown { position: 1, block: 2 })
        );
        assert_eq!(BlockOrder::new(&g, &[1, 1]), Err(OrderError::Twice { position: 1, block: 1 }));
        assert_eq!(BlockOrder::new(&g, &[1, 0]).unwrap().position(Node::new(0)), 1);
    }
}
