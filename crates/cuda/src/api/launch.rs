//! Kernel launches: sizes, and parameters in all forms.

use cuda_abi::host::{Ptr, get, get_bytes, get_list};
use cuda_abi::{
    CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig, CUsharedMemoryMode, Outcome, Status,
};
use runtime::{MAX_CLUSTER, Shape};

use super::capture::submit;
use crate::state::Driver;
use crate::state::action::{Action, Launch};
use crate::state::function::{Function, Legacy};

/// The maximum number of attributes of a launch.
const MAX_ATTRIBUTES: usize = 64;

/// The keys in a list of `extra` options.
const EXTRA_END: u64 = 0;
const EXTRA_POINTER: u64 = 1;
const EXTRA_SIZE: u64 = 2;

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
        let places = get_list::<u64>(pointers, params.len())?;
        for (param, place) in params.iter().zip(places) {
            let bytes = &mut block[param.offset as usize..][..param.size as usize];
            get_bytes(place as Ptr, bytes)?;
        }
    } else if extra != 0 {
        let (at, size) = packed(extra)?;
        // A packed buffer may be longer than the parameters, but not shorter.
        if size < len || at == 0 {
            return Err(Status::INVALID_VALUE);
        }
        get_bytes(at, &mut block)?;
    } else if len > 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(block)
}

/// Returns the address and size of a packed buffer.
fn packed(extra: Ptr) -> Outcome<(Ptr, usize)> {
    let (mut at, mut size) = (0, 0);
    for i in 0..4 {
        match get::<u64>(extra + 16 * i)? {
            EXTRA_END => break,
            EXTRA_POINTER => at = get::<u64>(extra + 16 * i + 8)? as Ptr,
            EXTRA_SIZE => size = get::<u64>(get::<u64>(extra + 16 * i + 8)? as Ptr)? as usize,
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
    let shape = Shape { grid, block, shared: shared.into(), cooperative: false, cluster: None };
    shaped(d, function, (shape, CUsharedMemoryMode::DEFAULT), stream, (pointers, extra))
}

/// Checks that a kernel and a stream are of one context.
fn check_context(d: &Driver, function: u64, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    let is_it = d.kernel_context(function, context)? == context;
    if is_it { Ok(()) } else { Err(Status::INVALID_HANDLE) }
}

fn shaped(
    d: &mut Driver,
    function: u64,
    (shape, shared_mode): (Shape, CUsharedMemoryMode),
    stream: u64,
    (pointers, extra): (Ptr, Ptr),
) -> Outcome {
    check_context(d, function, stream)?;
    let params = params(d, function, pointers, extra)?;
    if shape.cooperative {
        let f = find(d, function)?;
        // A block size that no launch can have is an error of its own.
        if !f.can_have(&shape.block) {
            return Err(Status::INVALID_VALUE);
        }
        if !f.fits(d.settings.device(), &shape) {
            return Err(Status::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    submit(d, stream, Action::Launch(Launch { function, shape, params, shared_mode }))
}

/// What the attributes of a launch say.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaunchAttributes {
    pub(super) cooperative: bool,
    /// The blocks of a cluster.
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) shared_mode: CUsharedMemoryMode,
}

/// Reads the attributes of a configuration.
pub(super) fn configuration(c: &CUlaunchConfig) -> Outcome<LaunchAttributes> {
    let count = c.numAttrs as usize;
    if count > MAX_ATTRIBUTES {
        return Err(Status::INVALID_VALUE);
    }
    attributes(&get_list::<CUlaunchAttribute>(c.attrs, count)?)
}

/// The same for a list of attributes.
pub(super) fn attributes(list: &[CUlaunchAttribute]) -> Outcome<LaunchAttributes> {
    let (mut cooperative, mut cluster) = (false, None);
    let mut shared_mode = CUsharedMemoryMode::DEFAULT;
    for attribute in list {
        match CUlaunchAttributeID::of(attribute.id) {
            Ok(CUlaunchAttributeID::CLUSTER_DIMENSION) => {
                let [x, y, z, ..] = attribute.value;
                let size = [x, y, z].into_iter().fold(1, u32::saturating_mul);
                if size == 0 || size > MAX_CLUSTER {
                    return Err(Status::INVALID_CLUSTER_SIZE);
                }
                cluster = Some([x, y, z]);
            }
            Ok(CUlaunchAttributeID::COOPERATIVE) => cooperative |= attribute.value[0] != 0,
            Ok(CUlaunchAttributeID::SHARED_MEMORY_MODE) => {
                shared_mode = CUsharedMemoryMode::of(attribute.value[0].cast_signed())?;
            }
            Err(_) => {}
        }
    }
    Ok(LaunchAttributes { cooperative, cluster, shared_mode })
}

/// Launches a kernel with attributes.
pub(crate) fn configured(
    d: &mut Driver,
    config: Ptr,
    function: u64,
    pointers: Ptr,
    extra: Ptr,
) -> Outcome {
    let c = get::<CUlaunchConfig>(config)?;
    let LaunchAttributes { cooperative, cluster, shared_mode } = configuration(&c)?;
    let shape = Shape {
        grid: [c.gridDimX, c.gridDimY, c.gridDimZ],
        block: [c.blockDimX, c.blockDimY, c.blockDimZ],
        shared: c.sharedMemBytes.into(),
        cooperative,
        cluster,
    };
    shaped(d, function, (shape, shared_mode), c.hStream, (pointers, extra))
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
    let shape = Shape { grid, block, shared: shared.into(), cooperative: true, cluster: None };
    shaped(d, function, (shape, CUsharedMemoryMode::DEFAULT), stream, (pointers, 0))
}

// Launches in the API before version 4.

fn legacy(d: &mut Driver, function: u64) -> Outcome<&mut Legacy> {
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
    get_bytes(at, &mut bytes)?;
    set_param(d, function, offset, &bytes)
}

pub(crate) fn legacy_grid(d: &mut Driver, function: u64, x: i32, y: i32, stream: u64) -> Outcome {
    check_context(d, function, stream)?;
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
    let shape = Shape { grid, block, shared, cooperative: false, cluster: None };
    let shared_mode = CUsharedMemoryMode::DEFAULT;
    submit(d, stream, Action::Launch(Launch { function, shape, params, shared_mode }))
}

pub(crate) fn legacy_one(d: &mut Driver, function: u64) -> Outcome {
    legacy_grid(d, function, 1, 1, 0)
}
