//! Functions that need no lock: initialisation, errors, versions, entry points; and those that call the client back.

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

/// Gives a static text; null for a code that nobody knows.
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

/// What the journal says of a program that asks for undocumented tables.
const TABLES: &str = "cuGetExportTable (undocumented: compilers do without it; a statically linked CUDA runtime cannot, link \
    with `nvcc -cudart shared`)";

/// Tables of functions without names are no public interface: there are none.
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

/// Notes a call that a library above this one does not support; its name is a C string. No part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_unsupported(name: Ptr) -> i32 {
    match crate::host::name(name) {
        Ok(name) => driver::unsupported(&name),
        Err(status) => status.0,
    }
}

/// A library above this one enters a call of its own, whose name is a C string that stays, or
/// leaves it (0), so that calls of this library are not the client's. No part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_within(name: Ptr) {
    crate::call::within(name);
    if name != 0 {
        crate::failure::clear();
    }
}

/// Notes a call of a library above this one that has failed: function, status, its name, and
/// arguments as text, all of them C strings. No part of CUDA's interface.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_failed(call: Ptr, status: i32, name: Ptr, arguments: Ptr) -> i32 {
    driver::enter("simtlab_failed", |d| {
        let text = crate::host::name;
        crate::failure::tell_of(d, text(call)?, status, text(name)?, text(arguments)?);
        Ok(())
    })
}

/// A function of the client's that takes a pointer.
type HostFunction = extern "C" fn(usize);

fn call(function: Ptr, data: Ptr) {
    // SAFETY: the client gives the address of a function of this type, by the interface's contract; whoever comes here has seen
    // that it is not null. The lock is not held, so the function may come back.
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

/// Launches a graph: what calls the client back is done without the lock.
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
            done = graph::go_on(d, context, left)?;
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

/// A function of the client's that is told what has come of a stream.
type StreamCallback = extern "C" fn(u64, i32, usize);

fn stream_callback(stream: u64, function: Ptr, data: Ptr, flags: u32) -> i32 {
    let status = driver::enter("cuStreamAddCallback", |d| {
        if function == 0 || flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        crate::stream::context_of(d, stream)?;
        capture::refuse_waiting(d, Some(stream))
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

/// A function of the client's: dynamic shared memory for a block of so many threads.
type DynamicSize = extern "C" fn(i32) -> usize;

/// Most threads of a block, which the client's function is asked about.
const MAX_THREADS: i32 = 1024;

fn best_block(grid: Ptr, block: Ptr, function: u64, by_size: Ptr, fixed: usize, limit: i32) -> i32 {
    // Asked without the lock, for every size that there is.
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
        /// Names and addresses.
        pub(super) fn list() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),+]
        }
    };
}

list! {
    cuInit cuDriverGetVersion cuGetErrorString cuGetErrorName cuGetProcAddress cuGetProcAddress_v2 cuGetExportTable
    cuGraphLaunch cuGraphLaunch_ptsz cuLaunchHostFunc cuLaunchHostFunc_ptsz cuStreamAddCallback cuStreamAddCallback_ptsz
    cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags
}
