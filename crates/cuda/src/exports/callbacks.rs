//! Functions that call the client back.

use cuda_abi::Outcome;
use cuda_abi::host::Ptr;

use crate::api::{function as functions, graph_exec, stream};
use crate::client::dynamic_sizes;
use crate::state::Driver;

exports! {
    cuGraphLaunch | cuGraphLaunch_ptsz (exec: u64, stream: u64)
        => |d| graph_exec::launch(d, exec, stream);
    cuLaunchHostFunc | cuLaunchHostFunc_ptsz (stream: u64, function: Ptr, data: Ptr)
        => |d| stream::call(d, stream, function, data);
    cuStreamAddCallback | cuStreamAddCallback_ptsz
        (stream: u64, function: Ptr, data: Ptr, flags: u32)
        => |d| stream::add_callback(d, stream, function, data, flags);
    cuOccupancyMaxPotentialBlockSize
        (grid: Ptr, block: Ptr, function: u64, by_size: Ptr, fixed: usize, limit: i32)
        => best_block(grid, block, function, dynamic_sizes(by_size), fixed, limit);
    cuOccupancyMaxPotentialBlockSizeWithFlags
        (grid: Ptr, block: Ptr, function: u64, by_size: Ptr, fixed: usize, limit: i32, _flags: u32)
        => best_block(grid, block, function, dynamic_sizes(by_size), fixed, limit);
}

fn best_block(
    grid: Ptr,
    block: Ptr,
    function: u64,
    sizes: Vec<usize>,
    fixed: usize,
    limit: i32,
) -> impl FnMut(&mut Driver) -> Outcome {
    move |d| {
        let dynamic = |threads: i32| sizes.get(threads as usize).copied().unwrap_or(fixed);
        functions::best_block(d, grid, block, function, &dynamic, limit)
    }
}
