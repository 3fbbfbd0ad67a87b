//! Launches.

use cuda_abi::host::{Ptr, address, get, put, put_u64, written};
use cuda_abi::{CUdevice_attribute, CUlaunchConfig, Outcome, Status, cudaLaunchConfig_t, dim3};

use crate::driver::{
    cuDeviceGetAttribute, cuLaunchCooperativeKernel, cuLaunchKernel, cuLaunchKernelEx,
};
use crate::registry::function;
use crate::state::{Configuration, context, context_error, device, pop};

/// Pops the last configuration and writes its fields.
pub(crate) fn pop_configuration(grid: Ptr, block: Ptr, shared: Ptr, stream: Ptr) -> Outcome {
    let c = pop()?;
    put(grid, &c.grid)?;
    put(block, &c.block)?;
    put(shared, &c.shared)?;
    put_u64(stream, c.stream)
}

/// Checks a launch's sizes against the limits of this thread's device.
fn check(grid: dim3, block: dim3) -> Outcome {
    use CUdevice_attribute as A;
    let limit =
        |attribute: A| written(0_i32, |at| cuDeviceGetAttribute(at, attribute as i32, device()));
    let threads = [block.x, block.y, block.z].iter().map(|&n| u64::from(n)).product::<u64>();
    if threads == 0 || threads > limit(A::MAX_THREADS_PER_BLOCK)? as u64 {
        return Err(Status::INVALID_CONFIGURATION);
    }
    let sizes = [
        (A::MAX_BLOCK_DIM_X, block.x),
        (A::MAX_BLOCK_DIM_Y, block.y),
        (A::MAX_BLOCK_DIM_Z, block.z),
        (A::MAX_GRID_DIM_X, grid.x),
        (A::MAX_GRID_DIM_Y, grid.y),
        (A::MAX_GRID_DIM_Z, grid.z),
    ];
    for (attribute, size) in sizes {
        if size == 0 || i64::from(size) > i64::from(limit(attribute)?) {
            return Err(Status::INVALID_CONFIGURATION);
        }
    }
    Ok(())
}

/// Checks a launch, and returns its dynamic shared memory in bytes.
fn prepare(c: &Configuration) -> Outcome<u32> {
    check(c.grid, c.block)?;
    u32::try_from(c.shared).map_err(|_| Status::INVALID_VALUE)
}

/// Launches a kernel. The blocks of a cooperative launch can wait for each other, so all must fit
/// on the device at once.
pub(crate) fn kernel(host: Ptr, c: Configuration, args: Ptr, cooperative: bool) -> Outcome {
    context()?;
    let function = function(host)?;
    let shared = prepare(&c)?;
    context_error()?;
    let Configuration { grid: g, block: b, stream, .. } = c;
    match cooperative {
        true => {
            cuLaunchCooperativeKernel(function, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, args)
        }
        false => cuLaunchKernel(function, g.x, g.y, g.z, b.x, b.y, b.z, shared, stream, args, 0),
    }
}

/// Launches a kernel with attributes.
pub(crate) fn configured(config: Ptr, host: Ptr, args: Ptr) -> Outcome {
    context()?;
    let given = get::<cudaLaunchConfig_t>(config)?;
    let c = Configuration {
        grid: given.gridDim,
        block: given.blockDim,
        shared: given.dynamicSmemBytes,
        stream: given.stream,
    };
    let function = function(host)?;
    let shared = prepare(&c)?;
    context_error()?;
    let driver = CUlaunchConfig {
        gridDimX: c.grid.x,
        gridDimY: c.grid.y,
        gridDimZ: c.grid.z,
        blockDimX: c.block.x,
        blockDimY: c.block.y,
        blockDimZ: c.block.z,
        sharedMemBytes: shared,
        hStream: c.stream,
        attrs: given.attrs,
        numAttrs: given.numAttrs,
    };
    cuLaunchKernelEx(address(&driver), function, args, 0)
}
