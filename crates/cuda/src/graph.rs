//! Graphs of kernel launches, copies, fills and calls of the client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use runtime::Shape;

use crate::action::Action;
use crate::capture::submit;
use crate::copy::{self, Fill};
use crate::driver::Driver;
use crate::host::{Ptr, get_u64, get_u64s, put, put_i32, put_if, put_u64, put_u64_if, structure};
use crate::launch::{Launch, params};
use crate::status::{Outcome, Status};
use crate::stream::context_of;

/// A node, and the nodes that it depends on.
#[derive(Clone)]
struct Node {
    action: Action,
    after: Vec<u64>,
}

/// A modifiable graph.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    nodes: BTreeMap<u64, Node>,
}

/// The actions of a graph with their nodes, in an order that respects dependencies.
pub(crate) type Actions = Arc<[(u64, Action)]>;

/// An executable graph.
pub(crate) struct GraphExec {
    actions: Actions,
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
    fn edges(&self) -> Vec<(u64, u64)> {
        let of = |(&to, node): (&u64, &Node)| {
            node.after.iter().map(move |&from| (from, to)).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(of).collect()
    }
}

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
    fn read(self, d: &Driver, at: Ptr) -> Outcome<Action> {
        match self {
            Self::Kernel => launch_of(d, at),
            Self::Copy => copy::three(d, at),
            Self::Fill => fill_of(at),
            Self::Host => {
                let s = structure(at, 16)?;
                let (function, data) = (s.u64(0) as Ptr, s.u64(8) as Ptr);
                if function == 0 {
                    Err(Status::INVALID_VALUE)
                } else {
                    Ok(Action::Call { function, data })
                }
            }
            Self::Child(graph) => {
                Ok(Action::Graph(order(d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?)?))
            }
            Self::Empty => Ok(Action::Nothing),
            Self::Wait(event) => crate::event::recording(d, event).map(|_| Action::Wait),
            Self::Record(event) => crate::event::recording(d, event),
        }
    }

    /// Reads `CUgraphNodeParams`; returns the kind and the address of the kind's structure.
    fn of_any(d: &Driver, at: Ptr) -> Outcome<(Self, Ptr)> {
        let s = structure(at, 24)?;
        let inside = at + 16;
        Ok(match s.u32(0) {
            0 => (Self::Kernel, inside),
            // Behind flags and a context.
            1 => (Self::Copy, inside + 16),
            2 => (Self::Fill, inside),
            3 => (Self::Host, inside),
            4 => (Self::Child(s.u64(16)), inside),
            5 => (Self::Empty, inside),
            6 => (Self::Wait(s.u64(16)), inside),
            7 => (Self::Record(s.u64(16)), inside),
            _ => return Err(d.unsupported("cuGraphAddNode of a semaphore, memory or condition")),
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

/// A node's dependencies as calls give them: an array, edge data, and their number.
pub(crate) type Dependencies = (Ptr, Ptr, usize);

/// Refuses edge data other than the default.
pub(crate) fn plain_edges(d: &Driver, edges: Ptr, count: usize) -> Outcome {
    if edges != 0 && get_u64s(edges, count)?.iter().any(|&e| e != 0) {
        return Err(d.unsupported("graphs with data of edges"));
    }
    Ok(())
}

/// Adds a node of a kind, with its dependencies.
pub(crate) fn add(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    (after, edges, count): Dependencies,
    kind: NodeKind,
    params: Ptr,
) -> Outcome {
    d.usable()?;
    plain_edges(d, edges, count)?;
    let action = kind.read(d, params)?;
    let after = if count == 0 { Vec::new() } else { get_u64s(after, count)? };
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

/// Adds a node with an action, and returns the node.
pub(crate) fn insert(d: &mut Driver, graph: u64, after: Vec<u64>, action: Action) -> Outcome<u64> {
    let node = d.handle();
    let found = d.graphs.get_mut(&graph).filter(|g| g.has(&after)).ok_or(Status::INVALID_VALUE)?;
    found.nodes.insert(node, Node { action, after });
    Ok(node)
}

/// Reads `CUDA_KERNEL_NODE_PARAMS`. The kernel's parameters are copied now.
fn launch_of(d: &Driver, at: Ptr) -> Outcome<Action> {
    let s = structure(at, 56)?;
    let three = |o: usize| [s.u32(o), s.u32(o + 4), s.u32(o + 8)];
    let mut function = s.u64(0);
    if function == 0 {
        // The second version of the structure names a kernel instead.
        function = structure(at, 72)?.u64(56);
    }
    let params = params(d, function, s.u64(40) as Ptr, s.u64(48) as Ptr)?;
    let shape =
        Shape { grid: three(8), block: three(20), shared: s.u32(32).into(), cooperative: false };
    Ok(Action::Launch(Launch { function, shape, params }))
}

/// Reads `CUDA_MEMSET_NODE_PARAMS`.
fn fill_of(at: Ptr) -> Outcome<Action> {
    let s = structure(at, 40)?;
    let size = s.u32(20) as usize;
    if !matches!(size, 1 | 2 | 4) {
        return Err(Status::INVALID_VALUE);
    }
    let pattern = s.u32(16).to_ne_bytes()[..size].to_vec();
    let (to, pitch, width, height) = (s.u64(0), s.u64(8), s.u64(24), s.u64(32));
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
    plain_edges(d, edges, count)?;
    let (from, to) = (get_u64s(from, count)?, get_u64s(to, count)?);
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
        let room = (get_u64(count)? as usize).min(all);
        for (at, list) in lists {
            let bytes: Vec<u8> = list[..room].iter().flat_map(|h| h.to_ne_bytes()).collect();
            put_if(*at, &bytes)?;
        }
        put_if(edges, &vec![0; 8 * room])?;
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
    put_i32(out, graph.nodes.get(&node).map_or(0, |n| n.action.kind()))
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

// Executable graphs.

pub(crate) fn instantiate(d: &mut Driver, out: Ptr, graph: u64) -> Outcome {
    d.usable()?;
    let actions = order(d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?)?;
    let handle = d.handle();
    put_u64(out, handle)?;
    d.graph_execs.insert(handle, GraphExec { actions });
    Ok(())
}

/// Instantiates a graph with `CUDA_GRAPH_INSTANTIATE_PARAMS`, whose last fields receive the result:
/// 0 for success, 1 for an error.
pub(crate) fn instantiate_with(d: &mut Driver, out: Ptr, graph: u64, params: Ptr) -> Outcome {
    structure(params, 32)?;
    let end = instantiate(d, out, graph);
    put_u64(params + 16, 0)?;
    put_i32(params + 24, i32::from(end.is_err()))?;
    end
}

/// Orders the actions of a graph topologically, oldest nodes first, and inserts the actions of
/// child graphs. A cycle is an invalid value.
fn order(graph: &Graph) -> Outcome<Actions> {
    let mut waiting: BTreeMap<u64, &Node> = graph.nodes.iter().map(|(&h, n)| (h, n)).collect();
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let free = |n: &Node| !n.after.iter().any(|a| waiting.contains_key(a));
        let ready: Vec<u64> = waiting.iter().filter(|(_, n)| free(n)).map(|(&h, _)| h).collect();
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

pub(crate) fn exec_destroy(d: &mut Driver, exec: u64) -> Outcome {
    d.graph_execs.remove(&exec).map(drop).ok_or(Status::INVALID_VALUE)
}

fn exec_of(d: &mut Driver, exec: u64) -> Outcome<&mut GraphExec> {
    d.graph_execs.get_mut(&exec).ok_or(Status::INVALID_VALUE)
}

/// Changes the action of a node of an executable graph.
pub(crate) fn exec_set(
    d: &mut Driver,
    exec: u64,
    node: u64,
    kind: NodeKind,
    params: Ptr,
) -> Outcome {
    let action = kind.read(d, params)?;
    let actions = Arc::make_mut(&mut exec_of(d, exec)?.actions);
    let found = actions.iter_mut().find(|(handle, _)| *handle == node && node != 0);
    found.ok_or(Status::INVALID_VALUE)?.1 = action;
    Ok(())
}

/// Replaces all actions by those of a graph with nodes of the same kinds. `result` receives a
/// `CUgraphExecUpdateResult`: 0 for success, 3 for another topology.
pub(crate) fn exec_update(
    d: &mut Driver,
    exec: u64,
    graph: u64,
    result: impl FnOnce(i32) -> Outcome,
) -> Outcome {
    let new = order(d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?)?;
    let exec = exec_of(d, exec)?;
    let kinds = |actions: &Actions| actions.iter().map(|(_, a)| a.kind()).collect::<Vec<_>>();
    if kinds(&exec.actions) != kinds(&new) {
        result(3)?;
        return Err(Status::GRAPH_EXEC_UPDATE_FAILURE);
    }
    // The handles of the original nodes remain valid.
    let nodes = exec.actions.iter().map(|(node, _)| *node);
    exec.actions =
        nodes.zip(new.iter()).map(|(node, (_, action))| (node, action.clone())).collect();
    result(0)
}

/// Updates an executable graph for the second version of the call, which returns
/// `CUgraphExecUpdateResultInfo`: a result and two nodes.
pub(crate) fn exec_update_info(d: &mut Driver, exec: u64, graph: u64, info: Ptr) -> Outcome {
    exec_update(d, exec, graph, |code| {
        put_i32(info, code)?;
        put(info + 8, &[0; 16])
    })
}

pub(crate) fn exec_update_first(
    d: &mut Driver,
    exec: u64,
    graph: u64,
    node: Ptr,
    result: Ptr,
) -> Outcome {
    exec_update(d, exec, graph, |code| {
        put_u64_if(node, 0)?;
        put_i32(result, code)
    })
}

/// Checks its arguments; there is nothing to upload.
pub(crate) fn upload(d: &mut Driver, exec: u64, stream: u64) -> Outcome {
    context_of(d, stream)?;
    exec_of(d, exec).map(drop)
}

/// Begins a launch of a graph: returns the context and the actions to do. If the stream captures,
/// the graph becomes a node and there is nothing to do.
pub(crate) fn begin(d: &mut Driver, exec: u64, stream: u64) -> Outcome<Option<(u64, Actions)>> {
    let context = context_of(d, stream)?;
    let actions = Arc::clone(&exec_of(d, exec)?.actions);
    if crate::capture::is_captured(d, stream)? {
        submit(d, stream, Action::Graph(actions))?;
        return Ok(None);
    }
    Ok(Some((context, actions)))
}

/// Does the actions up to the next call of the client; returns how many these were.
pub(crate) fn run_until_call(
    d: &mut Driver,
    context: u64,
    actions: &[(u64, Action)],
) -> Outcome<usize> {
    let calls = |(_, action): &(u64, Action)| matches!(action, Action::Call { .. });
    let end = actions.iter().position(calls).unwrap_or(actions.len());
    actions[..end].iter().try_for_each(|(_, action)| action.act(d, context))?;
    Ok(end)
}
