//! `cudaDeviceProp`: each field with the device attribute that it holds.

use std::mem::offset_of;

use cuda_abi::host::{Ptr, put, put_bytes, written};
use cuda_abi::{Abi as _, CUdevice_attribute, Outcome, cudaDeviceProp, cudaDeviceProp_v12};

use crate::driver::{
    cuDeviceGetAttribute, cuDeviceGetName, cuDeviceGetUuid_v2, cuDeviceTotalMem_v2,
};
use crate::state::known_device;
use crate::version::is_new;

/// Sets fields of a structure to attributes of a device.
macro_rules! set {
    ($properties:ident, $device:ident; $($field:ident $([$i:literal])? = $attribute:ident,)+) => {
        $(
            let value = attribute(CUdevice_attribute::$attribute, $device)?;
            $properties.$field $([$i])? = value as _;
        )+
    };
}

/// Sets the fields that all versions have.
macro_rules! set_common {
    ($properties:ident, $device:ident) => {
        let at = $properties.name.as_mut_ptr().expose_provenance();
        cuDeviceGetName(at, $properties.name.len() as i32, $device)?;
        $properties.uuid = written([0_u8; 16], |at| cuDeviceGetUuid_v2(at, $device))?;
        $properties.luidDeviceNodeMask = 1;
        $properties.totalGlobalMem = written(0, |at| cuDeviceTotalMem_v2(at, $device))?;
        set! {
            $properties, $device;
            sharedMemPerBlock = MAX_SHARED_MEMORY_PER_BLOCK,
            regsPerBlock = MAX_REGISTERS_PER_BLOCK,
            warpSize = WARP_SIZE,
            memPitch = MAX_PITCH,
            maxThreadsPerBlock = MAX_THREADS_PER_BLOCK,
            maxThreadsDim[0] = MAX_BLOCK_DIM_X,
            maxThreadsDim[1] = MAX_BLOCK_DIM_Y,
            maxThreadsDim[2] = MAX_BLOCK_DIM_Z,
            maxGridSize[0] = MAX_GRID_DIM_X,
            maxGridSize[1] = MAX_GRID_DIM_Y,
            maxGridSize[2] = MAX_GRID_DIM_Z,
            totalConstMem = TOTAL_CONSTANT_MEMORY,
            major = COMPUTE_CAPABILITY_MAJOR,
            minor = COMPUTE_CAPABILITY_MINOR,
            textureAlignment = TEXTURE_ALIGNMENT,
            texturePitchAlignment = TEXTURE_PITCH_ALIGNMENT,
            multiProcessorCount = MULTIPROCESSOR_COUNT,
            integrated = INTEGRATED,
            canMapHostMemory = CAN_MAP_HOST_MEMORY,
            maxTexture1D = MAXIMUM_TEXTURE1D_WIDTH,
            maxTexture1DMipmap = MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH,
            maxTexture2D[0] = MAXIMUM_TEXTURE2D_WIDTH,
            maxTexture2D[1] = MAXIMUM_TEXTURE2D_HEIGHT,
            maxTexture2DMipmap[0] = MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
            maxTexture2DMipmap[1] = MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT,
            maxTexture2DLinear[0] = MAXIMUM_TEXTURE2D_LINEAR_WIDTH,
            maxTexture2DLinear[1] = MAXIMUM_TEXTURE2D_LINEAR_HEIGHT,
            maxTexture2DLinear[2] = MAXIMUM_TEXTURE2D_LINEAR_PITCH,
            maxTexture2DGather[0] = MAXIMUM_TEXTURE2D_GATHER_WIDTH,
            maxTexture2DGather[1] = MAXIMUM_TEXTURE2D_GATHER_HEIGHT,
            maxTexture3D[0] = MAXIMUM_TEXTURE3D_WIDTH,
            maxTexture3D[1] = MAXIMUM_TEXTURE3D_HEIGHT,
            maxTexture3D[2] = MAXIMUM_TEXTURE3D_DEPTH,
            maxTexture3DAlt[0] = MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
            maxTexture3DAlt[1] = MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
            maxTexture3DAlt[2] = MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE,
            maxTextureCubemap = MAXIMUM_TEXTURECUBEMAP_WIDTH,
            maxTexture1DLayered[0] = MAXIMUM_TEXTURE1D_LAYERED_WIDTH,
            maxTexture1DLayered[1] = MAXIMUM_TEXTURE1D_LAYERED_LAYERS,
            maxTexture2DLayered[0] = MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
            maxTexture2DLayered[1] = MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
            maxTexture2DLayered[2] = MAXIMUM_TEXTURE2D_LAYERED_LAYERS,
            maxTextureCubemapLayered[0] = MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
            maxTextureCubemapLayered[1] = MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS,
            maxSurface1D = MAXIMUM_SURFACE1D_WIDTH,
            maxSurface2D[0] = MAXIMUM_SURFACE2D_WIDTH,
            maxSurface2D[1] = MAXIMUM_SURFACE2D_HEIGHT,
            maxSurface3D[0] = MAXIMUM_SURFACE3D_WIDTH,
            maxSurface3D[1] = MAXIMUM_SURFACE3D_HEIGHT,
            maxSurface3D[2] = MAXIMUM_SURFACE3D_DEPTH,
            maxSurface1DLayered[0] = MAXIMUM_SURFACE1D_LAYERED_WIDTH,
            maxSurface1DLayered[1] = MAXIMUM_SURFACE1D_LAYERED_LAYERS,
            maxSurface2DLayered[0] = MAXIMUM_SURFACE2D_LAYERED_WIDTH,
            maxSurface2DLayered[1] = MAXIMUM_SURFACE2D_LAYERED_HEIGHT,
            maxSurface2DLayered[2] = MAXIMUM_SURFACE2D_LAYERED_LAYERS,
            maxSurfaceCubemap = MAXIMUM_SURFACECUBEMAP_WIDTH,
            maxSurfaceCubemapLayered[0] = MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH,
            maxSurfaceCubemapLayered[1] = MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS,
            surfaceAlignment = SURFACE_ALIGNMENT,
            concurrentKernels = CONCURRENT_KERNELS,
            ECCEnabled = ECC_ENABLED,
            pciBusID = PCI_BUS_ID,
            pciDeviceID = PCI_DEVICE_ID,
            pciDomainID = PCI_DOMAIN_ID,
            tccDriver = TCC_DRIVER,
            asyncEngineCount = ASYNC_ENGINE_COUNT,
            unifiedAddressing = UNIFIED_ADDRESSING,
            memoryBusWidth = GLOBAL_MEMORY_BUS_WIDTH,
            l2CacheSize = L2_CACHE_SIZE,
            persistingL2CacheMaxSize = MAX_PERSISTING_L2_CACHE_SIZE,
            maxThreadsPerMultiProcessor = MAX_THREADS_PER_MULTIPROCESSOR,
            streamPrioritiesSupported = STREAM_PRIORITIES_SUPPORTED,
            globalL1CacheSupported = GLOBAL_L1_CACHE_SUPPORTED,
            localL1CacheSupported = LOCAL_L1_CACHE_SUPPORTED,
            sharedMemPerMultiprocessor = MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
            regsPerMultiprocessor = MAX_REGISTERS_PER_MULTIPROCESSOR,
            managedMemory = MANAGED_MEMORY,
            isMultiGpuBoard = MULTI_GPU_BOARD,
            multiGpuBoardGroupID = MULTI_GPU_BOARD_GROUP_ID,
            hostNativeAtomicSupported = HOST_NATIVE_ATOMIC_SUPPORTED,
            pageableMemoryAccess = PAGEABLE_MEMORY_ACCESS,
            concurrentManagedAccess = CONCURRENT_MANAGED_ACCESS,
            computePreemptionSupported = COMPUTE_PREEMPTION_SUPPORTED,
            canUseHostPointerForRegisteredMem = CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
            cooperativeLaunch = COOPERATIVE_LAUNCH,
            sharedMemPerBlockOptin = MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            pageableMemoryAccessUsesHostPageTables = PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
            directManagedMemAccessFromHost = DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
            maxBlocksPerMultiProcessor = MAX_BLOCKS_PER_MULTIPROCESSOR,
            accessPolicyMaxWindowSize = MAX_ACCESS_POLICY_WINDOW_SIZE,
            reservedSharedMemPerBlock = RESERVED_SHARED_MEMORY_PER_BLOCK,
            hostRegisterSupported = HOST_REGISTER_SUPPORTED,
            sparseCudaArraySupported = SPARSE_CUDA_ARRAY_SUPPORTED,
            hostRegisterReadOnlySupported = READ_ONLY_HOST_REGISTER_SUPPORTED,
            timelineSemaphoreInteropSupported = TIMELINE_SEMAPHORE_INTEROP_SUPPORTED,
            memoryPoolsSupported = MEMORY_POOLS_SUPPORTED,
            gpuDirectRDMASupported = GPU_DIRECT_RDMA_SUPPORTED,
            gpuDirectRDMAFlushWritesOptions = GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS,
            gpuDirectRDMAWritesOrdering = GPU_DIRECT_RDMA_WRITES_ORDERING,
            memoryPoolSupportedHandleTypes = MEMPOOL_SUPPORTED_HANDLE_TYPES,
            deferredMappingCudaArraySupported = DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
            ipcEventSupported = IPC_EVENT_SUPPORTED,
            clusterLaunch = CLUSTER_LAUNCH,
            unifiedFunctionPointers = UNIFIED_FUNCTION_POINTERS,
        }
    };
}

fn attribute(attribute: CUdevice_attribute, device: i32) -> Outcome<i32> {
    written(0, |at| cuDeviceGetAttribute(at, attribute as i32, device))
}

/// Returns the properties in the layout before version 13.
fn before_13(device: i32) -> Outcome<cudaDeviceProp_v12> {
    let mut p = cudaDeviceProp_v12::zeroed();
    set_common!(p, device);
    set! {
        p, device;
        clockRate = CLOCK_RATE,
        deviceOverlap = GPU_OVERLAP,
        kernelExecTimeoutEnabled = KERNEL_EXEC_TIMEOUT,
        computeMode = COMPUTE_MODE,
        maxTexture1DLinear = MAXIMUM_TEXTURE1D_LINEAR_WIDTH,
        memoryClockRate = MEMORY_CLOCK_RATE,
        singleToDoublePrecisionPerfRatio = SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO,
        cooperativeMultiDeviceLaunch = COOPERATIVE_MULTI_DEVICE_LAUNCH,
    }
    Ok(p)
}

/// Returns the properties in the layout since version 13.
fn since_13(device: i32) -> Outcome<cudaDeviceProp> {
    let mut p = cudaDeviceProp::zeroed();
    set_common!(p, device);
    set! {
        p, device;
        deviceNumaConfig = NUMA_CONFIG,
        deviceNumaId = NUMA_ID,
        mpsEnabled = MPS_ENABLED,
        hostNumaId = HOST_NUMA_ID,
        gpuPciDeviceID = GPU_PCI_DEVICE_ID,
        gpuPciSubsystemID = GPU_PCI_SUBSYSTEM_ID,
        hostNumaMultinodeIpcSupported = HOST_NUMA_MULTINODE_IPC_SUPPORTED,
    }
    Ok(p)
}

/// Writes the structure for the name without a version suffix. Before version 13, that name has the
/// layout of programs older than version 12, which ends earlier.
pub(crate) fn write(at: Ptr, device: i32) -> Outcome {
    const END: usize = offset_of!(cudaDeviceProp_v12, hostRegisterSupported);
    known_device(device)?;
    if is_new() {
        return put(at, &since_13(device)?);
    }
    put_bytes(at, &before_13(device)?.to_bytes()[..END])
}

/// Writes the structure for the name with the suffix of version 12.
pub(crate) fn write_v2(at: Ptr, device: i32) -> Outcome {
    known_device(device)?;
    put(at, &before_13(device)?)
}
