//! Graphs of work: nodes with their dependencies, and executable graphs.

use std::collections::{BTreeMap, BTreeSet};

use cuda_abi::{Outcome, Status};

use super::action::{Action, Actions};

/// A node, and the nodes that it depends on.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) action: Action,
    pub(crate) after: Vec<u64>,
}

/// A modifiable graph.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: BTreeMap<u64, Node>,
}

/// An executable graph.
pub(crate) struct GraphExec {
    pub(crate) actions: Actions,
}

impl Graph {
    /// Returns whether the graph has all these nodes.
    pub(crate) fn has(&self, nodes: &[u64]) -> bool {
        nodes.iter().all(|n| self.nodes.contains_key(n))
    }

    /// Returns nodes and all nodes that they depend on.
    pub(crate) fn ancestors(&self, of: &[u64]) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        let mut waiting = of.to_vec();
        while let Some(node) = waiting.pop() {
            if found.insert(node) {
                waiting.extend(self.nodes.get(&node).into_iter().flat_map(|n| &n.after));
            }
        }
        found
    }

    /// Returns all edges, from a node to one that depends on it.
    pub(crate) fn edges(&self) -> Vec<(u64, u64)> {
        let of = |(&to, node): (&u64, &Node)| {
            node.after.iter().map(move |&from| (from, to)).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// Orders the actions topologically, oldest nodes first, and inserts the actions of child
    /// graphs. A cycle is an invalid value.
    pub(crate) fn ordered(&self) -> Outcome<Actions> {
        let mut waiting: BTreeMap<u64, &Node> = self.nodes.iter().map(|(&h, n)| (h, n)).collect();
        let mut ordered = Vec::new();
        while !waiting.is_empty() {
            let free = |n: &Node| !n.after.iter().any(|a| waiting.contains_key(a));
            let ready: Vec<u64> =
                waiting.iter().filter(|(_, n)| free(n)).map(|(&h, _)| h).collect();
            if ready.is_empty() {
                return Err(Status::INVALID_VALUE);
            }
            for handle in ready {
                match waiting.remove(&handle).map(|node| &node.action) {
                    // The nodes belong to the child graph and are not accessible by handle.
                    Some(Action::Graph(inner)) => {
                        ordered.extend(inner.iter().map(|(_, action)| (0, action.clone())));
                    }
                    Some(action) => ordered.push((handle, action.clone())),
                    None => {}
                }
            }
        }
        Ok(ordered.into())
    }
}
