//! Graphs as text in the language of Graphviz.

use std::fmt::Write as _;

use cuda_abi::host::{Ptr, name};
use cuda_abi::{CUgraphDebugDot_flags, Outcome, Status};

use crate::failure;
use crate::state::Driver;
use crate::state::action::{Action, Endpoint};
use crate::state::graph::{Graph, Node};

/// Writes a graph, with those in its nodes, to a file of the client.
pub(crate) fn print(d: &mut Driver, graph: u64, path: Ptr, flags: u32) -> Outcome {
    d.graphs.find(graph)?;
    let mut text = String::from("digraph dot {\n");
    for graph in d.graphs.within(graph) {
        write_graph(d, d.graphs.find(graph)?, flags, &mut text);
    }
    text.push_str("}\n");
    let path = name(path)?;
    std::fs::write(&path, text).map_err(|error| {
        failure::explain(format!("{path} cannot be written: {error}"));
        Status::OPERATING_SYSTEM
    })
}

/// The name of a node in the text.
fn node_name(graph: &Graph, node: &Node) -> String {
    format!("graph_{}_node_{}", graph.id, node.number)
}

fn write_graph(d: &Driver, graph: &Graph, flags: u32, text: &mut String) {
    let id = graph.id;
    // Writing to a string cannot fail.
    let _ =
        writeln!(text, "subgraph cluster_{id} {{\nlabel=\"graph_{id}\" graph[style=\"dashed\"];");
    for (&handle, node) in &graph.nodes {
        let mut lines = vec![node.number.to_string(), title(d, &node.action)];
        let has = |flag: CUgraphDebugDot_flags| {
            flags & (flag as u32 | CUgraphDebugDot_flags::VERBOSE as u32) != 0
        };
        if has(CUgraphDebugDot_flags::HANDLES) {
            lines.push(format!("node handle: {handle:#x}"));
        }
        if details_flag(&node.action).is_some_and(has) {
            lines.extend(details(d, &node.action));
        }
        let label = lines.iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\\n");
        let _ = writeln!(
            text,
            "\"{}\"[style=\"solid\" shape=\"box\" label=\"{label}\"];",
            node_name(graph, node)
        );
    }
    for (from, to) in graph.edges() {
        if let (Some(from), Some(to)) = (graph.nodes.get(&from), graph.nodes.get(&to)) {
            let _ =
                writeln!(text, "\"{}\" -> \"{}\";", node_name(graph, from), node_name(graph, to));
        }
    }
    text.push_str("}\n");
    // An edge leads from a node to the first nodes of each graph that it owns.
    for node in graph.nodes.values() {
        for inner in node.action.graphs().iter().filter_map(|g| d.graphs.live.get(g)) {
            for root in inner.nodes.values().filter(|n| n.after.is_empty()) {
                let (from, to) = (node_name(graph, node), node_name(inner, root));
                let _ = writeln!(text, "\"{from}\" -> \"{to}\"[style=\"dashed\"];");
            }
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The name of a kernel for which the client has a handle.
fn kernel(d: &Driver, function: u64) -> String {
    d.functions.get(&function).map_or_else(String::new, |f| f.name.to_string_lossy().into_owned())
}

/// The kind of work, with its main property.
fn title(d: &Driver, action: &Action) -> String {
    let side = |side: Endpoint| match side {
        Endpoint::Device(_) => "D",
        Endpoint::Host(_) => "H",
    };
    let copy = |to, from| format!("MEMCPY ({} to {})", side(from), side(to));
    match action {
        Action::Launch(launch) => format!("KERNEL {}", kernel(d, launch.function)),
        Action::Copy(c) => copy(c.to, c.from),
        Action::Box(c) => copy(c.to.side, c.from.side),
        Action::Boxes(parts) => {
            parts.first().map_or_else(String::new, |c| copy(c.to.side, c.from.side))
        }
        Action::Conditional(work) => format!("CONDITIONAL {:?}", work.kind),
        action => format!("{:?}", action.kind()),
    }
}

/// The flag that asks for the details of some work.
fn details_flag(action: &Action) -> Option<CUgraphDebugDot_flags> {
    use CUgraphDebugDot_flags as F;
    Some(match action {
        Action::Launch(_) => F::KERNEL_NODE_PARAMS,
        Action::Copy(_) | Action::Box(_) | Action::Boxes(_) => F::MEMCPY_NODE_PARAMS,
        Action::Fill(_) => F::MEMSET_NODE_PARAMS,
        Action::Call { .. } => F::HOST_NODE_PARAMS,
        Action::Record(_) | Action::Wait(_) => F::EVENT_NODE_PARAMS,
        Action::Allocate { .. } => F::MEM_ALLOC_NODE_PARAMS,
        Action::Free(_) => F::MEM_FREE_NODE_PARAMS,
        Action::Conditional(_) => F::CONDITIONAL_NODE_PARAMS,
        Action::WaitValue(_) => F::BATCH_MEM_OP_NODE_PARAMS,
        Action::Graph(_) | Action::Nothing => return None,
    })
}

/// The parameters of some work.
fn details(d: &Driver, action: &Action) -> Vec<String> {
    let place = |side: Endpoint| match side {
        Endpoint::Device(at) | Endpoint::Host(at) => format!("{at:#x}"),
    };
    match action {
        Action::Launch(launch) => {
            let ([gx, gy, gz], [bx, by, bz]) = (launch.shape.grid, launch.shape.block);
            vec![
                format!("function: {}", kernel(d, launch.function)),
                format!("grid: {gx} x {gy} x {gz}"),
                format!("block: {bx} x {by} x {bz}"),
                format!("dynamic shared memory: {} bytes", launch.shape.shared),
            ]
        }
        Action::Copy(c) => {
            vec![format!("{} to {}: {} bytes", place(c.from), place(c.to), c.len)]
        }
        Action::Box(c) => vec![box_of(c)],
        Action::Boxes(parts) => parts.iter().map(box_of).collect(),
        Action::Fill(f) => vec![format!(
            "{} elements of {} bytes in each of {} rows at {:#x}",
            f.width,
            f.pattern.len(),
            f.height,
            f.to
        )],
        Action::Call { function, data } => vec![format!("{function:#x} ({data:#x})")],
        Action::Record(event) | Action::Wait(event) => vec![format!("event: {event:#x}")],
        Action::Allocate { address, len, .. } => vec![format!("{len} bytes at {address:#x}")],
        Action::Free(address) => vec![format!("{address:#x}")],
        Action::WaitValue(condition) => vec![condition.to_string()],
        Action::Conditional(work) => {
            vec![format!("condition: {:#x}, {} bodies", work.condition, work.bodies.len())]
        }
        Action::Graph(_) | Action::Nothing => Vec::new(),
    }
}

fn box_of(copy: &crate::state::action::BoxCopy) -> String {
    let at = |side: Endpoint| match side {
        Endpoint::Device(at) | Endpoint::Host(at) => at,
    };
    let [width, height, depth] = [copy.width, copy.height, copy.depth];
    let (from, to) = (at(copy.from.side), at(copy.to.side));
    format!("{from:#x} to {to:#x}: {width} x {height} x {depth} bytes")
}
