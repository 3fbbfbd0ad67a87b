//! Graphs of launches, copies and fills.

use std::collections::BTreeMap;

use runtime::Shape;

use crate::copy::{BoxCopy, fill_rows};
use crate::driver::Driver;
use crate::host::{Ptr, Struct, get_u64s, put_i32, put_u64, structure};
use crate::launch::{Launch, params, run};
use crate::status::{Outcome, Status};
use crate::stream::context_of;

/// What a node does.
#[derive(Clone)]
enum Action {
    Launch(Launch),
    /// A `CUDA_MEMCPY3D`.
    Copy(Struct),
    Fill {
        to: u64,
        pitch: u64,
        pattern: Vec<u8>,
        width: u64,
        height: u64,
    },
    Nothing,
}

/// A node, and those that come before it.
#[derive(Clone)]
struct Node {
    action: Action,
    after: Vec<u64>,
}

/// A graph that can be changed.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    nodes: BTreeMap<u64, Node>,
}

/// A graph that can run: its nodes in an order that keeps to their dependencies.
pub(crate) struct GraphExec {
    nodes: Vec<(u64, Action)>,
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

/// Adds a node that comes after others of its graph.
fn add(
    d: &mut Driver,
    out: Ptr,
    graph: u64,
    (after, count): (Ptr, usize),
    action: Action,
) -> Outcome {
    let after = if count == 0 { Vec::new() } else { get_u64s(after, count)? };
    let handle = d.handle();
    let found = d.graphs.get_mut(&graph).ok_or(Status::INVALID_VALUE)?;
    if after.iter().any(|n| !found.nodes.contains_key(n)) {
        return Err(Status::INVALID_VALUE);
    }
    put_u64(out, handle)?;
    found.nodes.insert(handle, Node { action, after });
    Ok(())
}

/// Reads `CUDA_KERNEL_NODE_PARAMS`; parameters are copied now.
fn launch_of(d: &Driver, at: Ptr) -> Outcome<Action> {
    let s = structure(at, 56)?;
    let three = |o: usize| [s.u32(o), s.u32(o + 4), s.u32(o + 8)];
    let mut function = s.u64(0);
    if function == 0 {
        // The second version names a kernel instead.
        function = structure(at, 72)?.u64(56);
    }
    let params = params(d, function, s.u64(40) as Ptr, s.u64(48) as Ptr)?;
    let shape =
        Shape { grid: three(8), block: three(20), shared: s.u32(32).into(), cooperative: false };
    Ok(Action::Launch(Launch { function, shape, params }))
}

fn copy_of(d: &Driver, at: Ptr) -> Outcome<Action> {
    let s = structure(at, BoxCopy::THREE)?;
    BoxCopy::three(d, &s)?;
    Ok(Action::Copy(s))
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
    Ok(Action::Fill { to, pitch, pattern, width, height })
}

macro_rules! adds {
    ($($name:ident $action:expr;)+) => { $(
        pub(crate) fn $name(
            d: &mut Driver,
            out: Ptr,
            graph: u64,
            after: (Ptr, usize),
            params: Ptr,
        ) -> Outcome {
            let action: fn(&Driver, Ptr) -> Outcome<Action> = $action;
            let action = action(d, params)?;
            add(d, out, graph, after, action)
        }
    )+ };
}

adds! {
    add_kernel launch_of;
    add_copy copy_of;
    add_fill |_, params| fill_of(params);
    add_empty |_, _| Ok(Action::Nothing);
}

pub(crate) fn add_dependencies(
    d: &mut Driver,
    graph: u64,
    from: Ptr,
    to: Ptr,
    count: usize,
) -> Outcome {
    let (from, to) = (get_u64s(from, count)?, get_u64s(to, count)?);
    let graph = d.graphs.get_mut(&graph).ok_or(Status::INVALID_VALUE)?;
    if from.iter().chain(&to).any(|n| !graph.nodes.contains_key(n)) {
        return Err(Status::INVALID_VALUE);
    }
    for (from, to) in from.iter().zip(&to) {
        if let Some(node) = graph.nodes.get_mut(to) {
            node.after.push(*from);
        }
    }
    Ok(())
}

/// How many nodes there are; their handles, if they are asked for.
pub(crate) fn nodes(d: &mut Driver, graph: u64, out: Ptr, count: Ptr) -> Outcome {
    let handles: Vec<u64> =
        d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?.nodes.keys().copied().collect();
    if out != 0 {
        let room = crate::host::get_u64(count)? as usize;
        for (i, &handle) in handles.iter().take(room).enumerate() {
            put_u64(out + 8 * i, handle)?;
        }
    }
    put_u64(count, handles.len() as u64)
}

/// 0 a launch, 1 a copy, 2 a fill, 5 nothing.
pub(crate) fn node_kind(d: &mut Driver, node: u64, out: Ptr) -> Outcome {
    let found = d.graphs.values().find_map(|g| g.nodes.get(&node)).ok_or(Status::INVALID_VALUE)?;
    put_i32(
        out,
        match found.action {
            Action::Launch(_) => 0,
            Action::Copy(_) => 1,
            Action::Fill { .. } => 2,
            Action::Nothing => 5,
        },
    )
}

pub(crate) fn destroy_node(d: &mut Driver, node: u64) -> Outcome {
    let graph = d.graphs.values_mut().find(|g| g.nodes.contains_key(&node));
    let graph = graph.ok_or(Status::INVALID_VALUE)?;
    graph.nodes.remove(&node);
    graph.nodes.values_mut().for_each(|n| n.after.retain(|&a| a != node));
    Ok(())
}

/// Changes what a node of a graph does.
fn change(d: &mut Driver, node: u64, action: Action) -> Outcome {
    let found = d.graphs.values_mut().find_map(|g| g.nodes.get_mut(&node));
    found.ok_or(Status::INVALID_VALUE)?.action = action;
    Ok(())
}

pub(crate) fn set_kernel(d: &mut Driver, node: u64, at: Ptr) -> Outcome {
    let action = launch_of(d, at)?;
    change(d, node, action)
}

pub(crate) fn set_copy(d: &mut Driver, node: u64, at: Ptr) -> Outcome {
    let action = copy_of(d, at)?;
    change(d, node, action)
}

pub(crate) fn set_fill(d: &mut Driver, node: u64, at: Ptr) -> Outcome {
    let action = fill_of(at)?;
    change(d, node, action)
}

// Graphs that can run.

pub(crate) fn instantiate(d: &mut Driver, out: Ptr, graph: u64) -> Outcome {
    d.usable()?;
    let nodes = order(d.graphs.get(&graph).ok_or(Status::INVALID_VALUE)?)?;
    let handle = d.handle();
    put_u64(out, handle)?;
    d.graph_execs.insert(handle, GraphExec { nodes });
    Ok(())
}

/// Nodes after those that come before them, oldest first; a circle is an invalid value.
fn order(graph: &Graph) -> Outcome<Vec<(u64, Action)>> {
    let mut waiting: BTreeMap<u64, &Node> = graph.nodes.iter().map(|(&h, n)| (h, n)).collect();
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let free = |n: &Node| !n.after.iter().any(|a| waiting.contains_key(a));
        let ready: Vec<u64> = waiting.iter().filter(|(_, n)| free(n)).map(|(&h, _)| h).collect();
        if ready.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        for handle in ready {
            if let Some(node) = waiting.remove(&handle) {
                ordered.push((handle, node.action.clone()));
            }
        }
    }
    Ok(ordered)
}

pub(crate) fn exec_destroy(d: &mut Driver, exec: u64) -> Outcome {
    d.graph_execs.remove(&exec).map(drop).ok_or(Status::INVALID_VALUE)
}

fn exec_change(d: &mut Driver, exec: u64, node: u64, action: Action) -> Outcome {
    let exec = d.graph_execs.get_mut(&exec).ok_or(Status::INVALID_VALUE)?;
    let found = exec.nodes.iter_mut().find(|(handle, _)| *handle == node);
    found.ok_or(Status::INVALID_VALUE)?.1 = action;
    Ok(())
}

pub(crate) fn exec_set_kernel(d: &mut Driver, exec: u64, node: u64, at: Ptr) -> Outcome {
    let action = launch_of(d, at)?;
    exec_change(d, exec, node, action)
}

pub(crate) fn exec_set_copy(d: &mut Driver, exec: u64, node: u64, at: Ptr) -> Outcome {
    let action = copy_of(d, at)?;
    exec_change(d, exec, node, action)
}

pub(crate) fn exec_set_fill(d: &mut Driver, exec: u64, node: u64, at: Ptr) -> Outcome {
    let action = fill_of(at)?;
    exec_change(d, exec, node, action)
}

/// There is nothing to bring to the device beforehand.
pub(crate) fn upload(d: &mut Driver, exec: u64, stream: u64) -> Outcome {
    context_of(d, stream)?;
    d.graph_execs.get(&exec).map(drop).ok_or(Status::INVALID_VALUE)
}

pub(crate) fn launch(d: &mut Driver, exec: u64, stream: u64) -> Outcome {
    let context = context_of(d, stream)?;
    // Taken out while it runs, so that its nodes can use the driver.
    let exec_graph = d.graph_execs.remove(&exec).ok_or(Status::INVALID_VALUE)?;
    let end = exec_graph.nodes.iter().try_for_each(|(_, action)| act(d, context, action));
    d.graph_execs.insert(exec, exec_graph);
    end
}

fn act(d: &mut Driver, context: u64, action: &Action) -> Outcome {
    match action {
        Action::Launch(launch) => run(d, context, launch),
        Action::Copy(s) => BoxCopy::three(d, s)?.run(d),
        Action::Fill { to, pitch, pattern, width, height } => {
            fill_rows(d, *to, *pitch, pattern, *width, *height)
        }
        Action::Nothing => Ok(()),
    }
}
