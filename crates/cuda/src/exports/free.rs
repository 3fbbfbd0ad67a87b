//! Functions that need no lock (initialisation, errors, versions, entry points), and functions that
//! call the client back.

use crate::action::Action;
use crate::driver::{self, outside};
use crate::host::{Ptr, put_i32, put_u64};
use crate::status::Status;
use crate::{capture, graph, proc_address};

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> i32 {
    driver::initialise(flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(out: Ptr) -> i32 {
    outside(|| {
        let version = driver::version();
        put_i32(out, version)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(status: i32, out: Ptr) -> i32 {
    outside(|| text(Status(status).about(), out))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(status: i32, out: Ptr) -> i32 {
    outside(|| text(Status(status).name(), out))
}

/// Returns a static text; null and an error for an unknown code.
fn text(text: Option<&'static std::ffi::CStr>, out: Ptr) -> crate::status::Outcome {
    put_u64(out, text.map_or(0, |t| t.as_ptr().addr() as u64))?;
    text.map(drop).ok_or(Status::INVALID_VALUE)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress(name: Ptr, out: Ptr, version: i32, flags: u64) -> i32 {
    outside(|| proc_address::get(name, out, version, flags, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    name: Ptr,
    out: Ptr,
    version: i32,
    flags: u64,
    result: Ptr,
) -> i32 {
    outside(|| proc_address::get(name, out, version, flags, result))
}

/// The event log's text for programs that ask for undocumented tables.
const TABLES: &str = "cuGetExportTable (undocumented: compilers do without it; a statically linked CUDA runtime cannot, link \
    with `nvcc -cudart shared`)";

/// Returns no table: tables of unnamed functions are not part of the public interface.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetExportTable(out: Ptr, _id: Ptr) -> i32 {
    driver::unsupported(TABLES);
    outside(|| {
        if out != 0 {
            put_u64(out, 0)?;
        }
        Err(Status::NOT_FOUND)
    })
}

/// Records a call that a library on top of this one does not support; `name` is a C string. Not
/// part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_unsupported(name: Ptr) -> i32 {
    match crate::host::name(name) {
        Ok(name) => driver::unsupported(&name),
        Err(status) => status.0,
    }
}

/// Notes that a library on top of this one enters (1) or leaves (0) a call of its own, so that its
/// calls here are not taken for the client's. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_within(name: Ptr) {
    crate::call::within(name);
    if name != 0 {
        crate::failure::clear();
    }
}

/// Records a failed call of a library on top of this one: the function, the status, its name, and
/// the arguments as text, all but the status as C strings. Not part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_failed(call: Ptr, status: i32, name: Ptr, arguments: Ptr) -> i32 {
    driver::enter("simtlab_failed", |d| {
        let text = crate::host::name;
        crate::failure::record_call(d, text(call)?, status, text(name)?, text(arguments)?);
        Ok(())
    })
}

/// A function of the client with a pointer argument.
type HostFunction = extern "C" fn(usize);

fn call(function: Ptr, data: Ptr) {
    // SAFETY: by the interface's contract, the client passes the address of a function of this
    // type; callers have checked that it is not null. The lock is not held, so the function may
    // call the driver.
    let function = unsafe { std::mem::transmute::<usize, HostFunction>(function) };
    function(data);
}

fn call_back(stream: u64, function: Ptr, data: Ptr) -> i32 {
    let mut now = false;
    let status = driver::enter("cuLaunchHostFunc", |d| {
        if function == 0 {
            return Err(Status::INVALID_VALUE);
        }
        crate::stream::context_of(d, stream)?;
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
    let status = driver::enter("cuGraphLaunch", |d| {
        begun = graph::begin(d, exec, stream)?;
        Ok(())
    });
    let Some((context, actions)) = begun.filter(|_| status == 0) else { return status };
    let mut left = &actions[..];
    while !left.is_empty() {
        let mut done = 0;
        let status = driver::enter("cuGraphLaunch", |d| {
            done = graph::run_until_call(d, context, left)?;
            Ok(())
        });
        if status != 0 {
            return status;
        }
        left = &left[done..];
        if let Some(((_, Action::Call { function, data }), rest)) = left.split_first() {
            call(*function, *data);
            left = rest;
        }
    }
    0
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
    let status = driver::enter("cuStreamAddCallback", |d| {
        if function == 0 || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        crate::stream::context_of(d, stream)?;
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
    driver::enter("cuOccupancyMaxPotentialBlockSize", |d| {
        let dynamic = |threads: i32| sizes.get(threads as usize).copied().unwrap_or(fixed);
        crate::function::best_block(d, grid, block, function, &dynamic, limit)
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

macro_rules! list {
    ($($name:ident)+) => {
        /// Lists names and addresses.
        pub(super) fn list() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),+]
        }
    };
}

list! {
    cuInit cuDriverGetVersion cuGetErrorString cuGetErrorName cuGetProcAddress cuGetProcAddress_v2
    cuGetExportTable
    cuGraphLaunch cuGraphLaunch_ptsz cuLaunchHostFunc cuLaunchHostFunc_ptsz cuStreamAddCallback
    cuStreamAddCallback_ptsz
    cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
}
