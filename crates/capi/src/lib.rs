//! The C interface: contexts, memory, modules and launches as functions of a shared library,
//! sessions of mechanisms for other interpreters, and `ptx_run`.
//!
//! What C programs see is the header `include/simtlab.h`, generated from this file. Objects are
//! numbers in tables of this crate, so that a wrong one is an answer and not a crash; addresses of
//! the host are read and written through [`runtime`]'s checked copies. No panic crosses the
//! boundary.
#![allow(unsafe_code, reason = "functions with C names; nothing here follows a pointer")]
#![allow(clippy::needless_pass_by_value, reason = "errors are passed by `map_err`")]
#![allow(non_camel_case_types, reason = "names as C programs write them")]

mod ptx_run;
mod session;
mod stats;
mod tables;

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use runtime::{
    Addr, ContextError, Failure, MapError, Shape, StopKind, host_string, read_host, write_host,
};

pub use ptx_run::ptx_run;
pub use session::*;
pub use stats::simtlab_stats;
use tables::{create, destroy, with};

/// Longest PTX text, in bytes.
pub(crate) const MAX_TEXT: usize = 256 << 20;
/// Longest name, in bytes.
const MAX_NAME: usize = 64 << 10;
/// Most bytes of kernel parameters.
const MAX_PARAMS: usize = 64 << 10;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum simtlab_status {
    /// All went well.
    SimtlabOk = 0,
    /// A pointer that must not be null is, or a size is impossible.
    SimtlabInvalidArgument = 1,
    /// The number is not one of a live context or module.
    SimtlabInvalidHandle = 2,
    /// There is no kernel or variable of this name.
    SimtlabNotFound = 3,
    /// Not enough guest memory.
    SimtlabOutOfMemory = 4,
    /// Guest memory that is not allocated, or not where it is said to be.
    SimtlabBadAddress = 5,
    /// Host memory that cannot be read or written.
    SimtlabBadHostAddress = 6,
    /// PTX with errors, or with what is not supported.
    SimtlabBadProgram = 7,
    /// A launch with sizes or parameters that the kernel or the machine cannot take.
    SimtlabBadLaunch = 8,
    /// The kernel faulted. simtlab_error says where.
    SimtlabFault = 9,
    /// The kernel hangs. simtlab_error says where.
    SimtlabHang = 10,
    /// A defect of the library.
    SimtlabInternal = 11,
}

use simtlab_status::*;

/// How many threads a launch has.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct simtlab_shape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u64,
}

/// A refusal: its status and what `simtlab_error` says.
pub(crate) type Refusal = (simtlab_status, String);

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Runs a call: its refusal is kept for `simtlab_error`, and a panic is one.
fn call(body: impl FnOnce() -> Result<(), Refusal>) -> simtlab_status {
    let end = catch_unwind(AssertUnwindSafe(body));
    let (status, message) = match end {
        Ok(Ok(())) => (SimtlabOk, String::new()),
        Ok(Err(refusal)) => refusal,
        Err(_) => (SimtlabInternal, "a defect of the library: it has panicked".to_owned()),
    };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    // A thread that is ending has no place for it any more.
    let _ = ERROR.try_with(|error| error.replace(message));
    status
}

/// The message of this thread's last call: empty after a success. It is valid until the thread's
/// next call.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_error() -> *const c_char {
    ERROR.try_with(|error| error.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The library's version, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Makes a context with at most `memory` bytes of guest memory; 0 means 8 GiB. Its number goes to
/// `context`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_context_create(memory: u64, context: *mut u64) -> simtlab_status {
    call(|| {
        let id = create(memory);
        put(context.addr(), &id.to_le_bytes()).inspect_err(|_| {
            let _ = destroy(id);
        })
    })
}

/// Ends a context, with all its memory and modules.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_context_destroy(context: u64) -> simtlab_status {
    call(|| destroy(context))
}

/// Allocates `bytes` of guest memory, all zero. The guest address goes to `address`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_alloc(context: u64, bytes: u64, address: *mut u64) -> simtlab_status {
    call(|| {
        with(context, |held| {
            let new = held.context.allocate("buffer", bytes).map_err(map)?;
            put(address.addr(), &new.0.to_le_bytes()).inspect_err(|_| {
                let _ = held.context.free(new);
            })
        })
    })
}

/// Frees what simtlab_alloc gave.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_free(context: u64, address: u64) -> simtlab_status {
    call(|| with(context, |held| held.context.free(Addr(address)).map_err(map)))
}

/// Copies `bytes` from the host to guest memory.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_write(
    context: u64,
    address: u64,
    host: *const c_void,
    bytes: u64,
) -> simtlab_status {
    let host = host.addr() as u64;
    call(|| {
        with(context, |h| h.context.write_from_host(Addr(address), host, bytes).map_err(memory))
    })
}

/// Copies `bytes` of guest memory to the host.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_read(
    context: u64,
    host: *mut c_void,
    address: u64,
    bytes: u64,
) -> simtlab_status {
    let host = host.addr() as u64;
    call(|| with(context, |h| h.context.read_to_host(host, Addr(address), bytes).map_err(memory)))
}

/// Sets `bytes` of guest memory to `value`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_fill(
    context: u64,
    address: u64,
    value: u8,
    bytes: u64,
) -> simtlab_status {
    call(|| with(context, |held| held.context.fill(Addr(address), &[value], bytes).map_err(memory)))
}

/// Loads a PTX text that ends with a null character. The module's number goes to `module`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_load(
    context: u64,
    ptx: *const c_char,
    module: *mut u64,
) -> simtlab_status {
    call(|| {
        let text = string(ptx.addr(), MAX_TEXT, "the PTX")?;
        with(context, |held| {
            let loaded = runtime::Module::load("ptx", &text)
                .map_err(|e| (SimtlabBadProgram, e.to_string()))?;
            let id = held.load(&loaded).map_err(map)?;
            put(module.addr(), &id.to_le_bytes()).inspect_err(|_| {
                let _ = held.unload(id);
            })
        })
    })
}

/// Unloads a module, with its variables.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_unload(context: u64, module: u64) -> simtlab_status {
    call(|| with(context, |held| held.unload(module)))
}

/// Address and size of a global or constant variable of a module. Either pointer may be null.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_variable(
    context: u64,
    module: u64,
    name: *const c_char,
    address: *mut u64,
    bytes: *mut u64,
) -> simtlab_status {
    call(|| {
        let name = string(name.addr(), MAX_NAME, "the name")?;
        with(context, |held| {
            let id = held.module(module)?;
            let found = held.context.variable(id, &name);
            let (at, len) =
                found.ok_or_else(|| (SimtlabNotFound, format!("there is no variable `{name}`")))?;
            put_if(address.addr(), &at.0.to_le_bytes())?;
            put_if(bytes.addr(), &len.to_le_bytes())
        })
    })
}

/// How many parameters a kernel has, and the size of its parameter block. Either pointer may be
/// null.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_params(
    context: u64,
    module: u64,
    kernel: *const c_char,
    count: *mut u64,
    bytes: *mut u64,
) -> simtlab_status {
    call(|| {
        let name = string(kernel.addr(), MAX_NAME, "the name")?;
        with(context, |held| {
            let (_, code, id) = held.kernel(module, &name)?;
            put_if(count.addr(), &(code.params(id).len() as u64).to_le_bytes())?;
            put_if(bytes.addr(), &(code.param_bytes(id) as u64).to_le_bytes())
        })
    })
}

/// Offset and size of a kernel's parameter in its parameter block. Either pointer may be null.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_param(
    context: u64,
    module: u64,
    kernel: *const c_char,
    index: u64,
    offset: *mut u64,
    bytes: *mut u64,
) -> simtlab_status {
    call(|| {
        let name = string(kernel.addr(), MAX_NAME, "the name")?;
        with(context, |held| {
            let (_, code, id) = held.kernel(module, &name)?;
            let param = usize::try_from(index).ok().and_then(|i| code.params(id).get(i));
            let param =
                param.ok_or_else(|| (SimtlabNotFound, format!("there is no parameter {index}")))?;
            put_if(offset.addr(), &u64::from(param.offset).to_le_bytes())?;
            put_if(bytes.addr(), &u64::from(param.size).to_le_bytes())
        })
    })
}

/// Runs a kernel to its end. `params` is its parameter block of `param_bytes` bytes: each parameter
/// at its offset. `stats` may be null. What the kernel prints can be had with simtlab_output.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_launch(
    context: u64,
    module: u64,
    kernel: *const c_char,
    shape: *const simtlab_shape,
    params: *const c_void,
    param_bytes: size_t,
    stats: *mut simtlab_stats,
) -> simtlab_status {
    call(|| {
        let name = string(kernel.addr(), MAX_NAME, "the name")?;
        let shape = read_shape(shape.addr())?;
        if param_bytes > MAX_PARAMS {
            return Err((SimtlabInvalidArgument, format!("{param_bytes} bytes of parameters")));
        }
        let mut block = vec![0; param_bytes];
        get(params.addr(), &mut block, "the parameters")?;
        with(context, |held| {
            let (id, _, kernel) = held.kernel(module, &name)?;
            let report = held.context.launch(id, kernel, shape, &block).map_err(failure)?;
            put_if(stats.addr(), &stat_bytes(&report))?;
            held.output = report.output;
            Ok(())
        })
    })
}

/// Copies what the context's last launch has printed, at most `room` bytes and without an end, to
/// `text`, which may be null if `room` is
/// 0. How many bytes there are goes to `bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_output(
    context: u64,
    text: *mut c_char,
    room: size_t,
    bytes: *mut u64,
) -> simtlab_status {
    call(|| {
        with(context, |held| {
            let part = &held.output[..held.output.len().min(room)];
            if !part.is_empty() {
                put(text.addr(), part)?;
            }
            put(bytes.addr(), &(held.output.len() as u64).to_le_bytes())
        })
    })
}

/// C's type for sizes of objects.
pub(crate) type size_t = usize;

fn read_shape(at: usize) -> Result<Shape, Refusal> {
    let mut bytes = [0; size_of::<simtlab_shape>()];
    get(at, &mut bytes, "the shape")?;
    let word = |i: usize| {
        u32::from_ne_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
    };
    let three = |i: usize| [word(i), word(i + 1), word(i + 2)];
    let mut shared = [0; 8];
    shared.copy_from_slice(&bytes[24..32]);
    Ok(Shape {
        grid: three(0),
        block: three(3),
        shared: u64::from_ne_bytes(shared),
        cooperative: false,
        cluster: None,
    })
}

/// The fields of [`simtlab_stats`] in their order, each at its place.
fn stat_bytes(report: &runtime::Report) -> Vec<u8> {
    let mut words = runtime::LaunchTotals::of(&report.stats).values();
    words.push(u64::try_from(report.time.as_nanos()).unwrap_or(u64::MAX));
    words.push(u64::from(matches!(report.ran, runtime::EngineUsed::Fast(_))));
    let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
    bytes.truncate(size_of::<simtlab_stats>());
    bytes
}

fn get(at: usize, out: &mut [u8], what: &str) -> Result<(), Refusal> {
    if out.is_empty() {
        return Ok(());
    }
    if at == 0 {
        return Err((SimtlabInvalidArgument, format!("the pointer to {what} is null")));
    }
    if read_host(at as u64, out) < out.len() {
        return Err((SimtlabBadHostAddress, format!("{what} cannot be read at {at:#x}")));
    }
    Ok(())
}

fn put(at: usize, bytes: &[u8]) -> Result<(), Refusal> {
    if at == 0 {
        return Err((SimtlabInvalidArgument, "a pointer for a result is null".to_owned()));
    }
    if write_host(at as u64, bytes) < bytes.len() {
        return Err((SimtlabBadHostAddress, format!("a result cannot be written at {at:#x}")));
    }
    Ok(())
}

/// Writes a result that need not be asked for.
fn put_if(at: usize, bytes: &[u8]) -> Result<(), Refusal> {
    if at == 0 { Ok(()) } else { put(at, bytes) }
}

pub(crate) fn string(at: usize, limit: usize, what: &str) -> Result<String, Refusal> {
    if at == 0 {
        return Err((SimtlabInvalidArgument, format!("the pointer to {what} is null")));
    }
    let bytes = host_string(at as u64, limit);
    let bytes = bytes.ok_or_else(|| {
        (SimtlabBadHostAddress, format!("{what} is not a text that ends, at {at:#x}"))
    })?;
    String::from_utf8(bytes).map_err(|_| (SimtlabInvalidArgument, format!("{what} is not UTF-8")))
}

pub(crate) fn map(error: MapError) -> Refusal {
    let status = match error {
        MapError::NotAllocated { .. } | MapError::AlreadyFreed { .. } => SimtlabBadAddress,
        _ => SimtlabOutOfMemory,
    };
    (status, error.to_string())
}

fn memory(error: ContextError) -> Refusal {
    let status = match error {
        ContextError::Map(error) => return map(error),
        ContextError::Access(_) => SimtlabBadAddress,
        ContextError::Host(_) | ContextError::HostUnmapped(_) => SimtlabBadHostAddress,
        ContextError::Module => SimtlabInvalidHandle,
    };
    (status, error.to_string())
}

fn failure(failure: Failure) -> Refusal {
    let status = match failure {
        Failure::Context(error) => return memory(error),
        Failure::Compare(_) => SimtlabOutOfMemory,
        Failure::Refused(_) => SimtlabBadLaunch,
        Failure::Stopped(ref stop) if stop.kind == StopKind::Hang => SimtlabHang,
        Failure::Stopped(_) | Failure::Debugger | Failure::Unmapped(_) => SimtlabFault,
    };
    (status, failure.to_string())
}
