//! Graphs of kernel launches, copies, fills and calls of the client.

use std::mem::offset_of;

use cuda_abi::host::{Ptr, get, get_list, put_bytes, put_i32, put_u64};
use cuda_abi::{
    CUDA_CHILD_GRAPH_NODE_PARAMS, CUDA_EVENT_RECORD_NODE_PARAMS, CUDA_EVENT_WAIT_NODE_PARAMS,
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1,
    CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS, CUgraphNodeParams, CUgraphNodeType, Outcome,
    Status,
};
use runtime::Shape;

use super::edges::{Dependencies, insert, refuse_data};
use super::launch::params;
use super::{copy, event};
use crate::state::Driver;
use crate::state::action::{Action, Fill, Launch};
use crate::state::graph::Graph;

/// A kind of node, which says how its parameters are given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeKind {
    Kernel,
    Copy,
    Fill,
    Host,
    /// A copy of another graph, given by its handle rather than by a structure.
    Child(u64),
    Empty,
    Wait(u64),
    Record(u64),
}

impl NodeKind {
    /// Reads the parameters of a node.
    pub(super) fn read(self, d: &Driver, at: Ptr) -> Outcome<Action> {
        match self {
            Self::Kernel => launch_of(d, at),
            Self::Copy => copy::three(d, at),
            Self::Fill => fill_of(at),
            Self::Host => {
                let params = get::<CUDA_HOST_NODE_PARAMS>(at)?;
                let (function, data) = (params.r#fn, params.userData);
                if function == 0 {
                    Err(Status::INVALID_VALUE)
                } else {
                    Ok(Action::Call { function, data })
                }
            }
            Self::Child(graph) => {
                let graph = d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?;
                graph.ordered().map(Action::Graph)
            }
            Self::Empty => Ok(Action::Nothing),
            Self::Wait(event) => event::recording(d, event).map(|_| Action::Wait),
            Self::Record(event) => event::recording(d, event),
        }
    }

    /// Reads the parameters of a node of any type; returns the kind and the address of the kind's
    /// structure.
    fn of_any(d: &Driver, at: Ptr) -> Outcome<(Self, Ptr)> {
        let inside = at + offset_of!(CUgraphNodeParams, reserved1);
        let kind = CUgraphNodeType::of(get(at)?)
            .map_err(|_| d.unsupported("cuGraphAddNode of a semaphore, memory or condition"))?;
        Ok(match kind {
            CUgraphNodeType::KERNEL => (Self::Kernel, inside),
            CUgraphNodeType::MEMCPY => {
                (Self::Copy, inside + offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams))
            }
            CUgraphNodeType::MEMSET => (Self::Fill, inside),
            CUgraphNodeType::HOST => (Self::Host, inside),
            CUgraphNodeType::GRAPH => {
                (Self::Child(get::<CUDA_CHILD_GRAPH_NODE_PARAMS>(inside)?.graph), inside)
            }
            CUgraphNodeType::EMPTY => (Self::Empty, inside),
            CUgraphNodeType::WAIT_EVENT => {
                (Self::Wait(get::<CUDA_EVENT_WAIT_NODE_PARAMS>(inside)?.event), inside)
            }
            CUgraphNodeType::EVENT_RECORD => {
                (Self::Record(get::<CUDA_EVENT_RECORD_NODE_PARAMS>(inside)?.event), inside)
            }
        })
    }
}

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32) -> Outcome {
    d.usable()?;
    if flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    d.graphs.insert(handle, Graph::default());
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, graph: u64) -> Outcome {
    d.graphs.remove(&graph).map(drop).ok_or(Status::INVALID_VALUE)
}

pub(crate) fn clone(d: &mut Driver, out: Ptr, graph: u64) -> Outcome {
    let copy = d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?.clone();
    let handle = d.handle();
    put_u64(out, handle)?;
    d.graphs.insert(handle, copy);
    Ok(())
}

/// Adds a node of a kind, with its dependencies.
pub(crate) fn add(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    after: Dependencies,
    kind: NodeKind,
    params: Ptr,
) -> Outcome {
    d.usable()?;
    refuse_data(d, after.edges, after.count)?;
    let action = kind.read(d, params)?;
    let after = get_list(after.after, after.count)?;
    let node = insert(d, graph, after, action)?;
    put_u64(out, node).inspect_err(|_| {
        // The client has no handle of the node.
        let _ = destroy_node(d, node);
    })
}

/// Adds a node of the kind that `CUgraphNodeParams` says.
pub(crate) fn add_any(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    after: Dependencies,
    params: Ptr,
) -> Outcome {
    let (kind, at) = NodeKind::of_any(d, params)?;
    add(d, out, graph, after, kind, at)
}

/// Reads the parameters of a launch. The kernel's parameters are copied now.
fn launch_of(d: &Driver, at: Ptr) -> Outcome<Action> {
    let p = get::<CUDA_KERNEL_NODE_PARAMS_v1>(at)?;
    let function = match p.func {
        // The second version of the structure names a kernel instead.
        0 => get::<CUDA_KERNEL_NODE_PARAMS>(at)?.kern,
        function => function,
    };
    let params = params(d, function, p.kernelParams, p.extra)?;
    let shape = Shape {
        grid: [p.gridDimX, p.gridDimY, p.gridDimZ],
        block: [p.blockDimX, p.blockDimY, p.blockDimZ],
        shared: p.sharedMemBytes.into(),
        cooperative: false,
        cluster: None,
    };
    Ok(Action::Launch(Launch { function, shape, params }))
}

/// Reads the parameters of a fill.
fn fill_of(at: Ptr) -> Outcome<Action> {
    let p = get::<CUDA_MEMSET_NODE_PARAMS>(at)?;
    let size = p.elementSize as usize;
    if !matches!(size, 1 | 2 | 4) {
        return Err(Status::INVALID_VALUE);
    }
    let pattern = p.value.to_ne_bytes()[..size].to_vec();
    let CUDA_MEMSET_NODE_PARAMS { dst: to, pitch, width, height, .. } = p;
    Ok(Action::Fill(Fill { to, pitch, pattern, width, height }))
}

/// Changes dependencies between nodes.
fn change_edges(
    d: &mut Driver,
    graph: u64,
    (from, to): (Ptr, Ptr),
    (edges, count): (Ptr, usize),
    change: impl Fn(&mut Vec<u64>, u64) -> Outcome,
) -> Outcome {
    refuse_data(d, edges, count)?;
    let (from, to) = (get_list::<u64>(from, count)?, get_list::<u64>(to, count)?);
    let graph = d.graphs.get_mut(&graph).ok_or(Status::INVALID_VALUE)?;
    if !graph.has(&from) || !graph.has(&to) {
        return Err(Status::INVALID_VALUE);
    }
    from.iter().zip(&to).try_for_each(|(&from, to)| {
        change(&mut graph.nodes.get_mut(to).ok_or(Status::INVALID_VALUE)?.after, from)
    })
}

pub(crate) fn add_edges(
    d: &mut Driver,
    graph: u64,
    ends: (Ptr, Ptr),
    list: (Ptr, usize),
) -> Outcome {
    change_edges(d, graph, ends, list, |after, from| {
        after.push(from);
        Ok(())
    })
}

pub(crate) fn remove_edges(
    d: &mut Driver,
    graph: u64,
    ends: (Ptr, Ptr),
    list: (Ptr, usize),
) -> Outcome {
    change_edges(d, graph, ends, list, |after, from| {
        let at = after.iter().position(|&n| n == from).ok_or(Status::INVALID_VALUE)?;
        after.remove(at);
        Ok(())
    })
}

// Queries.

/// Writes lists of handles, as far as there is room, and their full length.
fn lists(lists: &[(Ptr, Vec<u64>)], edges: Ptr, count: Ptr) -> Outcome {
    let all = lists.first().map_or(0, |(_, list)| list.len());
    if lists.iter().any(|(at, _)| *at != 0) {
        let room = (get::<u64>(count)? as usize).min(all);
        for (at, list) in lists {
            let bytes: Vec<u8> = list[..room].iter().flat_map(|h| h.to_ne_bytes()).collect();
            if *at != 0 {
                put_bytes(*at, &bytes)?;
            }
        }
        if edges != 0 {
            put_bytes(edges, &vec![0; 8 * room])?;
        }
    }
    put_u64(count, all as u64)
}

/// Returns all nodes, or those without dependencies.
pub(crate) fn nodes(d: &mut Driver, graph: u64, out: Ptr, count: Ptr, roots: bool) -> Outcome {
    let graph = d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?;
    let wanted = graph.nodes.iter().filter(|(_, n)| !roots || n.after.is_empty());
    lists(&[(out, wanted.map(|(&h, _)| h).collect())], 0, count)
}

pub(crate) fn edges(
    d: &mut Driver,
    graph: u64,
    (from, to): (Ptr, Ptr),
    (edges, count): (Ptr, Ptr),
) -> Outcome {
    let all = d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?.edges();
    let (first, second) = all.into_iter().unzip();
    lists(&[(from, first), (to, second)], edges, count)
}

/// Finds the graph of a node.
fn graph_of(d: &Driver, node: u64) -> Outcome<(u64, &Graph)> {
    let found = d.graphs.iter().find(|(_, g)| g.nodes.contains_key(&node));
    found.map(|(&handle, graph)| (handle, graph)).ok_or(Status::INVALID_VALUE)
}

/// Returns the direct dependencies of a node, or its direct dependents.
pub(crate) fn neighbours(
    d: &mut Driver,
    node: u64,
    out: Ptr,
    (edges, count): (Ptr, Ptr),
    before: bool,
) -> Outcome {
    let (_, graph) = graph_of(d, node)?;
    let pairs = graph.edges().into_iter();
    let found = pairs.filter_map(|(from, to)| match before {
        true => (to == node).then_some(from),
        false => (from == node).then_some(to),
    });
    lists(&[(out, found.collect())], edges, count)
}

pub(crate) fn containing(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let (graph, _) = graph_of(d, node)?;
    put_u64(out, graph)
}

pub(crate) fn node_kind(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let (_, graph) = graph_of(d, node)?;
    put_i32(out, graph.nodes.get(&node).map_or(0, |n| n.action.kind() as i32))
}

pub(crate) fn destroy_node(d: &mut Driver, node: u64) -> Outcome {
    let graph = d.graphs.values_mut().find(|g| g.nodes.contains_key(&node));
    let graph = graph.ok_or(Status::INVALID_VALUE)?;
    graph.nodes.remove(&node);
    graph.nodes.values_mut().for_each(|n| n.after.retain(|&a| a != node));
    Ok(())
}

/// Changes the action of a node of a modifiable graph.
pub(crate) fn set(d: &mut Driver, node: u64, kind: NodeKind, params: Ptr) -> Outcome {
    let action = kind.read(d, params)?;
    let found = d.graphs.values_mut().find_map(|g| g.nodes.get_mut(&node));
    found.ok_or(Status::INVALID_VALUE)?.action = action;
    Ok(())
}
