//! Records of activities, in the layouts of `cupti_activity.h` of CUDA 13, whose first fields are
//! the layouts of version 12. They are packed, and padded to multiples of 8 bytes.
#![allow(non_snake_case, non_camel_case_types, reason = "names as the header writes them")]
#![allow(missing_docs, reason = "the public documentation of the fields is NVIDIA's")]

use cuda_abi::Abi;

/// The layout of a record: the type in the header, its bytes, and name, offset and bytes of fields.
pub type Layout = (&'static str, usize, Vec<(&'static str, usize, usize)>);

/// Declares records: the type in the header, and the fields in its order.
macro_rules! records {
    ($($(#[$meta:meta])* $name:ident = $c:literal { $($field:ident: $ty:ty,)+ })+) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, Default)]
            pub struct $name {
                $(pub $field: $ty,)+
            }

            impl $name {
                /// Returns the bytes.
                #[must_use]
                pub fn to_bytes(&self) -> Vec<u8> {
                    let mut out = Vec::new();
                    $(out.extend_from_slice(&self.$field.to_bytes());)+
                    out.resize(out.len().next_multiple_of(8), 0);
                    out
                }
            }
        )+

        /// Returns the layouts of all records.
        #[must_use]
        pub fn layouts() -> Vec<Layout> {
            vec![$({
                let (mut end, mut fields) = (0, Vec::new());
                $(
                    let field = stringify!($field).trim_start_matches("r#");
                    fields.push((field, end, size_of::<$ty>()));
                    end += size_of::<$ty>();
                )+
                ($c, end.next_multiple_of(8), fields)
            },)+]
        }
    };
}

records! {
    /// A kernel.
    Kernel = "CUpti_ActivityKernel11" {
        kind: u32,
        cacheConfig: u8,
        sharedMemoryConfig: u8,
        registersPerThread: u16,
        partitionedGlobalCacheRequested: u32,
        partitionedGlobalCacheExecuted: u32,
        start: u64,
        end: u64,
        completed: u64,
        deviceId: u32,
        contextId: u32,
        streamId: u32,
        gridX: u32,
        gridY: u32,
        gridZ: u32,
        blockX: u32,
        blockY: u32,
        blockZ: u32,
        staticSharedMemory: u32,
        dynamicSharedMemory: u32,
        localMemoryPerThread: u32,
        localMemoryTotal: u32,
        correlationId: u32,
        gridId: u64,
        name: u64,
        reserved0: u64,
        queued: u64,
        submitted: u64,
        launchType: u8,
        isSharedMemoryCarveoutRequested: u8,
        sharedMemoryCarveoutRequested: u8,
        padding: u8,
        sharedMemoryExecuted: u32,
        graphNodeId: u64,
        shmemLimitConfig: u32,
        graphId: u32,
        pAccessPolicyWindow: u64,
        channelID: u32,
        channelType: u32,
        clusterX: u32,
        clusterY: u32,
        clusterZ: u32,
        clusterSchedulingPolicy: u32,
        localMemoryTotal_v2: u64,
        maxPotentialClusterSize: u32,
        maxActiveClusters: u32,
        isDeviceLaunched: u8,
        padding3: [u8; 7],
        priority: u32,
        padding4: u32,
    }

    /// A copy.
    Memcpy = "CUpti_ActivityMemcpy6" {
        kind: u32,
        copyKind: u8,
        srcKind: u8,
        dstKind: u8,
        flags: u8,
        bytes: u64,
        start: u64,
        end: u64,
        deviceId: u32,
        contextId: u32,
        streamId: u32,
        correlationId: u32,
        runtimeCorrelationId: u32,
        pad: u32,
        reserved0: u64,
        graphNodeId: u64,
        graphId: u32,
        channelID: u32,
        channelType: u32,
        isDeviceLaunched: u8,
        pad2: [u8; 3],
        copyCount: u64,
    }

    /// A fill.
    Memset = "CUpti_ActivityMemset4" {
        kind: u32,
        value: u32,
        bytes: u64,
        start: u64,
        end: u64,
        deviceId: u32,
        contextId: u32,
        streamId: u32,
        correlationId: u32,
        flags: u16,
        memoryKind: u16,
        pad: u32,
        reserved0: u64,
        graphNodeId: u64,
        graphId: u32,
        channelID: u32,
        channelType: u32,
        isDeviceLaunched: u8,
        pad2: [u8; 3],
    }

    /// A call of the driver or of the runtime.
    Api = "CUpti_ActivityAPI" {
        kind: u32,
        cbid: u32,
        start: u64,
        end: u64,
        processId: u32,
        threadId: u32,
        correlationId: u32,
        returnValue: u32,
    }

    /// A wait of the host or of a stream.
    Synchronization = "CUpti_ActivitySynchronization2" {
        kind: u32,
        r#type: u32,
        start: u64,
        end: u64,
        correlationId: u32,
        contextId: u32,
        streamId: u32,
        cudaEventId: u32,
        cudaEventSyncId: u64,
        returnValue: u32,
        pad: u32,
    }

    /// A record of an event.
    CudaEvent = "CUpti_ActivityCudaEvent2" {
        kind: u32,
        correlationId: u32,
        contextId: u32,
        streamId: u32,
        eventId: u32,
        pad: u32,
        deviceId: u32,
        pad2: u32,
        reserved0: u64,
        deviceTimestamp: u64,
        cudaEventSyncId: u64,
    }

    /// An allocation or a release of memory.
    Memory = "CUpti_ActivityMemory4" {
        kind: u32,
        memoryOperationType: u32,
        memoryKind: u32,
        correlationId: u32,
        address: u64,
        bytes: u64,
        timestamp: u64,
        PC: u64,
        processId: u32,
        deviceId: u32,
        contextId: u32,
        streamId: u32,
        name: u64,
        isAsync: u32,
        pad1: u32,
        memoryPoolConfig: [u64; 5],
        source: u64,
    }

    /// A context.
    Context = "CUpti_ActivityContext4" {
        kind: u32,
        contextId: u32,
        deviceId: u32,
        computeApiKind: u16,
        nullStreamId: u16,
        parentContextId: u32,
        isGreenContext: u8,
        padding: u8,
        numMultiprocessors: u16,
        cigMode: u32,
        padding2: u32,
        processId: u64,
    }

    /// A device.
    Device = "CUpti_ActivityDevice6" {
        kind: u32,
        flags: u32,
        globalMemoryBandwidth: u64,
        globalMemorySize: u64,
        constantMemorySize: u32,
        l2CacheSize: u32,
        numThreadsPerWarp: u32,
        coreClockRate: u32,
        numMemcpyEngines: u32,
        numMultiprocessors: u32,
        maxIPC: u32,
        maxWarpsPerMultiprocessor: u32,
        maxBlocksPerMultiprocessor: u32,
        maxSharedMemoryPerMultiprocessor: u32,
        maxRegistersPerMultiprocessor: u32,
        maxRegistersPerBlock: u32,
        maxSharedMemoryPerBlock: u32,
        maxThreadsPerBlock: u32,
        maxBlockDimX: u32,
        maxBlockDimY: u32,
        maxBlockDimZ: u32,
        maxGridDimX: u32,
        maxGridDimY: u32,
        maxGridDimZ: u32,
        computeCapabilityMajor: u32,
        computeCapabilityMinor: u32,
        id: u32,
        eccEnabled: u32,
        uuid: [u8; 16],
        name: u64,
        isCudaVisible: u8,
        isMigEnabled: u8,
        reserved: [u8; 6],
        gpuInstanceId: u32,
        computeInstanceId: u32,
        migUuid: [u8; 16],
        isNumaNode: u32,
        numaId: u32,
        numTpcs: u32,
        reserved0: u32,
    }

    /// A stream that was created.
    Stream = "CUpti_ActivityStream" {
        kind: u32,
        contextId: u32,
        streamId: u32,
        priority: u32,
        flag: u32,
        correlationId: u32,
    }

    /// A memory pool that was created, destroyed or trimmed.
    MemoryPool = "CUpti_ActivityMemoryPool3" {
        kind: u32,
        memoryPoolOperationType: u32,
        memoryPoolType: u32,
        correlationId: u32,
        processId: u32,
        deviceId: u32,
        minBytesToKeep: u64,
        address: u64,
        size: u64,
        releaseThreshold: u64,
        timestamp: u64,
        utilizedSize: u64,
        isManagedPool: u8,
        pad2: [u8; 7],
    }

    /// What the client was doing when it made a call.
    ExternalCorrelation = "CUpti_ActivityExternalCorrelation" {
        kind: u32,
        externalKind: u32,
        externalId: u64,
        correlationId: u32,
        reserved: u32,
    }
}

/// Declares constants, and a list of all.
macro_rules! constants {
    ($($name:ident = $number:literal;)+) => {
        $(pub const $name: u32 = $number;)+

        /// Names and numbers.
        pub const CONSTANTS: &[(&str, i64)] = &[$((stringify!($name), $number),)+];
    };
}

constants! {
    CUPTI_ACTIVITY_KIND_MEMCPY = 1;
    CUPTI_ACTIVITY_KIND_MEMSET = 2;
    CUPTI_ACTIVITY_KIND_KERNEL = 3;
    CUPTI_ACTIVITY_KIND_DRIVER = 4;
    CUPTI_ACTIVITY_KIND_RUNTIME = 5;
    CUPTI_ACTIVITY_KIND_DEVICE = 8;
    CUPTI_ACTIVITY_KIND_CONTEXT = 9;
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10;
    CUPTI_ACTIVITY_KIND_OVERHEAD = 17;
    CUPTI_ACTIVITY_KIND_CUDA_EVENT = 36;
    CUPTI_ACTIVITY_KIND_STREAM = 37;
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 38;
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39;
    CUPTI_ACTIVITY_KIND_MEMORY2 = 49;
    CUPTI_ACTIVITY_KIND_MEMORY_POOL = 50;
    CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS = 1;
    CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT = 1;
    CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING = 2;
    CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL = 1;
    CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED = 1;
    CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED = 2;
    CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED = 3;
    CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1;
    CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2;
    CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8;
    CUPTI_ACTIVITY_MEMCPY_KIND_HTOH = 9;
    CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE = 1;
    CUPTI_ACTIVITY_MEMORY_KIND_PINNED = 2;
    CUPTI_ACTIVITY_MEMORY_KIND_DEVICE = 3;
    CUPTI_ACTIVITY_MEMORY_KIND_MANAGED = 5;
    CUPTI_ACTIVITY_COMPUTE_API_CUDA = 1;
    CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION = 1;
    CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE = 2;
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE = 1;
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT = 2;
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE = 3;
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE = 4;
    CUPTI_SYNCHRONIZATION_INVALID_VALUE = 0xffff_ffff;
    CUPTI_API_ENTER = 0;
    CUPTI_API_EXIT = 1;
    CUPTI_CB_DOMAIN_DRIVER_API = 1;
    CUPTI_CB_DOMAIN_RUNTIME_API = 2;
    CUPTI_CB_DOMAIN_SIZE = 7;
    CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN = 1;
    CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 = 5;
}

/// Returns the bytes of a record of a kind.
#[must_use]
pub fn size(kind: u32) -> Option<usize> {
    let name = match kind {
        CUPTI_ACTIVITY_KIND_KERNEL | CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL => 0,
        CUPTI_ACTIVITY_KIND_MEMCPY => 1,
        CUPTI_ACTIVITY_KIND_MEMSET => 2,
        CUPTI_ACTIVITY_KIND_DRIVER | CUPTI_ACTIVITY_KIND_RUNTIME => 3,
        CUPTI_ACTIVITY_KIND_SYNCHRONIZATION => 4,
        CUPTI_ACTIVITY_KIND_CUDA_EVENT => 5,
        CUPTI_ACTIVITY_KIND_MEMORY2 => 6,
        CUPTI_ACTIVITY_KIND_CONTEXT => 7,
        CUPTI_ACTIVITY_KIND_DEVICE => 8,
        CUPTI_ACTIVITY_KIND_STREAM => 9,
        CUPTI_ACTIVITY_KIND_MEMORY_POOL => 10,
        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION => 11,
        _ => return None,
    };
    layouts().get(name).map(|layout| layout.1)
}

cuda_abi::structs! {
    CALLBACK_LAYOUTS;

    /// What the client's function is told of a call.
    CUpti_CallbackData {
        callbackSite: u32,
        functionName: u64,
        functionParams: u64,
        functionReturnValue: u64,
        symbolName: u64,
        context: u64,
        contextUid: u32,
        correlationData: u64,
        correlationId: u32,
    }
}
