//! Functions and variables: attributes, occupancy, symbols.

use cuda_abi::host::{Ptr, put, put_i32, put_u64, written};
use cuda_abi::{
    Abi as _, CUfunc_cache, CUfunction_attribute, CUsharedconfig, Outcome, cudaFuncAttribute,
    cudaFuncAttributes,
};

use crate::driver::{
    cuFuncGetAttribute, cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncSetAttribute,
    cuFuncSetCacheConfig, cuOccupancyAvailableDynamicSMemPerBlock,
    cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveClusters,
};
use crate::registry::{function, variable};
use crate::state::context;

/// Returns the attributes of a kernel.
pub(crate) fn attributes(at: Ptr, host: Ptr) -> Outcome {
    use CUfunction_attribute as A;
    let f = function(host)?;
    let get = |attribute: A| written(0_i32, |at| cuFuncGetAttribute(at, attribute as i32, f));
    put(
        at,
        &cudaFuncAttributes {
            sharedSizeBytes: get(A::SHARED_SIZE_BYTES)? as u64,
            constSizeBytes: get(A::CONST_SIZE_BYTES)? as u64,
            localSizeBytes: get(A::LOCAL_SIZE_BYTES)? as u64,
            maxThreadsPerBlock: get(A::MAX_THREADS_PER_BLOCK)?,
            numRegs: get(A::NUM_REGS)?,
            ptxVersion: get(A::PTX_VERSION)?,
            binaryVersion: get(A::BINARY_VERSION)?,
            cacheModeCA: get(A::CACHE_MODE_CA)?,
            maxDynamicSharedSizeBytes: get(A::MAX_DYNAMIC_SHARED_SIZE_BYTES)?,
            preferredShmemCarveout: get(A::PREFERRED_SHARED_MEMORY_CARVEOUT)?,
            clusterDimMustBeSet: get(A::CLUSTER_SIZE_MUST_BE_SET)?,
            requiredClusterWidth: get(A::REQUIRED_CLUSTER_WIDTH)?,
            requiredClusterHeight: get(A::REQUIRED_CLUSTER_HEIGHT)?,
            requiredClusterDepth: get(A::REQUIRED_CLUSTER_DEPTH)?,
            clusterSchedulingPolicyPreference: get(A::CLUSTER_SCHEDULING_POLICY_PREFERENCE)?,
            nonPortableClusterSizeAllowed: get(A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED)?,
            deviceNodeUpdateStatus: get(A::DEVICE_NODE_UPDATE_SUPPORTED)?,
            sharedMemoryMode: get(A::SHARED_MEMORY_MODE)?,
            ..cudaFuncAttributes::zeroed()
        },
    )
}

pub(crate) fn set_attribute(host: Ptr, attribute: i32, value: i32) -> Outcome {
    let attribute = match cudaFuncAttribute::of(attribute) {
        Ok(cudaFuncAttribute::SharedMemoryMode) => CUfunction_attribute::SHARED_MEMORY_MODE as i32,
        // Both APIs number the others alike.
        Err(_) => attribute,
    };
    cuFuncSetAttribute(function(host)?, attribute, value)
}

pub(crate) fn set_cache_config(host: Ptr, config: i32) -> Outcome {
    CUfunc_cache::of(config)?;
    cuFuncSetCacheConfig(function(host)?, config)
}

pub(crate) fn set_shared_config(host: Ptr, config: i32) -> Outcome {
    CUsharedconfig::of(config)?;
    function(host).map(drop)
}

pub(crate) fn name(at: Ptr, host: Ptr) -> Outcome {
    cuFuncGetName(at, function(host)?)
}

pub(crate) fn param_info(host: Ptr, index: usize, offset: Ptr, size: Ptr) -> Outcome {
    cuFuncGetParamInfo(function(host)?, index, offset, size)
}

pub(crate) fn param_count(host: Ptr, at: Ptr) -> Outcome {
    cuFuncGetParamCount(function(host)?, at)
}

/// Returns the driver's handle of a kernel.
pub(crate) fn handle(at: Ptr, host: Ptr) -> Outcome {
    put_u64(at, function(host)?)
}

pub(crate) fn occupancy(at: Ptr, host: Ptr, threads: i32, dynamic: usize) -> Outcome {
    cuOccupancyMaxActiveBlocksPerMultiprocessor(at, function(host)?, threads, dynamic)
}

pub(crate) fn dynamic_per_block(at: Ptr, host: Ptr, blocks: i32, threads: i32) -> Outcome {
    cuOccupancyAvailableDynamicSMemPerBlock(at, function(host)?, blocks, threads)
}

/// Returns the number of active clusters. They have one block, whatever the configuration says.
pub(crate) fn clusters(at: Ptr, host: Ptr, _config: Ptr) -> Outcome {
    cuOccupancyMaxActiveClusters(at, function(host)?, 0)
}

pub(crate) fn potential_cluster(at: Ptr, host: Ptr, _config: Ptr) -> Outcome {
    function(host)?;
    put_i32(at, 1)
}

pub(crate) fn symbol_address(at: Ptr, symbol: Ptr) -> Outcome {
    context()?;
    put_u64(at, variable(symbol)?.0)
}

pub(crate) fn symbol_size(at: Ptr, symbol: Ptr) -> Outcome {
    context()?;
    put_u64(at, variable(symbol)?.1 as u64)
}
