//! Kernel launches: parameters in all forms, pinned host memory, faults.

use runtime::{Event, Failure, Shape, StopKind};

use crate::action::Action;
use crate::capture::submit;
use crate::driver::Driver;
use crate::function::Function;
use crate::host::{Ptr, get, get_u64, get_u64s, structure};
use crate::status::{Outcome, Status};
use crate::stream::context_of;

/// The launch attribute for cooperative launches.
const COOPERATIVE: u32 = 2;

/// The keys in a list of `extra` options.
const EXTRA_END: u64 = 0;
const EXTRA_POINTER: u64 = 1;
const EXTRA_SIZE: u64 = 2;

/// A kernel launch as the client asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) function: u64,
    pub(crate) shape: Shape,
    pub(crate) params: Vec<u8>,
}

fn find(d: &Driver, function: u64) -> Outcome<&Function> {
    d.functions.get(&function).ok_or(Status::INVALID_HANDLE)
}

/// Builds the parameter block from an array of pointers or from a packed buffer.
pub(crate) fn params(d: &Driver, function: u64, pointers: Ptr, extra: Ptr) -> Outcome<Vec<u8>> {
    let f = find(d, function)?;
    let len = f.code.param_bytes(f.kernel);
    let mut block = vec![0; len];
    if pointers != 0 {
        if extra != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let params = f.code.params(f.kernel);
        let places = get_u64s(pointers, params.len())?;
        for (param, place) in params.iter().zip(places) {
            let bytes = &mut block[param.offset as usize..][..param.size as usize];
            get(place as Ptr, bytes)?;
        }
    } else if extra != 0 {
        let (at, size) = packed(extra)?;
        // A packed buffer may be longer than the parameters, but not shorter.
        if size < len || at == 0 {
            return Err(Status::INVALID_VALUE);
        }
        get(at, &mut block)?;
    } else if len > 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(block)
}

/// Returns the address and size of a packed buffer.
fn packed(extra: Ptr) -> Outcome<(Ptr, usize)> {
    let (mut at, mut size) = (0, 0);
    for i in 0..4 {
        match get_u64(extra + 16 * i)? {
            EXTRA_END => break,
            EXTRA_POINTER => at = get_u64(extra + 16 * i + 8)? as Ptr,
            EXTRA_SIZE => size = get_u64(get_u64(extra + 16 * i + 8)? as Ptr)? as usize,
            _ => return Err(Status::INVALID_VALUE),
        }
    }
    Ok((at, size))
}

pub(crate) fn kernel(
    d: &mut Driver,
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    (pointers, extra): (Ptr, Ptr),
) -> Outcome {
    let shape = Shape { grid, block, shared: shared.into(), cooperative: false };
    shaped(d, function, shape, stream, (pointers, extra))
}

fn shaped(
    d: &mut Driver,
    function: u64,
    shape: Shape,
    stream: u64,
    (pointers, extra): (Ptr, Ptr),
) -> Outcome {
    context_of(d, stream)?;
    let params = params(d, function, pointers, extra)?;
    if shape.cooperative {
        let f = find(d, function)?;
        // A block size that no launch can have is an error of its own.
        if !f.can_have(&shape.block) {
            return Err(Status::INVALID_VALUE);
        }
        if !crate::function::fits(f, d.settings.device(), &shape) {
            return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    submit(d, stream, Action::Launch(Launch { function, shape, params }))
}

/// Launches a kernel as `CUlaunchConfig` says.
pub(crate) fn configured(
    d: &mut Driver,
    config: Ptr,
    function: u64,
    pointers: Ptr,
    extra: Ptr,
) -> Outcome {
    let s = structure(config, 56)?;
    let three = |o: usize| [s.u32(o), s.u32(o + 4), s.u32(o + 8)];
    let count = s.u32(48) as usize;
    let attributes = s.u64(40) as Ptr;
    if count > 64 || (count > 0 && attributes == 0) {
        return Err(Status::INVALID_VALUE);
    }
    let mut cooperative = false;
    for i in 0..count {
        let attribute = structure(attributes + 72 * i, 72)?;
        let cluster = [attribute.u32(8), attribute.u32(12), attribute.u32(16)];
        if attribute.u32(0) == 4 && cluster.iter().any(|&n| n > 1) {
            return Err(d.unsupported("cuLaunchKernelEx with clusters of several blocks"));
        }
        cooperative |= attribute.u32(0) == COOPERATIVE && attribute.u32(8) != 0;
    }
    let (grid, block, shared) = (three(0), three(12), s.u32(24).into());
    let shape = Shape { grid, block, shared, cooperative };
    shaped(d, function, shape, s.u64(32), (pointers, extra))
}

/// Launches a kernel cooperatively: all blocks are resident at once, so the device must hold them.
pub(crate) fn cooperative(
    d: &mut Driver,
    function: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    pointers: Ptr,
) -> Outcome {
    let shape = Shape { grid, block, shared: shared.into(), cooperative: true };
    shaped(d, function, shape, stream, (pointers, 0))
}

/// Runs a launch in a context.
pub(crate) fn run(d: &mut Driver, context: u64, launch: &Launch) -> Outcome {
    if let Some(failed) = d.context(context)?.failed {
        return Err(failed);
    }
    let f = find(d, launch.function)?;
    if launch.shape.shared > f.max_dynamic.max(0) as u64 {
        return Err(Status::INVALID_VALUE);
    }
    let (id, kernel) = (f.id, f.kernel);
    let name = f.code.function(kernel).map_or_else(String::new, |f| f.name.clone());
    let shown = map_pinned(d, &launch.params);
    swap_heap(d, context);
    let end = d.device.launch(id, kernel, launch.shape, &launch.params);
    swap_heap(d, context);
    for address in shown {
        // These ranges have just been mapped.
        let _ = d.device.unmap_host(address);
    }
    match end {
        Ok(report) => {
            d.log(&Event::launch(&name, &launch.shape, &report));
            print(&report.output);
            Ok(())
        }
        Err(failure) => Err(fail(d, context, &name, &failure)),
    }
}

/// Swaps a context's device heap into the device, or out of it.
fn swap_heap(d: &mut Driver, context: u64) {
    if let Some(context) = d.contexts.get_mut(&context) {
        std::mem::swap(d.device.heap_mut(), &mut context.heap);
    }
}

/// Maps the pinned host memory that words of the parameters point to. Returns the addresses of the
/// mapped ranges.
fn map_pinned(d: &mut Driver, params: &[u8]) -> Vec<u64> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let words = (0..params.len().saturating_sub(7)).step_by(4).map(|at| {
        let mut word = [0; 8];
        word.copy_from_slice(&params[at..at + 8]);
        u64::from_le_bytes(word)
    });
    for word in words {
        let found = d.memory.pinned().find(|&(at, len)| at <= word && word - at < len);
        if let Some((at, len)) = found {
            ranges.push(crate::memory::pages_of(at, len));
        }
    }
    ranges.sort_unstable();
    ranges.dedup();
    let mut shown = Vec::new();
    for (at, len) in ranges {
        if d.device.map_host("pinned memory", at, len).is_ok() {
            shown.push(at);
        }
    }
    shown
}

/// Writes a kernel's output to the standard output stream.
fn print(output: &[u8]) {
    use std::io::Write as _;
    if !output.is_empty() {
        let mut out = std::io::stdout();
        // The client may have closed the stream.
        let _ = out.write_all(output).and_then(|()| out.flush());
    }
}

/// Returns the status of a failed launch. A fault or hang makes the context fail.
fn fail(d: &mut Driver, context: u64, name: &str, failure: &Failure) -> Status {
    let status = match failure {
        Failure::Stopped(stop) => {
            d.log(&Event::stop(stop));
            d.print_error(&stop.to_string());
            let status = of_stop(stop.kind, stop.code);
            if let Some(context) = d.contexts.get_mut(&context) {
                context.failed = Some(status);
            }
            return status;
        }
        Failure::Context(error) => crate::copy::of_context(error),
        Failure::Compare(_) => Status::OUT_OF_MEMORY,
        Failure::Refused(error) => match error {
            vm::LaunchError::Host(_) => Status::OUT_OF_MEMORY,
            vm::LaunchError::Threads(_) | vm::LaunchError::Dimension { .. } => {
                Status::INVALID_VALUE
            }
            vm::LaunchError::Bounds { .. } => Status::INVALID_VALUE,
            vm::LaunchError::Shared { .. } => Status::OUT_OF_RESOURCES,
            _ => Status::INVALID_VALUE,
        },
    };
    if d.settings.trace {
        d.print_error(&format!("the launch of `{name}` cannot begin: {failure}"));
    }
    status
}

/// Returns the status that hardware reports for a fault.
fn of_stop(kind: StopKind, code: &str) -> Status {
    match (kind, code) {
        (StopKind::Hang, _) => Status::LAUNCH_TIMEOUT,
        (_, "misaligned") => Status::MISALIGNED_ADDRESS,
        (_, "assertion") => Status::ASSERT,
        (_, "wrong-space") => Status::INVALID_ADDRESS_SPACE,
        (_, "stack-overflow") => Status::HARDWARE_STACK_ERROR,
        (_, "call-target" | "branch-index") => Status::INVALID_PC,
        (_, "null-pointer" | "use-after-free" | "read-only" | "out-of-bounds" | "not-mapped") => {
            Status::ILLEGAL_ADDRESS
        }
        _ => Status::LAUNCH_FAILED,
    }
}

// Launches in the API before version 4.

fn legacy(d: &mut Driver, function: u64) -> Outcome<&mut crate::function::Legacy> {
    Ok(&mut d.functions.get_mut(&function).ok_or(Status::INVALID_HANDLE)?.legacy)
}

pub(crate) fn set_block(d: &mut Driver, function: u64, x: i32, y: i32, z: i32) -> Outcome {
    let positive = |n: i32| u32::try_from(n).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE);
    let block = [positive(x)?, positive(y)?, positive(z)?];
    legacy(d, function)?.block = block;
    Ok(())
}

pub(crate) fn set_shared(d: &mut Driver, function: u64, bytes: u32) -> Outcome {
    legacy(d, function)?.shared = bytes;
    Ok(())
}

pub(crate) fn set_param_size(d: &mut Driver, function: u64, bytes: u32) -> Outcome {
    if bytes > 64 << 10 {
        return Err(Status::INVALID_VALUE);
    }
    legacy(d, function)?.params.resize(bytes as usize, 0);
    Ok(())
}

/// Writes to the parameter block.
pub(crate) fn set_param(d: &mut Driver, function: u64, offset: i32, bytes: &[u8]) -> Outcome {
    let offset = usize::try_from(offset).map_err(|_| Status::INVALID_VALUE)?;
    let params = &mut legacy(d, function)?.params;
    let end =
        offset.checked_add(bytes.len()).filter(|&e| e <= 64 << 10).ok_or(Status::INVALID_VALUE)?;
    if params.len() < end {
        params.resize(end, 0);
    }
    params[offset..end].copy_from_slice(bytes);
    Ok(())
}

pub(crate) fn set_param_from(
    d: &mut Driver,
    function: u64,
    offset: i32,
    at: Ptr,
    len: u32,
) -> Outcome {
    if len > 64 << 10 {
        return Err(Status::INVALID_VALUE);
    }
    let mut bytes = vec![0; len as usize];
    get(at, &mut bytes)?;
    set_param(d, function, offset, &bytes)
}

pub(crate) fn legacy_grid(d: &mut Driver, function: u64, x: i32, y: i32, stream: u64) -> Outcome {
    context_of(d, stream)?;
    let positive = |n: i32| u32::try_from(n).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE);
    let grid = [positive(x)?, positive(y)?, 1];
    let f = find(d, function)?;
    let (block, shared) = (f.legacy.block, f.legacy.shared.into());
    let mut params = f.legacy.params.clone();
    let len = f.code.param_bytes(f.kernel);
    if params.len() < len {
        return Err(Status::INVALID_VALUE);
    }
    params.truncate(len);
    let shape = Shape { grid, block, shared, cooperative: false };
    submit(d, stream, Action::Launch(Launch { function, shape, params }))
}

pub(crate) fn legacy_one(d: &mut Driver, function: u64) -> Outcome {
    legacy_grid(d, function, 1, 1, 0)
}
