//! Functions that call the client back, without the lock.

use cuda_abi::Outcome;
use cuda_abi::host::Ptr;

use crate::api::{function as functions, graph_exec, stream};
use crate::state::Driver;
use crate::state::pending::ClientCall;

/// A function of the client with a pointer argument.
type HostFunction = extern "C" fn(usize);

/// A function of the client that receives the status of a stream.
type StreamCallback = extern "C" fn(u64, i32, usize);

/// Makes a call of the client.
pub(crate) fn call(call: ClientCall) {
    match call {
        ClientCall::Host { function, data } => {
            // SAFETY: by the interface's contract, the client passes the address of a function of
            // this type; callers have checked that it is not null. The lock is not held, so the
            // function may call the driver.
            let function = unsafe { std::mem::transmute::<usize, HostFunction>(function) };
            function(data);
        }
        ClientCall::Stream { stream, function, data } => {
            // SAFETY: as above, with this type.
            let function = unsafe { std::mem::transmute::<usize, StreamCallback>(function) };
            function(stream, 0, data);
        }
    }
}

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
        => best_block(grid, block, function, sizes(by_size), fixed, limit);
    cuOccupancyMaxPotentialBlockSizeWithFlags
        (grid: Ptr, block: Ptr, function: u64, by_size: Ptr, fixed: usize, limit: i32, _flags: u32)
        => best_block(grid, block, function, sizes(by_size), fixed, limit);
}

/// A function of the client: the dynamic shared memory for a block of this many threads.
type DynamicSize = extern "C" fn(i32) -> usize;

/// The largest block size for which the client's function is called.
const MAX_THREADS: i32 = 1024;

/// Returns the dynamic shared memory for each block size, by the client's function if there is one.
/// It is called without the lock.
fn sizes(by_size: Ptr) -> Vec<usize> {
    if by_size == 0 {
        return Vec::new();
    }
    // SAFETY: as for `call`, with this type.
    let by_size = unsafe { std::mem::transmute::<usize, DynamicSize>(by_size) };
    (0..=MAX_THREADS).map(|threads| by_size(threads)).collect()
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
