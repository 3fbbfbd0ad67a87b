//! Functions: attributes, parameters, occupancy.

use cuda_abi::host::{Ptr, get, put_i32, put_u64, put_u64_if};
use cuda_abi::{
    CUclusterSchedulingPolicy, CUfunction_attribute, CUlaunchConfig, CUsharedMemoryMode, Outcome,
    Status,
};
use runtime::device::MULTIPROCESSORS;

use crate::state::Driver;
use crate::state::function::{Attributes, Function};

fn find(d: &Driver, function: u64) -> Outcome<&Function> {
    d.functions.get(&function).ok_or(Status::INVALID_HANDLE)
}

pub(crate) fn attribute(d: &mut Driver, out: Ptr, attribute: i32, function: u64) -> Outcome {
    use CUfunction_attribute as A;
    let f = find(d, function)?;
    let (major, minor) = d.settings.capability;
    let value = match CUfunction_attribute::of(attribute)? {
        A::MAX_THREADS_PER_BLOCK => f.max_threads(),
        A::SHARED_SIZE_BYTES => f.code.shared_bytes(f.kernel).min(i32::MAX as u64) as i32,
        A::CONST_SIZE_BYTES => f.constants(),
        A::LOCAL_SIZE_BYTES => f.code.function(f.kernel).map_or(0, |f| f.frame_size() as i32),
        A::NUM_REGS => f.registers(),
        // The virtual architecture of the text, and what it is compiled for when it is loaded.
        A::PTX_VERSION => f.target().unwrap_or(major * 10 + minor),
        A::BINARY_VERSION => major * 10 + minor,
        A::MAX_DYNAMIC_SHARED_SIZE_BYTES => f.attributes.max_dynamic,
        A::PREFERRED_SHARED_MEMORY_CARVEOUT => f.attributes.carveout,
        A::REQUIRED_CLUSTER_WIDTH => f.cluster()[0],
        A::REQUIRED_CLUSTER_HEIGHT => f.cluster()[1],
        A::REQUIRED_CLUSTER_DEPTH => f.cluster()[2],
        A::CLUSTER_SIZE_MUST_BE_SET => f.declared_cluster().is_some().into(),
        A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => f.attributes.non_portable,
        A::CLUSTER_SCHEDULING_POLICY_PREFERENCE => f.attributes.policy,
        A::SHARED_MEMORY_MODE => f.attributes.shared_mode as i32,
        A::CACHE_MODE_CA | A::DEVICE_NODE_UPDATE_SUPPORTED => 0,
    };
    put_i32(out, value)
}

pub(crate) fn kernel_attribute(
    d: &mut Driver,
    out: Ptr,
    kind: i32,
    kernel: u64,
    device: i32,
) -> Outcome {
    d.device(device)?;
    attribute(d, out, kind, kernel)
}

pub(crate) fn set_attribute(d: &mut Driver, function: u64, attribute: i32, value: i32) -> Outcome {
    use CUfunction_attribute as A;
    let most = d.settings.device().shared_opt_in;
    let f = d.functions.get_mut(&function).ok_or(Status::INVALID_HANDLE)?;
    // Static and dynamic shared memory must fit together.
    let dynamic = most.saturating_sub(f.code.shared_bytes(f.kernel)) as i32;
    let attribute = CUfunction_attribute::of(attribute)?;
    let is_declared = f.declared_cluster().is_some();
    let Attributes { max_dynamic, shared_mode, cluster, carveout, non_portable, policy } =
        &mut f.attributes;
    match attribute {
        A::MAX_DYNAMIC_SHARED_SIZE_BYTES if (0..=dynamic).contains(&value) => *max_dynamic = value,
        A::PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => *carveout = value,
        A::SHARED_MEMORY_MODE => *shared_mode = CUsharedMemoryMode::of(value)?,
        // Any size that a device may have is taken.
        A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED if matches!(value, 0 | 1) => *non_portable = value,
        A::CLUSTER_SCHEDULING_POLICY_PREFERENCE => {
            *policy = CUclusterSchedulingPolicy::of(value)? as i32;
        }
        A::REQUIRED_CLUSTER_WIDTH | A::REQUIRED_CLUSTER_HEIGHT | A::REQUIRED_CLUSTER_DEPTH
            if value >= 0 =>
        {
            if is_declared {
                return Err(Status::NOT_PERMITTED);
            }
            cluster[attribute as usize - A::REQUIRED_CLUSTER_WIDTH as usize] = value;
        }
        A::CLUSTER_SIZE_MUST_BE_SET if value == 0 => {}
        _ => return Err(Status::INVALID_VALUE),
    }
    Ok(())
}

pub(crate) fn set_kernel_attribute(
    d: &mut Driver,
    attribute: i32,
    value: i32,
    kernel: u64,
    device: i32,
) -> Outcome {
    d.device(device)?;
    set_attribute(d, kernel, attribute, value)
}

/// Ignores a cache preference.
pub(crate) fn set_config(d: &mut Driver, function: u64, _config: i32) -> Outcome {
    find(d, function).map(drop)
}

pub(crate) fn set_kernel_config(d: &mut Driver, kernel: u64, config: i32, device: i32) -> Outcome {
    d.device(device)?;
    set_config(d, kernel, config)
}

pub(crate) fn module(d: &mut Driver, out: Ptr, function: u64) -> Outcome {
    let module = find(d, function)?.module;
    let module = super::module::module_of(d, module)?;
    put_u64(out, module)
}

/// Returns a pointer to the name, valid as long as the function.
pub(crate) fn name(d: &mut Driver, out: Ptr, function: u64) -> Outcome {
    let name = find(d, function)?.name.as_ptr();
    put_u64(out, name.addr() as u64)
}

pub(crate) fn param_info(
    d: &mut Driver,
    function: u64,
    index: usize,
    offset: Ptr,
    size: Ptr,
) -> Outcome {
    let f = find(d, function)?;
    let param = f.code.params(f.kernel).get(index).ok_or(Status::INVALID_VALUE)?;
    put_u64(offset, param.offset.into())?;
    put_u64_if(size, param.size.into())
}

pub(crate) fn param_count(d: &mut Driver, function: u64, out: Ptr) -> Outcome {
    let f = find(d, function)?;
    put_u64(out, f.code.params(f.kernel).len() as u64)
}

pub(crate) fn is_loaded(d: &mut Driver, out: Ptr, function: u64) -> Outcome {
    find(d, function)?;
    put_i32(out, 1)
}

pub(crate) fn load(d: &mut Driver, function: u64) -> Outcome {
    find(d, function).map(drop)
}

// Occupancy, from the limits that the device reports.

pub(crate) fn occupancy(
    d: &mut Driver,
    out: Ptr,
    function: u64,
    threads: i32,
    dynamic: usize,
) -> Outcome {
    let f = find(d, function)?;
    if threads <= 0 {
        return Err(Status::INVALID_VALUE);
    }
    put_i32(out, f.resident_blocks(d.settings.device(), threads, dynamic as u64))
}

pub(crate) fn occupancy_with_flags(
    d: &mut Driver,
    out: Ptr,
    function: u64,
    threads: i32,
    dynamic: usize,
    _flags: u32,
) -> Outcome {
    occupancy(d, out, function, threads, dynamic)
}

/// Finds the block size with the most active threads, and the number of such blocks that fill the
/// device. `dynamic` returns the dynamic shared memory for a block size; if it is a function of the
/// client, the caller has called it without the lock.
pub(crate) fn best_block(
    d: &mut Driver,
    grid: Ptr,
    block: Ptr,
    function: u64,
    dynamic: &dyn Fn(i32) -> usize,
    limit: i32,
) -> Outcome {
    let f = find(d, function)?;
    let limit = if limit <= 0 { f.max_threads() } else { limit.min(f.max_threads()) };
    let sizes = (1..=limit).rev().filter(|t| t % 32 == 0 || *t == limit);
    let held = d.settings.device();
    let best = sizes.map(|t| (f.resident_blocks(held, t, dynamic(t) as u64) * t, t)).max();
    let (active, threads) = best.ok_or(Status::INVALID_VALUE)?;
    put_i32(grid, active / threads * MULTIPROCESSORS as i32)?;
    put_i32(block, threads)
}

pub(crate) fn dynamic_per_block(
    d: &mut Driver,
    out: Ptr,
    function: u64,
    blocks: i32,
    _threads: i32,
) -> Outcome {
    let f = find(d, function)?;
    let blocks = u64::try_from(blocks).ok().filter(|&n| n > 0).ok_or(Status::INVALID_VALUE)?;
    let held = d.settings.device();
    let share = (held.shared / blocks).saturating_sub(held.shared_reserved);
    let fixed = f.code.shared_bytes(f.kernel);
    put_u64(out, share.min(held.shared_opt_in).saturating_sub(fixed))
}

/// Returns the number of clusters that are active at once in a launch of this configuration.
pub(crate) fn clusters(d: &mut Driver, out: Ptr, function: u64, config: Ptr) -> Outcome {
    let f = find(d, function)?;
    if config == 0 {
        return put_i32(out, MULTIPROCESSORS as i32);
    }
    let c = get::<CUlaunchConfig>(config)?;
    let declared = f.cluster().map(|size| size.max(1) as u32);
    let cluster = super::launch::configuration(&c)?.cluster.unwrap_or(declared);
    let product = |sizes: [u32; 3]| sizes.into_iter().fold(1, u32::saturating_mul);
    let threads = product([c.blockDimX, c.blockDimY, c.blockDimZ]);
    let threads = i32::try_from(threads).map_err(|_| Status::INVALID_VALUE)?;
    let blocks = f.resident_blocks(d.settings.device(), threads, c.sharedMemBytes.into());
    put_i32(out, blocks * MULTIPROCESSORS as i32 / product(cluster).max(1) as i32)
}
