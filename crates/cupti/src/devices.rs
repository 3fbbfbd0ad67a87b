//! Records of devices, and what the driver tells of pools. None of these calls is recorded.
#![allow(non_snake_case, reason = "fields have the names of the header")]

use std::ffi::CString;

use cuda_abi::host::written;
use cuda_abi::{CUdevice_attribute as Attribute, CUmemPool_attribute as PoolAttribute};
use culibs::driver::{
    cuDeviceGetAttribute, cuDeviceGetCount, cuDeviceGetName, cuDeviceGetUuid_v2,
    cuDeviceTotalMem_v2, cuMemPoolGetAttribute,
};

use crate::listener::asking;
use crate::records::{
    CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS, CUPTI_ACTIVITY_KIND_DEVICE, Device,
};
use crate::state::with;

/// What has no number.
const NONE: u32 = u32::MAX;

/// Records all devices, once.
pub(crate) fn record() {
    let kind = CUPTI_ACTIVITY_KIND_DEVICE;
    let is_due = with(|state| {
        state.kinds.contains(&kind) && !std::mem::replace(&mut state.recorded_devices, true)
    });
    if !is_due {
        return;
    }
    let count = asking(|| written(0_i32, cuDeviceGetCount));
    for device in 0..count.unwrap_or(0) {
        let record = asking(|| described(device));
        with(|state| state.push(record.to_bytes()));
    }
}

/// Asks for an attribute; 0 if there is no answer.
fn attribute(attribute: Attribute, device: i32) -> u32 {
    let value = written(0_i32, |out| cuDeviceGetAttribute(out, attribute as i32, device));
    value.unwrap_or(0).cast_unsigned()
}

fn described(device: i32) -> Device {
    use Attribute as A;
    let get = |name: A| attribute(name, device);
    let name = written([0_u8; 64], |out| cuDeviceGetName(out, 64, device)).unwrap_or([0; 64]);
    let name: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    let uuid = written([0_u8; 16], |out| cuDeviceGetUuid_v2(out, device));
    let memory = written(0_u64, |out| cuDeviceTotalMem_v2(out, device));
    let (clock, bits) = (get(A::MEMORY_CLOCK_RATE), get(A::GLOBAL_MEMORY_BUS_WIDTH));
    let warp = get(A::WARP_SIZE).max(1);
    Device {
        kind: CUPTI_ACTIVITY_KIND_DEVICE,
        flags: CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS,
        // Two transfers a cycle, in kB a second.
        globalMemoryBandwidth: u64::from(clock) * 2 * u64::from(bits) / 8,
        globalMemorySize: memory.unwrap_or(0),
        constantMemorySize: get(A::TOTAL_CONSTANT_MEMORY),
        l2CacheSize: get(A::L2_CACHE_SIZE),
        numThreadsPerWarp: warp,
        coreClockRate: get(A::CLOCK_RATE),
        numMemcpyEngines: get(A::ASYNC_ENGINE_COUNT),
        numMultiprocessors: get(A::MULTIPROCESSOR_COUNT),
        maxWarpsPerMultiprocessor: get(A::MAX_THREADS_PER_MULTIPROCESSOR) / warp,
        maxBlocksPerMultiprocessor: get(A::MAX_BLOCKS_PER_MULTIPROCESSOR),
        maxSharedMemoryPerMultiprocessor: get(A::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        maxRegistersPerMultiprocessor: get(A::MAX_REGISTERS_PER_MULTIPROCESSOR),
        maxRegistersPerBlock: get(A::MAX_REGISTERS_PER_BLOCK),
        maxSharedMemoryPerBlock: get(A::MAX_SHARED_MEMORY_PER_BLOCK),
        maxThreadsPerBlock: get(A::MAX_THREADS_PER_BLOCK),
        maxBlockDimX: get(A::MAX_BLOCK_DIM_X),
        maxBlockDimY: get(A::MAX_BLOCK_DIM_Y),
        maxBlockDimZ: get(A::MAX_BLOCK_DIM_Z),
        maxGridDimX: get(A::MAX_GRID_DIM_X),
        maxGridDimY: get(A::MAX_GRID_DIM_Y),
        maxGridDimZ: get(A::MAX_GRID_DIM_Z),
        computeCapabilityMajor: get(A::COMPUTE_CAPABILITY_MAJOR),
        computeCapabilityMinor: get(A::COMPUTE_CAPABILITY_MINOR),
        id: device.cast_unsigned(),
        eccEnabled: get(A::ECC_ENABLED),
        uuid: uuid.unwrap_or([0; 16]),
        // The client frees it by `free`, to which it belongs: Rust's allocator is the system's.
        name: CString::new(name).unwrap_or_default().into_raw().expose_provenance() as u64,
        isCudaVisible: 1,
        gpuInstanceId: NONE,
        computeInstanceId: NONE,
        numaId: NONE,
        ..Device::default()
    }
}

/// Returns the release threshold of a pool, its bytes, and those in use.
pub(crate) fn pool(pool: u64) -> [u64; 3] {
    use PoolAttribute as P;
    [P::RELEASE_THRESHOLD, P::RESERVED_MEM_CURRENT, P::USED_MEM_CURRENT].map(|attribute| {
        let get = |out| cuMemPoolGetAttribute(pool, attribute as i32, out);
        // A pool that is gone has none of it.
        asking(|| written(0_u64, get)).unwrap_or(0)
    })
}
