//! Kernels as nodes of graphs.

use crate::driver::cuGraphAddKernelNode_v2;
use crate::error::Outcome;
use crate::host::{Block, Ptr, structure};
use crate::registry::function;

/// Adds the node that `cudaKernelNodeParams` describes: function, grid, block, 32-bit shared memory, parameters, `extra`.
pub(crate) fn add_kernel(
    out: Ptr,
    graph: u64,
    (after, count): (Ptr, usize),
    params: Ptr,
) -> Outcome {
    let s = structure(params, 56)?;
    // `CUDA_KERNEL_NODE_PARAMS` has the same fields at the same places, and two more.
    let mut b = Block::new(72);
    b.set(0, function(s.u64(0) as Ptr)?);
    for offset in (8..56).step_by(8) {
        b.set(offset, s.u64(offset));
    }
    cuGraphAddKernelNode_v2(out, graph, after, count, b.at())
}
