//! Dependencies between nodes of graphs, as calls give them.

use cuda_abi::host::{Ptr, get_list};
use cuda_abi::{Outcome, Status};

use crate::state::Driver;
use crate::state::action::Action;

/// The nodes that a node depends on: an array, data of edges, and their number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dependencies {
    pub(crate) after: Ptr,
    pub(crate) edges: Ptr,
    pub(crate) count: usize,
}

impl Dependencies {
    /// Returns dependencies without data of edges.
    pub(crate) fn plain(after: Ptr, count: usize) -> Self {
        Self { after, edges: 0, count }
    }

    /// Reads the nodes.
    pub(super) fn read(self, d: &Driver) -> Outcome<Vec<u64>> {
        refuse_data(d, self.edges, self.count)?;
        get_list(self.after, self.count)
    }
}

/// Refuses data of edges other than the default.
pub(super) fn refuse_data(d: &Driver, edges: Ptr, count: usize) -> Outcome {
    if edges != 0 && get_list::<u64>(edges, count)?.iter().any(|&e| e != 0) {
        return Err(d.unsupported("graphs with data of edges"));
    }
    Ok(())
}

/// Adds a node with an action to a graph, and returns the node. What the action owns is removed if
/// there is no such graph.
pub(super) fn insert(d: &mut Driver, graph: u64, after: Vec<u64>, action: Action) -> Outcome<u64> {
    let node = d.handle();
    let Some(found) = d.graphs.live.get_mut(&graph).filter(|g| g.has(&after)) else {
        super::graph::drop_owned(d, &action);
        return Err(Status::INVALID_VALUE);
    };
    let owned = action.graphs().to_vec();
    found.insert(node, action, after);
    for inner in owned {
        if let Some(inner) = d.graphs.live.get_mut(&inner) {
            inner.owner = Some((graph, node));
        }
    }
    Ok(node)
}
