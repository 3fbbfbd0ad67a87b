//! Graph nodes and stream capture: converts structures of the runtime API to those of the driver
//! API.

use cuda_abi::host::{Ptr, address, get};
use cuda_abi::{CUDA_KERNEL_NODE_PARAMS, Outcome, cudaKernelNodeParams};

use crate::copy::{of_layers, of_line};
use crate::driver::{
    cuGraphAddDependencies_v2, cuGraphAddKernelNode_v2, cuGraphAddMemcpyNode, cuGraphGetEdges_v2,
    cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependentNodes_v2, cuGraphRemoveDependencies_v2,
    cuStreamGetCaptureInfo_v3, cuStreamUpdateCaptureDependencies_v2,
};
use crate::registry::function;
use crate::state::context;

/// The first runtime version whose functions on dependencies take edge data.
const WITH_EDGES: i32 = 13_000;

/// Creates the driver's structure for a kernel launch that the runtime's describes.
pub(crate) fn kernel(params: Ptr) -> Outcome<CUDA_KERNEL_NODE_PARAMS> {
    let p = get::<cudaKernelNodeParams>(params)?;
    let (grid, block) = (p.gridDim, p.blockDim);
    Ok(CUDA_KERNEL_NODE_PARAMS {
        func: function(p.func)?,
        gridDimX: grid.x,
        gridDimY: grid.y,
        gridDimZ: grid.z,
        blockDimX: block.x,
        blockDimY: block.y,
        blockDimZ: block.z,
        sharedMemBytes: p.sharedMemBytes,
        kernelParams: p.kernelParams,
        extra: p.extra,
        kern: 0,
        ctx: 0,
    })
}

pub(crate) fn add_kernel(
    out: Ptr,
    graph: u64,
    (after, count): (Ptr, usize),
    params: Ptr,
) -> Outcome {
    cuGraphAddKernelNode_v2(out, graph, after, count, address(&kernel(params)?))
}

/// Adds a copy that `cudaMemcpy3DParms` describes.
pub(crate) fn add_copy(out: Ptr, graph: u64, (after, count): (Ptr, usize), params: Ptr) -> Outcome {
    context()?;
    cuGraphAddMemcpyNode(out, graph, after, count, address(&of_layers(params)?), 0)
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
    cuGraphAddMemcpyNode(out, graph, after, count, address(&of_line(to, from, len, kind)?), 0)
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
