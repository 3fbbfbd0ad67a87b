//! Strongly connected components of a directed graph, by Tarjan's algorithm ("Depth-first search
//! and linear graph algorithms", SIAM Journal on Computing, 1972).

use rustc_hash::FxHashMap;

/// A strongly connected component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its nodes, in order.
    pub nodes: Vec<u32>,
    /// Whether a path leads from a node to itself.
    pub is_cyclic: bool,
}

/// Returns the components of all nodes that are reachable from a node. Each comes after those that
/// its edges lead to.
pub fn components(from: u32, successors: impl Fn(u32) -> Vec<u32>) -> Vec<Component> {
    let mut finder = Finder::default();
    let mut visits = vec![finder.begin(from, successors(from))];
    while let Some(visit) = visits.last_mut() {
        let node = visit.node;
        let Some(&next) = visit.successors.get(visit.next) else {
            let has_own_edge = visit.successors.contains(&node);
            visits.pop();
            let lowest = finder.close(node, has_own_edge);
            if let Some(before) = visits.last() {
                finder.lower(before.node, lowest);
            }
            continue;
        };
        visit.next += 1;
        match finder.found.get(&next) {
            None => visits.push(finder.begin(next, successors(next))),
            Some(&Found { order, is_open: true, .. }) => finder.lower(node, order),
            Some(_) => {}
        }
    }
    finder.components
}

#[derive(Default)]
struct Finder {
    found: FxHashMap<u32, Found>,
    /// Nodes that belong to no component yet.
    open: Vec<u32>,
    components: Vec<Component>,
}

/// A node that was found.
struct Found {
    /// The number of nodes that were found before.
    order: u32,
    /// The least such number of the nodes without a component that it is known to reach.
    lowest: u32,
    /// Whether it belongs to no component yet.
    is_open: bool,
}

/// A node whose successors are being visited.
struct Visit {
    node: u32,
    successors: Vec<u32>,
    next: usize,
}

impl Finder {
    fn begin(&mut self, node: u32, successors: Vec<u32>) -> Visit {
        let order = self.found.len() as u32;
        self.found.insert(node, Found { order, lowest: order, is_open: true });
        self.open.push(node);
        Visit { node, successors, next: 0 }
    }

    fn lower(&mut self, node: u32, order: u32) {
        if let Some(found) = self.found.get_mut(&node) {
            found.lowest = order.min(found.lowest);
        }
    }

    /// Ends the visit of a node; returns the first node that it reaches.
    fn close(&mut self, node: u32, has_own_edge: bool) -> u32 {
        let Some(&Found { order, lowest, .. }) = self.found.get(&node) else { return 0 };
        if order != lowest {
            return lowest;
        }
        let first = self.open.iter().rposition(|&open| open == node).unwrap_or(0);
        let mut nodes = self.open.split_off(first);
        for node in &nodes {
            self.found.entry(*node).and_modify(|found| found.is_open = false);
        }
        let is_cyclic = nodes.len() > 1 || has_own_edge;
        nodes.sort_unstable();
        self.components.push(Component { nodes, is_cyclic });
        lowest
    }
}
