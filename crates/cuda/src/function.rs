//! Functions: attributes, parameters, occupancy.

use std::ffi::CString;
use std::sync::Arc;

use ir::device::{Device, MAX_THREADS, STATIC_SHARED};
use ir::module::Signature;
use runtime::{KernelId, Module, ModuleId, Shape};

use crate::driver::Driver;
use crate::host::{Ptr, put_i32, put_u64, put_u64_if};
use crate::status::{Outcome, Status};

/// A kernel for which the client has a handle.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: u64,
    pub(crate) code: Arc<Module>,
    pub(crate) id: ModuleId,
    pub(crate) kernel: KernelId,
    /// The maximum dynamic shared memory of a launch in bytes.
    pub(crate) max_dynamic: i32,
    carveout: i32,
    /// The kernel's name, for clients that ask for a pointer to it.
    name: CString,
    /// The launch settings of the API before version 4.
    pub(crate) legacy: Legacy,
}

/// Launch settings, as calls of the API before version 4 make them.
#[derive(Clone, Debug)]
pub(crate) struct Legacy {
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) params: Vec<u8>,
}

impl Function {
    pub(crate) fn new(module: u64, code: Arc<Module>, id: ModuleId, kernel: KernelId) -> Self {
        let fixed = code.shared_bytes(kernel).min(STATIC_SHARED);
        let name = code.function(kernel).map_or("", |f| f.name.as_str());
        let name = CString::new(name).unwrap_or_default();
        let legacy = Legacy { block: [1; 3], shared: 0, params: Vec::new() };
        let max_dynamic = (STATIC_SHARED - fixed) as i32;
        Self { module, code, id, kernel, max_dynamic, carveout: -1, name, legacy }
    }

    /// Returns the maximum number of threads of a block.
    fn max_threads(&self) -> i32 {
        let function = self.code.function(self.kernel).map(|f| &f.signature);
        let bounds = match function {
            Some(Signature::Kernel { bounds, .. }) => bounds.required.or(bounds.max),
            _ => None,
        };
        let threads =
            bounds.map_or(MAX_THREADS, |b| b.iter().copied().fold(1, u32::saturating_mul));
        threads.min(MAX_THREADS) as i32
    }

    /// Checks whether the kernel can be launched with blocks of this size.
    pub(crate) fn can_have(&self, block: &[u32; 3]) -> bool {
        let threads = block.iter().copied().fold(1, u32::saturating_mul);
        threads > 0 && threads <= self.max_threads() as u32
    }

    /// Returns the size of the module's constant variables in bytes.
    fn constants(&self) -> i32 {
        let vars = &self.code.program().module().vars;
        let constants = vars.iter().filter(|v| v.space == ir::mods::Space::Const).map(|v| v.size);
        constants.fold(0, u64::saturating_add).min(i32::MAX as u64) as i32
    }

    /// Returns an estimate of a thread's registers: those that the function names, between 8 and
    /// 255.
    fn registers(&self) -> i32 {
        self.code.function(self.kernel).map_or(0, |f| f.regs.len().clamp(8, 255) as i32)
    }
}

fn find(d: &Driver, function: u64) -> Outcome<&Function> {
    d.functions.get(&function).ok_or(Status::INVALID_HANDLE)
}

pub(crate) fn attribute(d: &mut Driver, out: Ptr, attribute: i32, function: u64) -> Outcome {
    let f = find(d, function)?;
    let (major, minor) = d.settings.capability;
    let value = match attribute {
        0 => f.max_threads(),
        1 => f.code.shared_bytes(f.kernel).min(i32::MAX as u64) as i32,
        2 => f.constants(),
        7 => 0,
        3 => f.code.function(f.kernel).map_or(0, |f| f.frame_size() as i32),
        4 => f.registers(),
        5 | 6 => major * 10 + minor,
        8 => f.max_dynamic,
        9 => f.carveout,
        // Clusters are not supported.
        10..=15 => 0,
        _ => return Err(Status::INVALID_VALUE),
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
    let most = d.settings.device().shared_opt_in;
    let f = d.functions.get_mut(&function).ok_or(Status::INVALID_HANDLE)?;
    // Static and dynamic shared memory must fit together.
    let dynamic = most.saturating_sub(f.code.shared_bytes(f.kernel)) as i32;
    match attribute {
        8 if (0..=dynamic).contains(&value) => f.max_dynamic = value,
        9 if (-1..=100).contains(&value) => f.carveout = value,
        10..=15 if value == 0 => {}
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

/// Returns the number of blocks of this size that a multiprocessor holds.
fn blocks(f: &Function, device: &Device, threads: i32, dynamic: u64) -> i32 {
    if threads <= 0 || threads > f.max_threads() {
        return 0;
    }
    let shared = f.code.shared_bytes(f.kernel).saturating_add(dynamic);
    device.blocks_of(threads as u32, shared) as i32
}

/// Checks whether the device holds all blocks of a launch at once.
pub(crate) fn fits(f: &Function, device: &Device, shape: &Shape) -> bool {
    let product = |extents: &[u32; 3]| extents.iter().map(|&n| u64::from(n)).product::<u64>();
    let threads = i32::try_from(product(&shape.block)).unwrap_or(i32::MAX);
    let most = blocks(f, device, threads, shape.shared) * crate::device::MULTIPROCESSORS;
    product(&shape.grid) <= most as u64
}

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
    put_i32(out, blocks(f, d.settings.device(), threads, dynamic as u64))
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
    let best = sizes.map(|t| (blocks(f, held, t, dynamic(t) as u64) * t, t)).max();
    let (active, threads) = best.ok_or(Status::INVALID_VALUE)?;
    put_i32(grid, active / threads * crate::device::MULTIPROCESSORS)?;
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

/// Returns the number of active clusters, which have one block each.
pub(crate) fn clusters(d: &mut Driver, out: Ptr, function: u64, _config: Ptr) -> Outcome {
    find(d, function)?;
    put_i32(out, crate::device::MULTIPROCESSORS)
}
