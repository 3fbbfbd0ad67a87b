//! Constants of the driver API (`cuda.h`) and of the runtime API (`driver_types.h`).
//!
//! A type here has the name of the header's; a constant is the header's without the prefix that all
//! constants of its type have.
#![allow(non_camel_case_types, reason = "names as CUDA's headers write them")]

use crate::status::{Outcome, Status};

/// Declares types of constants: a name, the common prefix of the constants, and their numbers.
macro_rules! numbers {
    ($(
        $(#[$meta:meta])*
        $name:ident $prefix:literal {
            $($constant:ident = $number:literal,)+
        }
    )+) => {
        $(
            $(#[$meta])*
            #[repr(i32)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
            pub enum $name {
                $(
                    #[doc = concat!("`", $prefix, stringify!($constant), "`.")]
                    $constant = $number,
                )+
            }

            impl $name {
                /// Returns the constant of a number.
                ///
                /// # Errors
                /// [`Status::INVALID_VALUE`] for a number that is not listed.
                pub fn of(number: i32) -> Outcome<Self> {
                    match number {
                        $($number => Ok(Self::$constant),)+
                        _ => Err(Status::INVALID_VALUE),
                    }
                }
            }
        )+

        /// All constants, by their names in the headers.
        pub const NUMBERS: &[(&str, i32)] = &[
            $($((concat!($prefix, stringify!($constant)), $number),)+)+
        ];
    };
}

numbers! {
    /// An attribute of a device.
    CUdevice_attribute "CU_DEVICE_ATTRIBUTE_" {
        MAX_THREADS_PER_BLOCK = 1,
        MAX_BLOCK_DIM_X = 2,
        MAX_BLOCK_DIM_Y = 3,
        MAX_BLOCK_DIM_Z = 4,
        MAX_GRID_DIM_X = 5,
        MAX_GRID_DIM_Y = 6,
        MAX_GRID_DIM_Z = 7,
        MAX_SHARED_MEMORY_PER_BLOCK = 8,
        TOTAL_CONSTANT_MEMORY = 9,
        WARP_SIZE = 10,
        MAX_PITCH = 11,
        MAX_REGISTERS_PER_BLOCK = 12,
        CLOCK_RATE = 13,
        TEXTURE_ALIGNMENT = 14,
        GPU_OVERLAP = 15,
        MULTIPROCESSOR_COUNT = 16,
        KERNEL_EXEC_TIMEOUT = 17,
        INTEGRATED = 18,
        CAN_MAP_HOST_MEMORY = 19,
        COMPUTE_MODE = 20,
        MAXIMUM_TEXTURE1D_WIDTH = 21,
        MAXIMUM_TEXTURE2D_WIDTH = 22,
        MAXIMUM_TEXTURE2D_HEIGHT = 23,
        MAXIMUM_TEXTURE3D_WIDTH = 24,
        MAXIMUM_TEXTURE3D_HEIGHT = 25,
        MAXIMUM_TEXTURE3D_DEPTH = 26,
        MAXIMUM_TEXTURE2D_LAYERED_WIDTH = 27,
        MAXIMUM_TEXTURE2D_LAYERED_HEIGHT = 28,
        MAXIMUM_TEXTURE2D_LAYERED_LAYERS = 29,
        SURFACE_ALIGNMENT = 30,
        CONCURRENT_KERNELS = 31,
        ECC_ENABLED = 32,
        PCI_BUS_ID = 33,
        PCI_DEVICE_ID = 34,
        TCC_DRIVER = 35,
        MEMORY_CLOCK_RATE = 36,
        GLOBAL_MEMORY_BUS_WIDTH = 37,
        L2_CACHE_SIZE = 38,
        MAX_THREADS_PER_MULTIPROCESSOR = 39,
        ASYNC_ENGINE_COUNT = 40,
        UNIFIED_ADDRESSING = 41,
        MAXIMUM_TEXTURE1D_LAYERED_WIDTH = 42,
        MAXIMUM_TEXTURE1D_LAYERED_LAYERS = 43,
        CAN_TEX2D_GATHER = 44,
        MAXIMUM_TEXTURE2D_GATHER_WIDTH = 45,
        MAXIMUM_TEXTURE2D_GATHER_HEIGHT = 46,
        MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE = 47,
        MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE = 48,
        MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE = 49,
        PCI_DOMAIN_ID = 50,
        TEXTURE_PITCH_ALIGNMENT = 51,
        MAXIMUM_TEXTURECUBEMAP_WIDTH = 52,
        MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH = 53,
        MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS = 54,
        MAXIMUM_SURFACE1D_WIDTH = 55,
        MAXIMUM_SURFACE2D_WIDTH = 56,
        MAXIMUM_SURFACE2D_HEIGHT = 57,
        MAXIMUM_SURFACE3D_WIDTH = 58,
        MAXIMUM_SURFACE3D_HEIGHT = 59,
        MAXIMUM_SURFACE3D_DEPTH = 60,
        MAXIMUM_SURFACE1D_LAYERED_WIDTH = 61,
        MAXIMUM_SURFACE1D_LAYERED_LAYERS = 62,
        MAXIMUM_SURFACE2D_LAYERED_WIDTH = 63,
        MAXIMUM_SURFACE2D_LAYERED_HEIGHT = 64,
        MAXIMUM_SURFACE2D_LAYERED_LAYERS = 65,
        MAXIMUM_SURFACECUBEMAP_WIDTH = 66,
        MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH = 67,
        MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS = 68,
        MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69,
        MAXIMUM_TEXTURE2D_LINEAR_WIDTH = 70,
        MAXIMUM_TEXTURE2D_LINEAR_HEIGHT = 71,
        MAXIMUM_TEXTURE2D_LINEAR_PITCH = 72,
        MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH = 73,
        MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT = 74,
        COMPUTE_CAPABILITY_MAJOR = 75,
        COMPUTE_CAPABILITY_MINOR = 76,
        MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH = 77,
        STREAM_PRIORITIES_SUPPORTED = 78,
        GLOBAL_L1_CACHE_SUPPORTED = 79,
        LOCAL_L1_CACHE_SUPPORTED = 80,
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
        MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
        MANAGED_MEMORY = 83,
        MULTI_GPU_BOARD = 84,
        MULTI_GPU_BOARD_GROUP_ID = 85,
        HOST_NATIVE_ATOMIC_SUPPORTED = 86,
        SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = 87,
        PAGEABLE_MEMORY_ACCESS = 88,
        CONCURRENT_MANAGED_ACCESS = 89,
        COMPUTE_PREEMPTION_SUPPORTED = 90,
        CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91,
        CAN_USE_STREAM_MEM_OPS_V1 = 92,
        CAN_USE_64_BIT_STREAM_MEM_OPS_V1 = 93,
        CAN_USE_STREAM_WAIT_VALUE_NOR_V1 = 94,
        COOPERATIVE_LAUNCH = 95,
        COOPERATIVE_MULTI_DEVICE_LAUNCH = 96,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
        CAN_FLUSH_REMOTE_WRITES = 98,
        HOST_REGISTER_SUPPORTED = 99,
        PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = 100,
        DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101,
        VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
        HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
        HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
        HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED = 105,
        MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
        GENERIC_COMPRESSION_SUPPORTED = 107,
        MAX_PERSISTING_L2_CACHE_SIZE = 108,
        MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
        GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110,
        RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
        SPARSE_CUDA_ARRAY_SUPPORTED = 112,
        READ_ONLY_HOST_REGISTER_SUPPORTED = 113,
        TIMELINE_SEMAPHORE_INTEROP_SUPPORTED = 114,
        MEMORY_POOLS_SUPPORTED = 115,
        GPU_DIRECT_RDMA_SUPPORTED = 116,
        GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS = 117,
        GPU_DIRECT_RDMA_WRITES_ORDERING = 118,
        MEMPOOL_SUPPORTED_HANDLE_TYPES = 119,
        CLUSTER_LAUNCH = 120,
        DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED = 121,
        CAN_USE_64_BIT_STREAM_MEM_OPS = 122,
        CAN_USE_STREAM_WAIT_VALUE_NOR = 123,
        DMA_BUF_SUPPORTED = 124,
        IPC_EVENT_SUPPORTED = 125,
        MEM_SYNC_DOMAIN_COUNT = 126,
        TENSOR_MAP_ACCESS_SUPPORTED = 127,
        HANDLE_TYPE_FABRIC_SUPPORTED = 128,
        UNIFIED_FUNCTION_POINTERS = 129,
        NUMA_CONFIG = 130,
        NUMA_ID = 131,
        MULTICAST_SUPPORTED = 132,
        MPS_ENABLED = 133,
        HOST_NUMA_ID = 134,
        D3D12_CIG_SUPPORTED = 135,
        MEM_DECOMPRESS_ALGORITHM_MASK = 136,
        MEM_DECOMPRESS_MAXIMUM_LENGTH = 137,
        VULKAN_CIG_SUPPORTED = 138,
        GPU_PCI_DEVICE_ID = 139,
        GPU_PCI_SUBSYSTEM_ID = 140,
        HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 141,
        HOST_NUMA_MEMORY_POOLS_SUPPORTED = 142,
        HOST_NUMA_MULTINODE_IPC_SUPPORTED = 143,
        HOST_MEMORY_POOLS_SUPPORTED = 144,
        HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 145,
        HOST_ALLOC_DMA_BUF_SUPPORTED = 146,
        ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED = 147,
        ATOMIC_REDUCTION_SUPPORTED = 148,
        MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK = 150,
    }

    /// An attribute of the link between two devices.
    CUdevice_P2PAttribute "CU_DEVICE_P2P_ATTRIBUTE_" {
        PERFORMANCE_RANK = 1,
        ACCESS_SUPPORTED = 2,
        NATIVE_ATOMIC_SUPPORTED = 3,
        CUDA_ARRAY_ACCESS_SUPPORTED = 4,
    }

    /// A flag of a context.
    CUctx_flags "CU_CTX_" {
        SCHED_SPIN = 1,
        SCHED_YIELD = 2,
        SCHED_BLOCKING_SYNC = 4,
        MAP_HOST = 8,
        LMEM_RESIZE_TO_MAX = 16,
        COREDUMP_ENABLE = 32,
        USER_COREDUMP_ENABLE = 64,
        SYNC_MEMOPS = 128,
    }

    /// A limit of a context.
    CUlimit "CU_LIMIT_" {
        STACK_SIZE = 0,
        PRINTF_FIFO_SIZE = 1,
        MALLOC_HEAP_SIZE = 2,
        DEV_RUNTIME_SYNC_DEPTH = 3,
        DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4,
        MAX_L2_FETCH_GRANULARITY = 5,
        PERSISTING_L2_CACHE_SIZE = 6,
    }

    /// A preference between shared memory and L1 cache.
    CUfunc_cache "CU_FUNC_CACHE_" {
        PREFER_NONE = 0,
        PREFER_SHARED = 1,
        PREFER_L1 = 2,
        PREFER_EQUAL = 3,
    }

    /// The width of shared memory banks.
    CUsharedconfig "CU_SHARED_MEM_CONFIG_" {
        DEFAULT_BANK_SIZE = 0,
        FOUR_BYTE_BANK_SIZE = 1,
        EIGHT_BYTE_BANK_SIZE = 2,
    }

    /// A flag of a stream.
    CUstream_flags "CU_STREAM_" {
        DEFAULT = 0,
        NON_BLOCKING = 1,
    }

    /// A flag of an event.
    CUevent_flags "CU_EVENT_" {
        DEFAULT = 0,
        BLOCKING_SYNC = 1,
        DISABLE_TIMING = 2,
        INTERPROCESS = 4,
    }

    /// How an event is recorded while its stream captures.
    CUevent_record_flags "CU_EVENT_RECORD_" {
        DEFAULT = 0,
        EXTERNAL = 1,
    }

    /// How a stream that captures waits for an event.
    CUevent_wait_flags "CU_EVENT_WAIT_" {
        DEFAULT = 0,
        EXTERNAL = 1,
    }

    /// Which potentially unsafe calls are refused during a capture.
    CUstreamCaptureMode "CU_STREAM_CAPTURE_MODE_" {
        GLOBAL = 0,
        THREAD_LOCAL = 1,
        RELAXED = 2,
    }

    /// The state of a stream that may capture.
    CUstreamCaptureStatus "CU_STREAM_CAPTURE_STATUS_" {
        NONE = 0,
        ACTIVE = 1,
        INVALIDATED = 2,
    }

    /// Whether nodes are added to what a capture depends on, or replace it.
    CUstreamUpdateCaptureDependencies_flags "CU_STREAM_" {
        ADD_CAPTURE_DEPENDENCIES = 0,
        SET_CAPTURE_DEPENDENCIES = 1,
    }

    /// The memory of one side of a copy.
    CUmemorytype "CU_MEMORYTYPE_" {
        HOST = 1,
        DEVICE = 2,
        ARRAY = 3,
        UNIFIED = 4,
    }

    /// The type of an array's channels.
    CUarray_format "CU_AD_FORMAT_" {
        UNSIGNED_INT8 = 1,
        UNSIGNED_INT16 = 2,
        UNSIGNED_INT32 = 3,
        SIGNED_INT8 = 8,
        SIGNED_INT16 = 9,
        SIGNED_INT32 = 10,
        HALF = 16,
        FLOAT = 32,
        UNORM_INT8X1 = 192,
        UNORM_INT8X2 = 193,
        UNORM_INT8X4 = 194,
        UNORM_INT16X1 = 195,
        UNORM_INT16X2 = 196,
        UNORM_INT16X4 = 197,
        SNORM_INT8X1 = 198,
        SNORM_INT8X2 = 199,
        SNORM_INT8X4 = 200,
        SNORM_INT16X1 = 201,
        SNORM_INT16X2 = 202,
        SNORM_INT16X4 = 203,
    }

    /// A flag of an array.
    CUDA_ARRAY3D_flags "CUDA_ARRAY3D_" {
        LAYERED = 1,
        SURFACE_LDST = 2,
        CUBEMAP = 4,
        TEXTURE_GATHER = 8,
        DEPTH_TEXTURE = 16,
        COLOR_ATTACHMENT = 32,
    }

    /// What a texture or surface is of.
    CUresourcetype "CU_RESOURCE_TYPE_" {
        ARRAY = 0,
        MIPMAPPED_ARRAY = 1,
        LINEAR = 2,
        PITCH2D = 3,
    }

    /// A flag of a texture.
    CUtexture_flags "CU_TRSF_" {
        READ_AS_INTEGER = 1,
        NORMALIZED_COORDINATES = 2,
        SRGB = 16,
        DISABLE_TRILINEAR_OPTIMIZATION = 32,
        SEAMLESS_CUBEMAP = 64,
    }

    /// The format in which a texture sees an array. The block-compressed ones are not listed.
    CUresourceViewFormat "CU_RES_VIEW_FORMAT_" {
        NONE = 0,
        UINT_1X8 = 1,
        UINT_2X8 = 2,
        UINT_4X8 = 3,
        SINT_1X8 = 4,
        SINT_2X8 = 5,
        SINT_4X8 = 6,
        UINT_1X16 = 7,
        UINT_2X16 = 8,
        UINT_4X16 = 9,
        SINT_1X16 = 10,
        SINT_2X16 = 11,
        SINT_4X16 = 12,
        UINT_1X32 = 13,
        UINT_2X32 = 14,
        UINT_4X32 = 15,
        SINT_1X32 = 16,
        SINT_2X32 = 17,
        SINT_4X32 = 18,
        FLOAT_1X16 = 19,
        FLOAT_2X16 = 20,
        FLOAT_4X16 = 21,
        FLOAT_1X32 = 22,
        FLOAT_2X32 = 23,
        FLOAT_4X32 = 24,
    }

    /// The kind of a channel.
    cudaChannelFormatKind "cudaChannelFormatKind" {
        Signed = 0,
        Unsigned = 1,
        Float = 2,
        None = 3,
        UnsignedNormalized8X1 = 5,
        UnsignedNormalized8X2 = 6,
        UnsignedNormalized8X4 = 7,
        UnsignedNormalized16X1 = 8,
        UnsignedNormalized16X2 = 9,
        UnsignedNormalized16X4 = 10,
        SignedNormalized8X1 = 11,
        SignedNormalized8X2 = 12,
        SignedNormalized8X4 = 13,
        SignedNormalized16X1 = 14,
        SignedNormalized16X2 = 15,
        SignedNormalized16X4 = 16,
    }

    /// The streams that may access managed memory.
    CUmemAttach_flags "CU_MEM_ATTACH_" {
        GLOBAL = 1,
        HOST = 2,
        SINGLE = 4,
    }

    /// How memory of another process is opened.
    CUipcMem_flags "CU_IPC_MEM_" {
        LAZY_ENABLE_PEER_ACCESS = 1,
    }

    /// A hint about managed memory.
    CUmem_advise "CU_MEM_ADVISE_" {
        SET_READ_MOSTLY = 1,
        UNSET_READ_MOSTLY = 2,
        SET_PREFERRED_LOCATION = 3,
        UNSET_PREFERRED_LOCATION = 4,
        SET_ACCESSED_BY = 5,
        UNSET_ACCESSED_BY = 6,
    }

    /// An attribute of a range of managed memory.
    CUmem_range_attribute "CU_MEM_RANGE_ATTRIBUTE_" {
        READ_MOSTLY = 1,
        PREFERRED_LOCATION = 2,
        ACCESSED_BY = 3,
        LAST_PREFETCH_LOCATION = 4,
    }

    /// An attribute of an address.
    CUpointer_attribute "CU_POINTER_ATTRIBUTE_" {
        CONTEXT = 1,
        MEMORY_TYPE = 2,
        DEVICE_POINTER = 3,
        HOST_POINTER = 4,
        P2P_TOKENS = 5,
        SYNC_MEMOPS = 6,
        BUFFER_ID = 7,
        IS_MANAGED = 8,
        DEVICE_ORDINAL = 9,
        IS_LEGACY_CUDA_IPC_CAPABLE = 10,
        RANGE_START_ADDR = 11,
        RANGE_SIZE = 12,
        MAPPED = 13,
        ALLOWED_HANDLE_TYPES = 14,
        IS_GPU_DIRECT_RDMA_CAPABLE = 15,
        ACCESS_FLAGS = 16,
        MEMPOOL_HANDLE = 17,
        MAPPING_SIZE = 18,
        MAPPING_BASE_ADDR = 19,
        MEMORY_BLOCK_ID = 20,
    }

    /// A kind of memory.
    CUmemAllocationType "CU_MEM_ALLOCATION_TYPE_" {
        INVALID = 0,
        PINNED = 1,
    }

    /// A kind of place of memory.
    CUmemLocationType "CU_MEM_LOCATION_TYPE_" {
        INVALID = 0,
        DEVICE = 1,
        HOST = 2,
        HOST_NUMA = 3,
        HOST_NUMA_CURRENT = 4,
    }

    /// How a device may access memory.
    CUmemAccess_flags "CU_MEM_ACCESS_FLAGS_PROT_" {
        NONE = 0,
        READ = 1,
        READWRITE = 3,
    }

    /// Which granularity of physical memory is asked for.
    CUmemAllocationGranularity_flags "CU_MEM_ALLOC_GRANULARITY_" {
        MINIMUM = 0,
        RECOMMENDED = 1,
    }

    /// An attribute of a memory pool.
    CUmemPool_attribute "CU_MEMPOOL_ATTR_" {
        REUSE_FOLLOW_EVENT_DEPENDENCIES = 1,
        REUSE_ALLOW_OPPORTUNISTIC = 2,
        REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
        RELEASE_THRESHOLD = 4,
        RESERVED_MEM_CURRENT = 5,
        RESERVED_MEM_HIGH = 6,
        USED_MEM_CURRENT = 7,
        USED_MEM_HIGH = 8,
    }

    /// When the code of a module is loaded.
    CUmoduleLoadingMode "CU_MODULE_" {
        EAGER_LOADING = 1,
        LAZY_LOADING = 2,
    }

    /// A kind of input of the linker.
    CUjitInputType "CU_JIT_INPUT_" {
        CUBIN = 0,
        PTX = 1,
        FATBINARY = 2,
        OBJECT = 3,
        LIBRARY = 4,
    }

    /// An option of loading and linking. Only those with an effect are listed.
    CUjit_option "CU_JIT_" {
        INFO_LOG_BUFFER_SIZE_BYTES = 4,
        ERROR_LOG_BUFFER = 5,
        ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }

    /// An attribute of a kernel.
    CUfunction_attribute "CU_FUNC_ATTRIBUTE_" {
        MAX_THREADS_PER_BLOCK = 0,
        SHARED_SIZE_BYTES = 1,
        CONST_SIZE_BYTES = 2,
        LOCAL_SIZE_BYTES = 3,
        NUM_REGS = 4,
        PTX_VERSION = 5,
        BINARY_VERSION = 6,
        CACHE_MODE_CA = 7,
        MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
        PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
        CLUSTER_SIZE_MUST_BE_SET = 10,
        REQUIRED_CLUSTER_WIDTH = 11,
        REQUIRED_CLUSTER_HEIGHT = 12,
        REQUIRED_CLUSTER_DEPTH = 13,
        NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
        CLUSTER_SCHEDULING_POLICY_PREFERENCE = 15,
        DEVICE_NODE_UPDATE_SUPPORTED = 16,
        SHARED_MEMORY_MODE = 17,
    }

    /// An attribute of a kernel that the runtime API numbers otherwise.
    cudaFuncAttribute "cudaFuncAttribute" {
        SharedMemoryMode = 16,
    }

    /// How much dynamic shared memory a launch may ask for.
    CUsharedMemoryMode "CU_SHARED_MEMORY_MODE_" {
        DEFAULT = 0,
        REQUIRE_PORTABLE = 1,
        ALLOW_NON_PORTABLE = 2,
        ALLOW_OVERSIZED_SHARED_MEMORY = 3,
        PREFER_OVERSIZED_SHARED_MEMORY = 4,
    }

    /// A preference where the blocks of a cluster run.
    CUclusterSchedulingPolicy "CU_CLUSTER_SCHEDULING_POLICY_" {
        DEFAULT = 0,
        SPREAD = 1,
        LOAD_BALANCING = 2,
        RUBIN_DSMEM_LOCALITY = 3,
    }

    /// An attribute of a launch. Only those with an effect are listed.
    CUlaunchAttributeID "CU_LAUNCH_ATTRIBUTE_" {
        COOPERATIVE = 2,
        CLUSTER_DIMENSION = 4,
        SHARED_MEMORY_MODE = 18,
    }

    /// An attribute of a stream.
    CUstreamAttrID "CU_STREAM_ATTRIBUTE_" {
        ACCESS_POLICY_WINDOW = 1,
        SYNCHRONIZATION_POLICY = 3,
        PRIORITY = 8,
        MEM_SYNC_DOMAIN_MAP = 9,
        MEM_SYNC_DOMAIN = 10,
    }

    /// A kind of graph node.
    CUgraphNodeType "CU_GRAPH_NODE_TYPE_" {
        KERNEL = 0,
        MEMCPY = 1,
        MEMSET = 2,
        HOST = 3,
        GRAPH = 4,
        EMPTY = 5,
        WAIT_EVENT = 6,
        EVENT_RECORD = 7,
        MEM_ALLOC = 10,
        MEM_FREE = 11,
        BATCH_MEM_OP = 12,
        CONDITIONAL = 13,
    }

    /// An operation on memory in stream order.
    CUstreamBatchMemOpType "CU_STREAM_MEM_OP_" {
        WAIT_VALUE_32 = 1,
        WRITE_VALUE_32 = 2,
        FLUSH_REMOTE_WRITES = 3,
        WAIT_VALUE_64 = 4,
        WRITE_VALUE_64 = 5,
        BARRIER = 6,
    }

    /// How the value of a condition decides which body runs.
    CUgraphConditionalNodeType "CU_GRAPH_COND_TYPE_" {
        IF = 0,
        WHILE = 1,
        SWITCH = 2,
    }

    /// Whose a graph in a node is.
    CUgraphChildGraphNodeOwnership "CU_GRAPH_CHILD_GRAPH_OWNERSHIP_" {
        CLONE = 0,
        MOVE = 1,
    }

    /// A count of the memory of graphs.
    CUgraphMem_attribute "CU_GRAPH_MEM_ATTR_" {
        USED_MEM_CURRENT = 0,
        USED_MEM_HIGH = 1,
        RESERVED_MEM_CURRENT = 2,
        RESERVED_MEM_HIGH = 3,
    }

    /// An option of the instantiation of a graph.
    CUgraphInstantiate_flags "CUDA_GRAPH_INSTANTIATE_FLAG_" {
        AUTO_FREE_ON_LAUNCH = 1,
        UPLOAD = 2,
        DEVICE_LAUNCH = 4,
        USE_NODE_PRIORITY = 8,
    }

    /// Details in the text of a graph.
    CUgraphDebugDot_flags "CU_GRAPH_DEBUG_DOT_FLAGS_" {
        VERBOSE = 1,
        KERNEL_NODE_PARAMS = 4,
        MEMCPY_NODE_PARAMS = 8,
        MEMSET_NODE_PARAMS = 16,
        HOST_NODE_PARAMS = 32,
        EVENT_NODE_PARAMS = 64,
        HANDLES = 1024,
        MEM_ALLOC_NODE_PARAMS = 2048,
        MEM_FREE_NODE_PARAMS = 4096,
        BATCH_MEM_OP_NODE_PARAMS = 8192,
        CONDITIONAL_NODE_PARAMS = 32768,
    }

    /// The outcome of the update of an executable graph.
    CUgraphExecUpdateResult "CU_GRAPH_EXEC_UPDATE_" {
        SUCCESS = 0,
        ERROR_TOPOLOGY_CHANGED = 2,
        ERROR_NODE_TYPE_CHANGED = 3,
    }

    /// The outcome of the instantiation of a graph.
    CUgraphInstantiateResult "CUDA_GRAPH_INSTANTIATE_" {
        SUCCESS = 0,
        ERROR = 1,
    }

    /// The default stream of functions that are looked up.
    CUdriverProcAddress_flags "CU_GET_PROC_ADDRESS_" {
        DEFAULT = 0,
        LEGACY_STREAM = 1,
        PER_THREAD_DEFAULT_STREAM = 2,
    }

    /// The outcome of looking up a function.
    CUdriverProcAddressQueryResult "CU_GET_PROC_ADDRESS_" {
        SUCCESS = 0,
        SYMBOL_NOT_FOUND = 1,
        VERSION_NOT_SUFFICIENT = 2,
    }

    /// The direction of a copy. With the last one, the driver infers it.
    cudaMemcpyKind "cudaMemcpy" {
        HostToHost = 0,
        HostToDevice = 1,
        DeviceToHost = 2,
        DeviceToDevice = 3,
        Default = 4,
    }

    /// A kind of memory.
    cudaMemoryType "cudaMemoryType" {
        Unregistered = 0,
        Host = 1,
        Device = 2,
        Managed = 3,
    }
}

impl CUctx_flags {
    /// The valid flags of contexts.
    pub const MASK: u32 = 0x7f;
}
