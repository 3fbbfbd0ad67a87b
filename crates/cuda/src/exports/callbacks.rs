//! Functions that call the client back, without the lock.

use cuda_abi::Status;
use cuda_abi::host::Ptr;

use crate::api::{capture, function as functions, graph_exec};
use crate::entry::enter;
use crate::state::action::Action;

/// A function of the client with a pointer argument.
type HostFunction = extern "C" fn(usize);

/// Calls a function of the client.
pub(crate) fn call(function: Ptr, data: Ptr) {
    // SAFETY: by the interface's contract, the client passes the address of a function of this
    // type; callers have checked that it is not null. The lock is not held, so the function may
    // call the driver.
    let function = unsafe { std::mem::transmute::<usize, HostFunction>(function) };
    function(data);
}

fn call_back(stream: u64, function: Ptr, data: Ptr) -> i32 {
    let mut now = false;
    let status = enter("cuLaunchHostFunc", |d| {
        if function == 0 {
            return Err(Status::INVALID_VALUE);
        }
        d.stream_context(stream)?;
        now = !capture::is_captured(d, stream)?;
        if now { Ok(()) } else { capture::submit(d, stream, Action::Call { function, data }) }
    });
    if status == 0 && now {
        call(function, data);
    }
    status
}

/// Launches a graph. Calls of the client are made without the lock.
fn launch_graph(exec: u64, stream: u64) -> i32 {
    let mut begun = None;
    let status = enter("cuGraphLaunch", |d| {
        begun = graph_exec::begin(d, exec, stream)?;
        Ok(())
    });
    let Some(mut run) = begun.filter(|_| status == 0) else { return status };
    loop {
        let mut next = None;
        let status = enter("cuGraphLaunch", |d| {
            next = run.proceed(d)?;
            Ok(())
        });
        match next.filter(|_| status == 0) {
            Some((function, data)) => call(function, data),
            None => return status,
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(exec: u64, stream: u64) -> i32 {
    launch_graph(exec, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch_ptsz(exec: u64, stream: u64) -> i32 {
    launch_graph(exec, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(stream: u64, function: Ptr, data: Ptr) -> i32 {
    call_back(stream, function, data)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc_ptsz(stream: u64, function: Ptr, data: Ptr) -> i32 {
    call_back(stream, function, data)
}

/// A function of the client that receives the status of a stream.
type StreamCallback = extern "C" fn(u64, i32, usize);

fn stream_callback(stream: u64, function: Ptr, data: Ptr, flags: u32) -> i32 {
    let status = enter("cuStreamAddCallback", |d| {
        if function == 0 || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        d.stream_context(stream)?;
        capture::refuse_synchronization(d, Some(stream))
    });
    if status == 0 {
        // SAFETY: as for `call`, with this type.
        let function = unsafe { std::mem::transmute::<usize, StreamCallback>(function) };
        function(stream, 0, data);
    }
    status
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamAddCallback(stream: u64, function: Ptr, data: Ptr, flags: u32) -> i32 {
    stream_callback(stream, function, data, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamAddCallback_ptsz(
    stream: u64,
    function: Ptr,
    data: Ptr,
    flags: u32,
) -> i32 {
    stream_callback(stream, function, data, flags)
}

/// A function of the client: the dynamic shared memory for a block of this many threads.
type DynamicSize = extern "C" fn(i32) -> usize;

/// The largest block size for which the client's function is called.
const MAX_THREADS: i32 = 1024;

fn best_block(grid: Ptr, block: Ptr, function: u64, by_size: Ptr, fixed: usize, limit: i32) -> i32 {
    // Called without the lock, for every block size.
    let sizes: Vec<usize> = if by_size == 0 {
        Vec::new()
    } else {
        // SAFETY: as for `call`, with this type.
        let by_size = unsafe { std::mem::transmute::<usize, DynamicSize>(by_size) };
        (0..=MAX_THREADS).map(|threads| by_size(threads)).collect()
    };
    enter("cuOccupancyMaxPotentialBlockSize", |d| {
        let dynamic = |threads: i32| sizes.get(threads as usize).copied().unwrap_or(fixed);
        functions::best_block(d, grid, block, function, &dynamic, limit)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: Ptr,
    block: Ptr,
    function: u64,
    by_size: Ptr,
    fixed: usize,
    limit: i32,
) -> i32 {
    best_block(grid, block, function, by_size, fixed, limit)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Ptr,
    block: Ptr,
    function: u64,
    by_size: Ptr,
    fixed: usize,
    limit: i32,
    _flags: u32,
) -> i32 {
    best_block(grid, block, function, by_size, fixed, limit)
}

cuda_abi::exports_list! {
    cuGraphLaunch cuGraphLaunch_ptsz cuLaunchHostFunc cuLaunchHostFunc_ptsz cuStreamAddCallback
    cuStreamAddCallback_ptsz
    cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
}
