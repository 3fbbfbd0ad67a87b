//! Control-flow graphs as the analyses see them: numbered blocks and ordered successor lists.
//!
//! A [`Cfg`] knows nothing of instructions, so every analysis of this crate can be used by any
//! executor or instruction set. What always holds:
//!
//! - every successor is a block of the graph, and the entry is one;
//! - successor order is kept as given (what the first successor is, the maker of the graph says),
//!   and a target that is named twice is two edges;
//! - nothing here or in the analyses recurses: a graph may have millions of blocks.

use std::fmt;

/// A block of a [`Cfg`]: its index, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);

impl Node {
    /// The block with this index.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The index as it is stored.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The index, for slices.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// From a position in a vector whose length was checked when the graph was built.
    pub(crate) fn at(index: usize) -> Self {
        debug_assert!(index < NONE as usize);
        #[allow(clippy::cast_possible_truncation, reason = "graphs hold fewer than 2^31 blocks")]
        Self(index as u32)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// "No such node" in the dense arrays of the analyses.
pub(crate) const NONE: u32 = u32::MAX;

/// Blocks and edges a graph may have: indices and offsets are 32 bits, with room for virtual nodes.
pub const MAX_SIZE: usize = 1 << 31;

/// Why a graph was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// A graph needs at least the entry block.
    #[error("a control-flow graph needs at least one block")]
    Empty,
    /// The entry is not a block.
    #[error("entry block {entry} does not exist: the graph has {blocks} blocks, numbered from 0")]
    Entry {
        /// The index that was given.
        entry: u32,
        /// How many blocks there are.
        blocks: usize,
    },
    /// A successor is not a block.
    #[error(
        "successor {position} of block {block} is block {target}, which does not exist: \
         the graph has {blocks} blocks, numbered from 0"
    )]
    Target {
        /// The block whose list is wrong.
        block: u32,
        /// Which of its successors, counted from 0.
        position: usize,
        /// The index that was given.
        target: u32,
        /// How many blocks there are.
        blocks: usize,
    },
    /// More blocks or edges than [`MAX_SIZE`].
    #[error("the graph has more than {MAX_SIZE} blocks or edges; split the function")]
    TooLarge,
}

/// Neighbour lists of all nodes in one allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Adjacency {
    start: Vec<u32>,
    list: Vec<Node>,
}

impl Adjacency {
    /// No node yet.
    fn new() -> Self {
        Self { start: vec![0], list: Vec::new() }
    }

    /// Adds the next node with its neighbours.
    fn push(&mut self, neighbours: impl IntoIterator<Item = Node>) {
        self.list.extend(neighbours);
        self.start.push(Node::at(self.list.len()).get());
    }

    /// From edges in any order; each node's list keeps the order of the edges.
    pub(crate) fn from_edges(
        nodes: usize,
        edges: impl Iterator<Item = (Node, Node)> + Clone,
    ) -> Self {
        let mut start = vec![0u32; nodes + 1];
        for (from, _) in edges.clone() {
            start[from.index() + 1] += 1;
        }
        for i in 0..nodes {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut list = vec![Node(0); start[nodes] as usize];
        for (from, to) in edges {
            let slot = &mut next[from.index()];
            list[*slot as usize] = to;
            *slot += 1;
        }
        Self { start, list }
    }

    /// How many nodes.
    pub(crate) fn len(&self) -> usize {
        self.start.len() - 1
    }

    /// The neighbours of a node.
    pub(crate) fn of(&self, node: Node) -> &[Node] {
        let i = node.index();
        &self.list[self.start[i] as usize..self.start[i + 1] as usize]
    }

    /// All edges, by source, each source's in order.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Node, Node)> + Clone + '_ {
        (0..self.len()).flat_map(move |i| {
            let from = Node::at(i);
            self.of(from).iter().map(move |&to| (from, to))
        })
    }

    /// The same edges the other way round.
    pub(crate) fn reversed(&self) -> Self {
        Self::from_edges(self.len(), self.edges().map(|(from, to)| (to, from)))
    }
}

/// One depth-first walk, last successor first, so that in *reverse* postorder a block's first
/// successor comes as soon after it as the other edges allow. Nodes that are not reached have no
/// number.
#[derive(Clone, Debug)]
pub(crate) struct DepthFirst {
    /// Reached nodes in preorder.
    pub(crate) preorder: Vec<Node>,
    /// Reached nodes in postorder.
    pub(crate) postorder: Vec<Node>,
    /// Position in preorder, or [`NONE`].
    pub(crate) number: Vec<u32>,
    /// Parent in the tree, or [`NONE`].
    pub(crate) parent: Vec<u32>,
}

impl DepthFirst {
    /// Walks from `roots` in order.
    pub(crate) fn new(graph: &Adjacency, roots: impl IntoIterator<Item = Node>) -> Self {
        Self::visit(graph, roots, |_, _, _| {}, |_, _| {})
    }

    /// Walks from `roots`; `edge(from, to, to_is_finished)` is told of each edge that does not
    /// become a tree edge, `finish(node, parent)` of each node when the walk leaves it.
    pub(crate) fn visit(
        graph: &Adjacency,
        roots: impl IntoIterator<Item = Node>,
        mut edge: impl FnMut(Node, Node, bool),
        mut finish: impl FnMut(Node, Option<Node>),
    ) -> Self {
        let n = graph.len();
        let mut this = Self {
            preorder: Vec::new(),
            postorder: Vec::new(),
            number: vec![NONE; n],
            parent: vec![NONE; n],
        };
        let mut finished = vec![false; n];
        // (node, how many of its successors are still to be looked at)
        let mut stack: Vec<(Node, usize)> = Vec::new();
        for root in roots {
            if this.number[root.index()] != NONE {
                continue;
            }
            this.enter(root);
            stack.push((root, graph.of(root).len()));
            while let Some((node, left)) = stack.last_mut() {
                let node = *node;
                if *left > 0 {
                    *left -= 1;
                    let to = graph.of(node)[*left];
                    if this.number[to.index()] == NONE {
                        this.parent[to.index()] = node.get();
                        this.enter(to);
                        stack.push((to, graph.of(to).len()));
                    } else {
                        edge(node, to, finished[to.index()]);
                    }
                } else {
                    stack.pop();
                    finished[node.index()] = true;
                    this.postorder.push(node);
                    finish(node, stack.last().map(|&(parent, _)| parent));
                }
            }
        }
        this
    }

    fn enter(&mut self, node: Node) {
        self.number[node.index()] = Node::at(self.preorder.len()).get();
        self.preorder.push(node);
    }
}

/// A control-flow graph.
#[derive(Clone, Debug)]
pub struct Cfg {
    succ: Adjacency,
    pred: Adjacency,
    exit: Vec<bool>,
    entry: Node,
    rpo: Vec<Node>,
    position: Vec<u32>,
}

impl Cfg {
    /// The graph with these successor lists, block 0 first. Blocks without successors are its
    /// exits.
    ///
    /// # Errors
    /// [`GraphError`] if a list or `entry` names a block that does not exist.
    pub fn new<S: AsRef<[u32]>>(entry: u32, successors: &[S]) -> Result<Self, GraphError> {
        let mut builder = CfgBuilder::new();
        for list in successors {
            builder.block(list.as_ref().iter().copied())?;
        }
        builder.build(entry)
    }

    /// How many blocks, reachable or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.exit.len()
    }

    /// Never: a graph has at least its entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exit.is_empty()
    }

    /// How many edges.
    #[must_use]
    pub fn edge_count(&self) -> usize {
        self.succ.list.len()
    }

    /// All blocks, by index.
    pub fn nodes(
        &self,
    ) -> impl ExactSizeIterator<Item = Node> + DoubleEndedIterator + Clone + use<> {
        (0..self.len()).map(Node::at)
    }

    /// The block with this index, if there is one.
    #[must_use]
    pub fn node(&self, index: usize) -> Option<Node> {
        (index < self.len()).then(|| Node::at(index))
    }

    /// Where execution starts.
    #[must_use]
    pub fn entry(&self) -> Node {
        self.entry
    }

    /// Where control may go from a block, in the order given when the graph was built.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn successors(&self, node: Node) -> &[Node] {
        self.succ.of(node)
    }

    /// The blocks with an edge to this one, once for each edge, in increasing order.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn predecessors(&self, node: Node) -> &[Node] {
        self.pred.of(node)
    }

    /// All edges, by source.
    pub fn edges(&self) -> impl Iterator<Item = (Node, Node)> + Clone + '_ {
        self.succ.edges()
    }

    /// Whether lanes may leave the kernel or function in this block: it has no successor and was
    /// not said to stop, or was said to exit under a condition.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn is_exit(&self, node: Node) -> bool {
        self.exit[node.index()]
    }

    /// The exits, by index.
    pub fn exits(&self) -> impl Iterator<Item = Node> + '_ {
        self.nodes().filter(|&n| self.is_exit(n))
    }

    /// Reachable blocks in reverse postorder of a depth-first walk that visits the last successor
    /// first.
    #[must_use]
    pub fn reverse_postorder(&self) -> &[Node] {
        &self.rpo
    }

    /// Position in [`Self::reverse_postorder`], if the block is reachable.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn position(&self, node: Node) -> Option<usize> {
        let p = self.position[node.index()];
        (p != NONE).then_some(p as usize)
    }

    /// Whether some path leads from the entry to the block.
    ///
    /// # Panics
    /// If `node` is not of this graph.
    #[must_use]
    pub fn is_reachable(&self, node: Node) -> bool {
        self.position[node.index()] != NONE
    }

    pub(crate) fn forward(&self) -> (&Adjacency, &Adjacency) {
        (&self.succ, &self.pred)
    }

    /// Reversed edges, with one more node (index [`Self::len`]) that leads to every exit.
    pub(crate) fn backward_from_virtual_exit(&self) -> (Adjacency, Adjacency) {
        let exit = Node::at(self.len());
        let exits: Vec<Node> = self.exits().collect();
        let edges =
            self.edges().map(|(from, to)| (to, from)).chain(exits.iter().map(|&n| (exit, n)));
        let succ = Adjacency::from_edges(self.len() + 1, edges);
        let pred = succ.reversed();
        (succ, pred)
    }
}

/// Builds a [`Cfg`] block by block.
#[derive(Clone, Debug)]
pub struct CfgBuilder {
    succ: Adjacency,
    exit: Vec<bool>,
}

impl Default for CfgBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl CfgBuilder {
    /// No block yet.
    #[must_use]
    pub fn new() -> Self {
        Self { succ: Adjacency::new(), exit: Vec::new() }
    }

    /// Adds the next block; it is an exit if it has no successors.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn block(&mut self, successors: impl IntoIterator<Item = u32>) -> Result<Node, GraphError> {
        self.push(successors, false)
    }

    /// Adds the next block, which lanes may also leave the function from (a guarded exit or
    /// return).
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn exiting_block(
        &mut self,
        successors: impl IntoIterator<Item = u32>,
    ) -> Result<Node, GraphError> {
        self.push(successors, true)
    }

    /// Adds the next block, which no lane leaves.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`].
    pub fn stopping_block(&mut self) -> Result<Node, GraphError> {
        let node = self.push([], false)?;
        self.exit[node.index()] = false;
        Ok(node)
    }

    fn push(
        &mut self,
        successors: impl IntoIterator<Item = u32>,
        exits: bool,
    ) -> Result<Node, GraphError> {
        if self.exit.len() >= MAX_SIZE {
            return Err(GraphError::TooLarge);
        }
        let before = self.succ.list.len();
        let room = MAX_SIZE - before;
        self.succ.push(successors.into_iter().take(room + 1).map(Node));
        let added = self.succ.list.len() - before;
        if added > room {
            return Err(GraphError::TooLarge);
        }
        self.exit.push(exits || added == 0);
        Ok(Node::at(self.exit.len() - 1))
    }

    /// Checks every target and finishes the graph.
    ///
    /// # Errors
    /// [`GraphError`] if there is no block, or the entry or a successor does not exist.
    pub fn build(self, entry: u32) -> Result<Cfg, GraphError> {
        let Self { succ, exit } = self;
        let blocks = exit.len();
        if blocks == 0 {
            return Err(GraphError::Empty);
        }
        if entry as usize >= blocks {
            return Err(GraphError::Entry { entry, blocks });
        }
        for i in 0..blocks {
            for (position, to) in succ.of(Node::at(i)).iter().enumerate() {
                if to.index() >= blocks {
                    let block = Node::at(i).get();
                    return Err(GraphError::Target { block, position, target: to.get(), blocks });
                }
            }
        }
        let entry = Node(entry);
        let mut rpo = DepthFirst::new(&succ, [entry]).postorder;
        rpo.reverse();
        let mut position = vec![NONE; blocks];
        for (i, n) in rpo.iter().enumerate() {
            position[n.index()] = Node::at(i).get();
        }
        let pred = succ.reversed();
        Ok(Cfg { succ, pred, exit, entry, rpo, position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_multiplicity_of_edges() {
        let g = Cfg::new(0, &[vec![2, 1], vec![2, 2], vec![], vec![1]]).unwrap();
        assert_eq!(g.successors(Node(0)), [Node(2), Node(1)]);
        assert_eq!(g.predecessors(Node(2)), [Node(0), Node(1), Node(1)]);
        assert_eq!(g.reverse_postorder(), [Node(0), Node(1), Node(2)]);
        assert!(!g.is_reachable(Node(3)));
        assert_eq!(g.exits().collect::<Vec<_>>(), [Node(2)]);
    }

    #[test]
    fn first_successor_is_placed_first() {
        let g = Cfg::new(0, &[vec![1, 2], vec![3], vec![3], vec![]]).unwrap();
        assert_eq!(g.reverse_postorder(), [Node(0), Node(1), Node(2), Node(3)]);
    }

    #[test]
    fn refuses_what_does_not_exist() {
        assert_eq!(Cfg::new::<Vec<u32>>(0, &[]).unwrap_err(), GraphError::Empty);
        let e = Cfg::new(1, &[vec![]]).unwrap_err();
        assert_eq!(e, GraphError::Entry { entry: 1, blocks: 1 });
        let e = Cfg::new(0, &[vec![0, u32::MAX]]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "successor 1 of block 0 is block 4294967295, which does not exist: the graph has 1 blocks, numbered from 0"
        );
    }

    #[test]
    fn an_exiting_block_may_go_on() {
        let mut b = CfgBuilder::new();
        b.exiting_block([1]).unwrap();
        b.block([1]).unwrap();
        let g = b.build(0).unwrap();
        assert!(g.is_exit(Node(0)) && !g.is_exit(Node(1)));
    }
}
