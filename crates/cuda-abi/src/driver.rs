//! Structures of the driver API (`cuda.h`).
//!
//! Sizes, addresses and handles are `u64` or `usize`; constants are `i32` or `u32`, because clients
//! may pass numbers that no version of the interface knows.
#![allow(non_camel_case_types, non_snake_case, reason = "names as CUDA's headers write them")]
#![allow(missing_docs, reason = "the public documentation of the fields is CUDA's")]

use hostmem::Argument;

use crate::layout::Abi;
use crate::structs;

structs! {
    DRIVER_LAYOUTS;

    /// A copy between rectangles. Each side has the fields of all memory types.
    CUDA_MEMCPY2D {
        srcXInBytes: u64,
        srcY: u64,
        srcMemoryType: u32,
        srcHost: u64,
        srcDevice: u64,
        srcArray: u64,
        srcPitch: u64,
        dstXInBytes: u64,
        dstY: u64,
        dstMemoryType: u32,
        dstHost: u64,
        dstDevice: u64,
        dstArray: u64,
        dstPitch: u64,
        WidthInBytes: u64,
        Height: u64,
    }

    /// A copy between boxes.
    CUDA_MEMCPY3D {
        srcXInBytes: u64,
        srcY: u64,
        srcZ: u64,
        srcLOD: u64,
        srcMemoryType: u32,
        srcHost: u64,
        srcDevice: u64,
        srcArray: u64,
        reserved0: u64,
        srcPitch: u64,
        srcHeight: u64,
        dstXInBytes: u64,
        dstY: u64,
        dstZ: u64,
        dstLOD: u64,
        dstMemoryType: u32,
        dstHost: u64,
        dstDevice: u64,
        dstArray: u64,
        reserved1: u64,
        dstPitch: u64,
        dstHeight: u64,
        WidthInBytes: u64,
        Height: u64,
        Depth: u64,
    }

    /// A copy between boxes of contexts.
    CUDA_MEMCPY3D_PEER {
        srcXInBytes: u64,
        srcY: u64,
        srcZ: u64,
        srcLOD: u64,
        srcMemoryType: u32,
        srcHost: u64,
        srcDevice: u64,
        srcArray: u64,
        srcContext: u64,
        srcPitch: u64,
        srcHeight: u64,
        dstXInBytes: u64,
        dstY: u64,
        dstZ: u64,
        dstLOD: u64,
        dstMemoryType: u32,
        dstHost: u64,
        dstDevice: u64,
        dstArray: u64,
        dstContext: u64,
        dstPitch: u64,
        dstHeight: u64,
        WidthInBytes: u64,
        Height: u64,
        Depth: u64,
    }

    /// An array of one or two dimensions.
    CUDA_ARRAY_DESCRIPTOR {
        Width: u64,
        Height: u64,
        Format: i32,
        NumChannels: u32,
    }

    /// An array of any dimensions.
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: u64,
        Height: u64,
        Depth: u64,
        Format: i32,
        NumChannels: u32,
        Flags: u32,
    }

    /// The memory that an array needs.
    CUDA_ARRAY_MEMORY_REQUIREMENTS {
        size: u64,
        alignment: u64,
        reserved: [u32; 4],
    }

    /// What a texture or surface is of. The union behind the type is one of the structures below.
    CUDA_RESOURCE_DESC {
        resType: i32,
        _res: [u64; 16],
        flags: u32,
    }

    /// How a texture is sampled. Floats are bits.
    CUDA_TEXTURE_DESC {
        addressMode: [i32; 3],
        filterMode: i32,
        flags: u32,
        maxAnisotropy: u32,
        mipmapFilterMode: i32,
        mipmapLevelBias: u32,
        minMipmapLevelClamp: u32,
        maxMipmapLevelClamp: u32,
        borderColor: [u32; 4],
        reserved: [i32; 12],
    }

    /// The part of an array that a texture sees, and the format in which.
    CUDA_RESOURCE_VIEW_DESC {
        format: i32,
        width: u64,
        height: u64,
        depth: u64,
        firstMipmapLevel: u32,
        lastMipmapLevel: u32,
        firstLayer: u32,
        lastLayer: u32,
        reserved: [u32; 16],
    }

    /// A kernel launch in a graph, in the first version of the structure.
    CUDA_KERNEL_NODE_PARAMS_v1 {
        func: u64,
        gridDimX: u32,
        gridDimY: u32,
        gridDimZ: u32,
        blockDimX: u32,
        blockDimY: u32,
        blockDimZ: u32,
        sharedMemBytes: u32,
        kernelParams: usize,
        extra: usize,
    }

    /// A kernel launch in a graph. If `func` is null, `kern` names the kernel.
    CUDA_KERNEL_NODE_PARAMS {
        func: u64,
        gridDimX: u32,
        gridDimY: u32,
        gridDimZ: u32,
        blockDimX: u32,
        blockDimY: u32,
        blockDimZ: u32,
        sharedMemBytes: u32,
        kernelParams: usize,
        extra: usize,
        kern: u64,
        ctx: u64,
    }

    /// A copy in a graph, as a member of [`CUgraphNodeParams`].
    CUDA_MEMCPY_NODE_PARAMS {
        flags: i32,
        reserved: i32,
        copyCtx: u64,
        copyParams: CUDA_MEMCPY3D,
    }

    /// A fill in a graph.
    CUDA_MEMSET_NODE_PARAMS {
        dst: u64,
        pitch: u64,
        value: u32,
        elementSize: u32,
        width: u64,
        height: u64,
    }

    /// A call of the client in a graph.
    CUDA_HOST_NODE_PARAMS {
        r#fn: usize,
        userData: usize,
    }

    /// An allocation in a graph; `dptr` receives the address.
    CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: CUmemPoolProps,
        accessDescs: usize,
        accessDescCount: u64,
        bytesize: u64,
        dptr: u64,
    }

    /// The release of an allocation in a graph, as a member of [`CUgraphNodeParams`].
    CUDA_MEM_FREE_NODE_PARAMS {
        dptr: u64,
    }

    /// Work in a graph that depends on a condition; `phGraph_out` receives the address of the
    /// bodies' handles.
    CUDA_CONDITIONAL_NODE_PARAMS {
        handle: u64,
        r#type: i32,
        size: u32,
        phGraph_out: usize,
        ctx: u64,
    }

    /// A graph in a graph, as a member of [`CUgraphNodeParams`].
    CUDA_CHILD_GRAPH_NODE_PARAMS: Prefix {
        graph: u64,
    }

    /// The wait for an event in a graph, as a member of [`CUgraphNodeParams`].
    CUDA_EVENT_WAIT_NODE_PARAMS: Prefix {
        event: u64,
    }

    /// The recording of an event in a graph, as a member of [`CUgraphNodeParams`].
    CUDA_EVENT_RECORD_NODE_PARAMS: Prefix {
        event: u64,
    }

    /// A node of any kind: its type, and behind `reserved0` the structure of that type.
    CUgraphNodeParams {
        r#type: i32,
        reserved0: [i32; 3],
        reserved1: [i64; 29],
        reserved2: i64,
    }

    /// How a graph is to be instantiated; the last two fields receive the outcome.
    CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: u64,
        hUploadStream: u64,
        hErrNode_out: u64,
        result_out: i32,
    }

    /// The outcome of the update of an executable graph.
    CUgraphExecUpdateResultInfo {
        result: i32,
        errorNode: u64,
        errorFromNode: u64,
    }

    /// A kernel launch with attributes.
    CUlaunchConfig {
        gridDimX: u32,
        gridDimY: u32,
        gridDimZ: u32,
        blockDimX: u32,
        blockDimY: u32,
        blockDimZ: u32,
        sharedMemBytes: u32,
        hStream: u64,
        attrs: usize,
        numAttrs: u32,
    }

    /// An attribute of a launch. `value` is a union.
    CUlaunchAttribute {
        id: i32,
        pad: [u8; 4],
        value: [u32; 16],
    }

    /// A place of memory: its kind and number.
    CUmemLocation {
        r#type: i32,
        id: i32,
    }

    /// The properties of a memory pool.
    CUmemPoolProps {
        allocType: i32,
        handleTypes: i32,
        location: CUmemLocation,
        win32SecurityAttributes: usize,
        maxSize: u64,
        usage: u16,
        _rest: [u8; 54],
    }

    /// The properties of physical memory. `_flags` are hints.
    CUmemAllocationProp {
        r#type: i32,
        requestedHandleTypes: i32,
        location: CUmemLocation,
        win32HandleMetaData: usize,
        _flags: [u64; 1],
    }

    /// What a device may do with memory.
    CUmemAccessDesc {
        location: CUmemLocation,
        flags: i32,
    }

    /// The name of memory that another process can open. What is in it is the driver's own.
    CUipcMemHandle {
        reserved: [u8; 64],
    }

    /// The name of an event that another process can open.
    CUipcEventHandle {
        reserved: [u8; 64],
    }

    /// Options of a new context.
    CUctxCreateParams {
        execAffinityParams: usize,
        numExecAffinityParams: i32,
        cigParams: usize,
    }

    /// The properties of a device before version 5.
    CUdevprop {
        maxThreadsPerBlock: i32,
        maxThreadsDim: [i32; 3],
        maxGridSize: [i32; 3],
        sharedMemPerBlock: i32,
        totalConstantMemory: i32,
        SIMDWidth: i32,
        memPitch: i32,
        regsPerBlock: i32,
        clockRate: i32,
        textureAlign: i32,
    }
}

impl CUmemLocation {
    /// Reads a location that is passed by value, as one word.
    #[must_use]
    pub fn from_word(word: u64) -> Self {
        Abi::from_bytes(&word.to_ne_bytes())
    }
}

impl Argument for CUmemLocation {
    fn text(&self, _: &str) -> String {
        format!("{} of kind {}", self.id, self.r#type)
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}

impl Argument for CUipcMemHandle {
    fn text(&self, _: &str) -> String {
        "a handle of memory".to_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}

impl Argument for CUipcEventHandle {
    fn text(&self, _: &str) -> String {
        "a handle of an event".to_owned()
    }

    fn bytes(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn alignment(&self) -> usize {
        align_of::<Self>()
    }
}
