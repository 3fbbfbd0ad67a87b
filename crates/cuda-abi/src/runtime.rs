//! Structures of the runtime API (`driver_types.h`, `vector_types.h`).
//!
//! Version 13 changed `cudaDeviceProp`; a name with `_v12` is the structure before it.
#![allow(non_camel_case_types, non_snake_case, reason = "names as CUDA's headers write them")]
#![allow(missing_docs, reason = "the public documentation of the fields is CUDA's")]

use hostmem::Argument;

use crate::layout::Abi as _;

use crate::structs;

structs! {
    RUNTIME_LAYOUTS;

    /// Sizes in three dimensions.
    dim3 = "struct dim3" {
        x: u32,
        y: u32,
        z: u32,
    }

    /// Memory in rows: its address, the bytes from one row to the next, bytes per row, and rows.
    cudaPitchedPtr = "struct cudaPitchedPtr" {
        ptr: u64,
        pitch: usize,
        xsize: usize,
        ysize: usize,
    }

    /// The size of a box: bytes per row, rows, layers.
    cudaExtent = "struct cudaExtent" {
        width: usize,
        height: usize,
        depth: usize,
    }

    /// A position in a box.
    cudaPos = "struct cudaPos" {
        x: usize,
        y: usize,
        z: usize,
    }

    /// A copy between boxes.
    cudaMemcpy3DParms = "struct cudaMemcpy3DParms" {
        srcArray: u64,
        srcPos: cudaPos,
        srcPtr: cudaPitchedPtr,
        dstArray: u64,
        dstPos: cudaPos,
        dstPtr: cudaPitchedPtr,
        extent: cudaExtent,
        kind: i32,
    }

    /// A copy between boxes of devices.
    cudaMemcpy3DPeerParms = "struct cudaMemcpy3DPeerParms" {
        srcArray: u64,
        srcPos: cudaPos,
        srcPtr: cudaPitchedPtr,
        srcDevice: i32,
        dstArray: u64,
        dstPos: cudaPos,
        dstPtr: cudaPitchedPtr,
        dstDevice: i32,
        extent: cudaExtent,
    }

    /// A kernel launch in a graph.
    cudaKernelNodeParams = "struct cudaKernelNodeParams" {
        func: usize,
        gridDim: dim3,
        blockDim: dim3,
        sharedMemBytes: u32,
        kernelParams: usize,
        extra: usize,
    }

    /// A kernel launch with attributes.
    cudaLaunchConfig_t {
        gridDim: dim3,
        blockDim: dim3,
        dynamicSmemBytes: usize,
        stream: u64,
        attrs: usize,
        numAttrs: u32,
    }

    /// The attributes of a kernel. Versions differ in the fields after those of clusters.
    cudaFuncAttributes = "struct cudaFuncAttributes" {
        sharedSizeBytes: u64,
        constSizeBytes: u64,
        localSizeBytes: u64,
        maxThreadsPerBlock: i32,
        numRegs: i32,
        ptxVersion: i32,
        binaryVersion: i32,
        cacheModeCA: i32,
        maxDynamicSharedSizeBytes: i32,
        preferredShmemCarveout: i32,
        clusterDimMustBeSet: i32,
        requiredClusterWidth: i32,
        requiredClusterHeight: i32,
        requiredClusterDepth: i32,
        clusterSchedulingPolicyPreference: i32,
        nonPortableClusterSizeAllowed: i32,
        deviceNodeUpdateStatus: i32,
        sharedMemoryMode: i32,
        _rest: [i32; 14],
    }

    /// The attributes of an address.
    cudaPointerAttributes = "struct cudaPointerAttributes": Prefix {
        r#type: i32,
        device: i32,
        devicePointer: u64,
        hostPointer: u64,
    }

    /// The format of a texture's components: bits of each, and their kind.
    cudaChannelFormatDesc = "struct cudaChannelFormatDesc" {
        x: i32,
        y: i32,
        z: i32,
        w: i32,
        f: i32,
    }

    /// What a texture or surface is of: the union behind the type. Version 13 appends to it.
    cudaResourceDesc = "struct cudaResourceDesc": Prefix {
        resType: i32,
        _res: [u64; 7],
    }

    /// How a texture is sampled. Floats are bits.
    cudaTextureDesc = "struct cudaTextureDesc" {
        addressMode: [i32; 3],
        filterMode: i32,
        readMode: i32,
        sRGB: i32,
        borderColor: [u32; 4],
        normalizedCoords: i32,
        maxAnisotropy: u32,
        mipmapFilterMode: i32,
        mipmapLevelBias: u32,
        minMipmapLevelClamp: u32,
        maxMipmapLevelClamp: u32,
        disableTrilinearOptimization: i32,
        seamlessCubemap: i32,
    }

    /// The part of an array that a texture sees. Version 13 appends to it.
    cudaResourceViewDesc = "struct cudaResourceViewDesc": Prefix {
        format: i32,
        width: usize,
        height: usize,
        depth: usize,
        firstMipmapLevel: u32,
        lastMipmapLevel: u32,
        firstLayer: u32,
        lastLayer: u32,
    }

    /// The properties of a device, before version 13. Before version 12, the structure ended with
    /// `reservedSharedMemPerBlock`.
    cudaDeviceProp_v12 = "struct cudaDeviceProp": Before13 {
        name: [u8; 256],
        uuid: [u8; 16],
        luid: [u8; 8],
        luidDeviceNodeMask: u32,
        totalGlobalMem: u64,
        sharedMemPerBlock: u64,
        regsPerBlock: i32,
        warpSize: i32,
        memPitch: u64,
        maxThreadsPerBlock: i32,
        maxThreadsDim: [i32; 3],
        maxGridSize: [i32; 3],
        clockRate: i32,
        totalConstMem: u64,
        major: i32,
        minor: i32,
        textureAlignment: u64,
        texturePitchAlignment: u64,
        deviceOverlap: i32,
        multiProcessorCount: i32,
        kernelExecTimeoutEnabled: i32,
        integrated: i32,
        canMapHostMemory: i32,
        computeMode: i32,
        maxTexture1D: i32,
        maxTexture1DMipmap: i32,
        maxTexture1DLinear: i32,
        maxTexture2D: [i32; 2],
        maxTexture2DMipmap: [i32; 2],
        maxTexture2DLinear: [i32; 3],
        maxTexture2DGather: [i32; 2],
        maxTexture3D: [i32; 3],
        maxTexture3DAlt: [i32; 3],
        maxTextureCubemap: i32,
        maxTexture1DLayered: [i32; 2],
        maxTexture2DLayered: [i32; 3],
        maxTextureCubemapLayered: [i32; 2],
        maxSurface1D: i32,
        maxSurface2D: [i32; 2],
        maxSurface3D: [i32; 3],
        maxSurface1DLayered: [i32; 2],
        maxSurface2DLayered: [i32; 3],
        maxSurfaceCubemap: i32,
        maxSurfaceCubemapLayered: [i32; 2],
        surfaceAlignment: u64,
        concurrentKernels: i32,
        ECCEnabled: i32,
        pciBusID: i32,
        pciDeviceID: i32,
        pciDomainID: i32,
        tccDriver: i32,
        asyncEngineCount: i32,
        unifiedAddressing: i32,
        memoryClockRate: i32,
        memoryBusWidth: i32,
        l2CacheSize: i32,
        persistingL2CacheMaxSize: i32,
        maxThreadsPerMultiProcessor: i32,
        streamPrioritiesSupported: i32,
        globalL1CacheSupported: i32,
        localL1CacheSupported: i32,
        sharedMemPerMultiprocessor: u64,
        regsPerMultiprocessor: i32,
        managedMemory: i32,
        isMultiGpuBoard: i32,
        multiGpuBoardGroupID: i32,
        hostNativeAtomicSupported: i32,
        singleToDoublePrecisionPerfRatio: i32,
        pageableMemoryAccess: i32,
        concurrentManagedAccess: i32,
        computePreemptionSupported: i32,
        canUseHostPointerForRegisteredMem: i32,
        cooperativeLaunch: i32,
        cooperativeMultiDeviceLaunch: i32,
        sharedMemPerBlockOptin: u64,
        pageableMemoryAccessUsesHostPageTables: i32,
        directManagedMemAccessFromHost: i32,
        maxBlocksPerMultiProcessor: i32,
        accessPolicyMaxWindowSize: i32,
        reservedSharedMemPerBlock: u64,
        hostRegisterSupported: i32,
        sparseCudaArraySupported: i32,
        hostRegisterReadOnlySupported: i32,
        timelineSemaphoreInteropSupported: i32,
        memoryPoolsSupported: i32,
        gpuDirectRDMASupported: i32,
        gpuDirectRDMAFlushWritesOptions: u32,
        gpuDirectRDMAWritesOrdering: i32,
        memoryPoolSupportedHandleTypes: u32,
        deferredMappingCudaArraySupported: i32,
        ipcEventSupported: i32,
        clusterLaunch: i32,
        unifiedFunctionPointers: i32,
        reserved: [i32; 63],
    }

    /// The properties of a device.
    cudaDeviceProp = "struct cudaDeviceProp": Since13 {
        name: [u8; 256],
        uuid: [u8; 16],
        luid: [u8; 8],
        luidDeviceNodeMask: u32,
        totalGlobalMem: u64,
        sharedMemPerBlock: u64,
        regsPerBlock: i32,
        warpSize: i32,
        memPitch: u64,
        maxThreadsPerBlock: i32,
        maxThreadsDim: [i32; 3],
        maxGridSize: [i32; 3],
        totalConstMem: u64,
        major: i32,
        minor: i32,
        textureAlignment: u64,
        texturePitchAlignment: u64,
        multiProcessorCount: i32,
        integrated: i32,
        canMapHostMemory: i32,
        maxTexture1D: i32,
        maxTexture1DMipmap: i32,
        maxTexture2D: [i32; 2],
        maxTexture2DMipmap: [i32; 2],
        maxTexture2DLinear: [i32; 3],
        maxTexture2DGather: [i32; 2],
        maxTexture3D: [i32; 3],
        maxTexture3DAlt: [i32; 3],
        maxTextureCubemap: i32,
        maxTexture1DLayered: [i32; 2],
        maxTexture2DLayered: [i32; 3],
        maxTextureCubemapLayered: [i32; 2],
        maxSurface1D: i32,
        maxSurface2D: [i32; 2],
        maxSurface3D: [i32; 3],
        maxSurface1DLayered: [i32; 2],
        maxSurface2DLayered: [i32; 3],
        maxSurfaceCubemap: i32,
        maxSurfaceCubemapLayered: [i32; 2],
        surfaceAlignment: u64,
        concurrentKernels: i32,
        ECCEnabled: i32,
        pciBusID: i32,
        pciDeviceID: i32,
        pciDomainID: i32,
        tccDriver: i32,
        asyncEngineCount: i32,
        unifiedAddressing: i32,
        memoryBusWidth: i32,
        l2CacheSize: i32,
        persistingL2CacheMaxSize: i32,
        maxThreadsPerMultiProcessor: i32,
        streamPrioritiesSupported: i32,
        globalL1CacheSupported: i32,
        localL1CacheSupported: i32,
        sharedMemPerMultiprocessor: u64,
        regsPerMultiprocessor: i32,
        managedMemory: i32,
        isMultiGpuBoard: i32,
        multiGpuBoardGroupID: i32,
        hostNativeAtomicSupported: i32,
        pageableMemoryAccess: i32,
        concurrentManagedAccess: i32,
        computePreemptionSupported: i32,
        canUseHostPointerForRegisteredMem: i32,
        cooperativeLaunch: i32,
        sharedMemPerBlockOptin: u64,
        pageableMemoryAccessUsesHostPageTables: i32,
        directManagedMemAccessFromHost: i32,
        maxBlocksPerMultiProcessor: i32,
        accessPolicyMaxWindowSize: i32,
        reservedSharedMemPerBlock: u64,
        hostRegisterSupported: i32,
        sparseCudaArraySupported: i32,
        hostRegisterReadOnlySupported: i32,
        timelineSemaphoreInteropSupported: i32,
        memoryPoolsSupported: i32,
        gpuDirectRDMASupported: i32,
        gpuDirectRDMAFlushWritesOptions: u32,
        gpuDirectRDMAWritesOrdering: i32,
        memoryPoolSupportedHandleTypes: u32,
        deferredMappingCudaArraySupported: i32,
        ipcEventSupported: i32,
        clusterLaunch: i32,
        unifiedFunctionPointers: i32,
        deviceNumaConfig: i32,
        deviceNumaId: i32,
        mpsEnabled: i32,
        hostNumaId: i32,
        gpuPciDeviceID: u32,
        gpuPciSubsystemID: u32,
        hostNumaMultinodeIpcSupported: i32,
        reserved: [i32; 56],
    }
}

impl Argument for dim3 {
    fn text(&self, _: &str) -> String {
        format!("({},{},{})", self.x, self.y, self.z)
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}

impl Argument for cudaPitchedPtr {
    fn text(&self, _: &str) -> String {
        let Self { ptr, pitch, xsize, ysize } = self;
        format!("{ptr:#x} with a pitch of {pitch}, {xsize} x {ysize}")
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}

impl Argument for cudaExtent {
    fn text(&self, _: &str) -> String {
        format!("{} x {} x {}", self.width, self.height, self.depth)
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}
