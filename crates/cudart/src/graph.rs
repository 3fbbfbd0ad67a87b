//! Graph nodes and stream capture: converts structures of the runtime API to those of the driver
//! API.

use crate::driver::{
    cuGraphAddDependencies_v2, cuGraphAddKernelNode_v2, cuGraphAddMemcpyNode, cuGraphGetEdges_v2,
    cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependentNodes_v2, cuGraphRemoveDependencies_v2,
    cuStreamGetCaptureInfo_v3, cuStreamUpdateCaptureDependencies_v2,
};
use crate::error::Outcome;
use crate::host::{Block, Ptr, structure};
use crate::registry::function;
use crate::state::context;

/// The first runtime version whose functions on dependencies take edge data.
const WITH_EDGES: i32 = 13_000;

/// Creates `CUDA_KERNEL_NODE_PARAMS` from `cudaKernelNodeParams`: function, grid, block, 32-bit
/// shared memory, parameters, `extra`.
pub(crate) fn kernel(params: Ptr) -> Outcome<Block> {
    let s = structure(params, 56)?;
    // The driver's structure has the same fields at the same offsets, and two more.
    let mut b = Block::new(72);
    b.set(0, function(s.u64(0) as Ptr)?);
    for offset in (8..56).step_by(8) {
        b.set(offset, s.u64(offset));
    }
    Ok(b)
}

pub(crate) fn add_kernel(
    out: Ptr,
    graph: u64,
    (after, count): (Ptr, usize),
    params: Ptr,
) -> Outcome {
    cuGraphAddKernelNode_v2(out, graph, after, count, kernel(params)?.at())
}

/// Adds a copy that `cudaMemcpy3DParms` describes.
pub(crate) fn add_copy(out: Ptr, graph: u64, (after, count): (Ptr, usize), params: Ptr) -> Outcome {
    context()?;
    cuGraphAddMemcpyNode(out, graph, after, count, crate::copy::of_layers(params)?.at(), 0)
}

/// Adds a copy of adjacent bytes.
pub(crate) fn add_line(
    out: Ptr,
    graph: u64,
    (after, count): (Ptr, usize),
    (to, from, len): (u64, u64, usize),
    kind: i32,
) -> Outcome {
    context()?;
    cuGraphAddMemcpyNode(
        out,
        graph,
        after,
        count,
        crate::copy::of_line(to, from, len, kind)?.at(),
        0,
    )
}

/// Returns whether functions on dependencies of this version take edge data, before the count.
fn with_edges() -> bool {
    crate::version::number() >= WITH_EDGES
}

/// Returns the edge data and the count from the last arguments of a function on dependencies.
fn list(third: usize, fourth: usize) -> (Ptr, usize) {
    if with_edges() { (third, fourth) } else { (0, third) }
}

pub(crate) fn add_edges(graph: u64, from: Ptr, to: Ptr, third: usize, fourth: usize) -> Outcome {
    context()?;
    let (edges, count) = list(third, fourth);
    cuGraphAddDependencies_v2(graph, from, to, edges, count)
}

pub(crate) fn remove_edges(graph: u64, from: Ptr, to: Ptr, third: usize, fourth: usize) -> Outcome {
    context()?;
    let (edges, count) = list(third, fourth);
    cuGraphRemoveDependencies_v2(graph, from, to, edges, count)
}

pub(crate) fn edges(graph: u64, from: Ptr, to: Ptr, third: usize, fourth: usize) -> Outcome {
    context()?;
    let (edges, count) = list(third, fourth);
    cuGraphGetEdges_v2(graph, from, to, edges, count)
}

/// Returns the direct dependencies of a node, or its direct dependents.
pub(crate) fn neighbours(
    node: u64,
    out: Ptr,
    third: usize,
    fourth: usize,
    before: bool,
) -> Outcome {
    context()?;
    let (edges, count) = list(third, fourth);
    if before {
        cuGraphNodeGetDependencies_v2(node, out, edges, count)
    } else {
        cuGraphNodeGetDependentNodes_v2(node, out, edges, count)
    }
}

/// Changes what a stream's next node depends on. `words` are the arguments after the list of nodes,
/// with or without edge data.
pub(crate) fn update(stream: u64, after: Ptr, words: [usize; 3]) -> Outcome {
    context()?;
    let (edges, count) = list(words[0], words[1]);
    let flags = if with_edges() { words[2] } else { words[1] };
    cuStreamUpdateCaptureDependencies_v2(stream, after, edges, count, flags as u32)
}

/// Implements the name without a version suffix: since version 13 with edge data, before it with
/// status and id only.
pub(crate) fn capture_info(
    stream: u64,
    status: Ptr,
    id: Ptr,
    (graph, after, edges, count): (Ptr, Ptr, Ptr, Ptr),
) -> Outcome {
    context()?;
    let (graph, after, edges, count) =
        if with_edges() { (graph, after, edges, count) } else { (0, 0, 0, 0) };
    cuStreamGetCaptureInfo_v3(stream, status, id, graph, after, edges, count)
}
