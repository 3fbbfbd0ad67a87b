//! Graphs of work: nodes with their dependencies.

use std::collections::{BTreeMap, BTreeSet};

use cuda_abi::{Outcome, Status};

use super::action::Action;

/// The maximum depth of graphs in nodes of graphs.
pub(crate) const MAX_DEPTH: usize = 64;

/// A node, and the nodes that it depends on.
pub(crate) struct Node {
    pub(crate) action: Action,
    pub(crate) after: Vec<u64>,
    /// The node's number in its graph.
    pub(crate) number: u32,
    /// Words whose addresses the client has received. They are valid as long as the node is.
    pub(crate) shown: Vec<Box<[u64]>>,
}

/// A modifiable graph.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) nodes: BTreeMap<u64, Node>,
    /// The graph and the node in it that own this one.
    pub(crate) owner: Option<(u64, u64)>,
    /// The nodes by those of the graph of which this one is a clone.
    pub(crate) clones: BTreeMap<u64, u64>,
    /// Handles of the conditions that were created for the graph.
    pub(crate) conditions: Vec<u64>,
    /// References to objects of the client, by handle.
    pub(crate) objects: BTreeMap<u64, u32>,
    /// A number that no other graph gets.
    pub(crate) id: u32,
    next_number: u32,
}

impl Graph {
    /// Adds a node.
    pub(crate) fn insert(&mut self, node: u64, action: Action, after: Vec<u64>) {
        let number = self.next_number;
        self.next_number += 1;
        self.nodes.insert(node, Node { action, after, number, shown: Vec::new() });
    }

    /// Returns whether the graph has all these nodes.
    pub(crate) fn has(&self, nodes: &[u64]) -> bool {
        nodes.iter().all(|n| self.nodes.contains_key(n))
    }

    /// Returns nodes and all nodes that they depend on.
    fn ancestors(&self, of: &[u64]) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut waiting = of.to_vec();
        while let Some(node) = waiting.pop() {
            if found.insert(node) {
                waiting.extend(self.nodes.get(&node).into_iter().flat_map(|n| &n.after));
            }
        }
        found
    }

    /// Returns whether all nodes are among those given and the nodes that these depend on.
    pub(crate) fn covers<'n>(
        &self,
        last: &[u64],
        nodes: impl IntoIterator<Item = &'n u64>,
    ) -> bool {
        let found = self.ancestors(last);
        nodes.into_iter().all(|node| found.contains(node))
    }

    /// Returns all edges, from a node to one that depends on it.
    pub(crate) fn edges(&self) -> Vec<(u64, u64)> {
        let of = |(&to, node): (&u64, &Node)| {
            node.after.iter().map(move |&from| (from, to)).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// Returns the nodes in topological order: of those whose dependencies are done, the oldest is
    /// next. A cycle is an invalid value.
    pub(crate) fn order(&self) -> Outcome<Vec<u64>> {
        let mut dependents: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (from, to) in self.edges() {
            dependents.entry(from).or_default().push(to);
        }
        let mut missing: BTreeMap<u64, usize> =
            self.nodes.iter().map(|(&node, n)| (node, n.after.len())).collect();
        let mut ready: BTreeSet<u64> =
            missing.iter().filter(|(_, count)| **count == 0).map(|(&node, _)| node).collect();
        let mut ordered = Vec::new();
        while let Some(node) = ready.pop_first() {
            ordered.push(node);
            for &dependent in dependents.get(&node).into_iter().flatten() {
                if let Some(count) = missing.get_mut(&dependent) {
                    *count -= 1;
                    if *count == 0 {
                        ready.insert(dependent);
                    }
                }
            }
        }
        if ordered.len() == self.nodes.len() { Ok(ordered) } else { Err(Status::INVALID_VALUE) }
    }
}

/// All modifiable graphs by handle.
#[derive(Default)]
pub(crate) struct Graphs {
    pub(crate) live: BTreeMap<u64, Graph>,
    /// The graphs and executable graphs so far.
    count: u32,
}

impl Graphs {
    /// Returns a graph by handle.
    pub(crate) fn find(&self, graph: u64) -> Outcome<&Graph> {
        self.live.get(&graph).ok_or(Status::INVALID_VALUE)
    }

    /// Does the same for a graph that is to be changed.
    pub(crate) fn find_mut(&mut self, graph: u64) -> Outcome<&mut Graph> {
        self.live.get_mut(&graph).ok_or(Status::INVALID_VALUE)
    }

    /// Returns the graph of a node, with its handle.
    pub(crate) fn of_node(&self, node: u64) -> Outcome<(u64, &Graph)> {
        let found = self.live.iter().find(|(_, graph)| graph.nodes.contains_key(&node));
        found.map(|(&handle, graph)| (handle, graph)).ok_or(Status::INVALID_VALUE)
    }

    /// Returns a node by handle.
    pub(crate) fn node(&self, node: u64) -> Outcome<&Node> {
        self.of_node(node)?.1.nodes.get(&node).ok_or(Status::INVALID_VALUE)
    }

    /// Does the same for a node that is to be changed.
    pub(crate) fn node_mut(&mut self, node: u64) -> Outcome<&mut Node> {
        let found = self.live.values_mut().find_map(|graph| graph.nodes.get_mut(&node));
        found.ok_or(Status::INVALID_VALUE)
    }

    /// Returns a number for a new graph or executable graph.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// Adds a graph without nodes.
    pub(crate) fn add(&mut self, handle: u64) {
        let id = self.next_id();
        self.live.insert(handle, Graph { id, ..Graph::default() });
    }

    /// Returns the number of levels of graphs in a graph, itself included.
    pub(crate) fn height(&self, graph: u64) -> usize {
        let nodes = self.live.get(&graph).into_iter().flat_map(|g| g.nodes.values());
        let inner = nodes.flat_map(|node| node.action.graphs());
        1 + inner.map(|&graph| self.height(graph)).max().unwrap_or(0)
    }

    /// Returns the number of graphs around a graph.
    pub(crate) fn depth(&self, graph: u64) -> usize {
        let owner = |graph: &u64| Some(self.live.get(graph)?.owner?.0);
        std::iter::successors(Some(graph), owner).count() - 1
    }

    /// Returns whether a graph or one of those in its nodes has work that exists once.
    pub(crate) fn is_unique(&self, graph: u64) -> bool {
        let mut nodes = self.live.get(&graph).into_iter().flat_map(|g| g.nodes.values());
        nodes.any(|node| {
            node.action.is_unique() || node.action.graphs().iter().any(|&g| self.is_unique(g))
        })
    }

    /// Returns a graph and all those in its nodes.
    pub(crate) fn within(&self, graph: u64) -> Vec<u64> {
        let mut found = vec![graph];
        let mut next = 0;
        while let Some(graph) = found.get(next) {
            let nodes = self.live.get(graph).into_iter().flat_map(|g| g.nodes.values());
            let inner: Vec<u64> = nodes.flat_map(|node| node.action.graphs()).copied().collect();
            found.extend(inner);
            next += 1;
        }
        found
    }
}
