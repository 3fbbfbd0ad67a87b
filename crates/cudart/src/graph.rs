//! Graph nodes and stream capture: converts structures of the runtime API to those of the driver
//! API.

use std::mem::offset_of;

use cuda_abi::host::{Ptr, address, get, put, written};
use cuda_abi::{
    Abi as _, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY_NODE_PARAMS, CUDA_MEMCPY3D, CUgraphNodeParams,
    CUgraphNodeType, Outcome, cudaKernelNodeParams, dim3,
};

use crate::copy::{in_layers, of_layers, of_line};
use crate::driver::{
    cuGraphAddDependencies_v2, cuGraphAddKernelNode_v2, cuGraphAddMemcpyNode, cuGraphAddNode_v2,
    cuGraphGetEdges_v2, cuGraphKernelNodeGetParams_v2, cuGraphMemcpyNodeGetParams,
    cuGraphNodeGetDependencies_v2, cuGraphNodeGetDependentNodes_v2, cuGraphNodeGetParams,
    cuGraphRemoveDependencies_v2, cuStreamGetCaptureInfo_v3, cuStreamUpdateCaptureDependencies_v2,
};
use crate::registry::{function, host_address};
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

// Parameters of nodes of any kind. The structures of both APIs have the same layout, except for
// those of kernels and copies.

/// Runs a call of the driver with its form of a node's parameters. Results are written to the
/// client's.
pub(crate) fn with_driver_params(params: Ptr, call: impl FnOnce(Ptr) -> Outcome) -> Outcome {
    context()?;
    let inside = offset_of!(CUgraphNodeParams, reserved1);
    let mut bytes = get::<CUgraphNodeParams>(params)?.to_bytes();
    let kind = CUgraphNodeType::of(get(params)?);
    match kind {
        Ok(CUgraphNodeType::KERNEL) => {
            let kernel = kernel(params + inside)?.to_bytes();
            bytes[inside..][..kernel.len()].copy_from_slice(&kernel);
        }
        Ok(CUgraphNodeType::MEMCPY) => {
            let at = inside + offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams);
            let copy = of_layers(params + at)?.to_bytes();
            bytes[at..][..copy.len()].copy_from_slice(&copy);
        }
        _ => return call(params),
    }
    call(bytes.as_ptr().expose_provenance())
}

pub(crate) fn add_any(
    out: Ptr,
    graph: u64,
    after: Ptr,
    (edges, count): (Ptr, usize),
    params: Ptr,
) -> Outcome {
    with_driver_params(params, |at| cuGraphAddNode_v2(out, graph, after, edges, count, at))
}

/// Adds a node; `words` are the arguments after the list of dependencies, with or without edge
/// data.
pub(crate) fn add_any_by_version(out: Ptr, graph: u64, after: Ptr, words: [usize; 3]) -> Outcome {
    let params = if with_edges() { words[2] } else { words[1] };
    add_any(out, graph, after, list(words[0], words[1]), params)
}

/// Creates the runtime's structure for the launch of a node.
fn runtime_kernel(p: &CUDA_KERNEL_NODE_PARAMS) -> cudaKernelNodeParams {
    cudaKernelNodeParams {
        func: host_address(p.func),
        gridDim: dim3 { x: p.gridDimX, y: p.gridDimY, z: p.gridDimZ },
        blockDim: dim3 { x: p.blockDimX, y: p.blockDimY, z: p.blockDimZ },
        sharedMemBytes: p.sharedMemBytes,
        kernelParams: p.kernelParams,
        extra: p.extra,
    }
}

pub(crate) fn kernel_parameters(node: u64, out: Ptr) -> Outcome {
    context()?;
    let found =
        written(CUDA_KERNEL_NODE_PARAMS::zeroed(), |at| cuGraphKernelNodeGetParams_v2(node, at));
    put(out, &runtime_kernel(&found?))
}

pub(crate) fn copy_parameters(node: u64, out: Ptr) -> Outcome {
    context()?;
    let found = written(CUDA_MEMCPY3D::zeroed(), |at| cuGraphMemcpyNodeGetParams(node, at));
    put(out, &in_layers(&found?))
}

/// Writes the parameters of a node with its type.
pub(crate) fn any_parameters(node: u64, out: Ptr) -> Outcome {
    context()?;
    cuGraphNodeGetParams(node, out)?;
    let inside = out + offset_of!(CUgraphNodeParams, reserved1);
    match CUgraphNodeType::of(get(out)?) {
        Ok(CUgraphNodeType::KERNEL) => put(inside, &runtime_kernel(&get(inside)?)),
        Ok(CUgraphNodeType::MEMCPY) => {
            let at = inside + offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams);
            put(at, &in_layers(&get(at)?))
        }
        _ => Ok(()),
    }
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
