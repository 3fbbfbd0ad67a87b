//! Functions and variables: attributes, occupancy, symbols.

use crate::driver::{
    cuFuncGetAttribute, cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncSetAttribute,
    cuFuncSetCacheConfig, cuOccupancyAvailableDynamicSMemPerBlock,
    cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveClusters,
};
use crate::error::{Error, Outcome};
use crate::host::{Ptr, out, put, put_u64};
use crate::registry::{function, variable};
use crate::state::context;

/// Returns `cudaFuncAttributes`; its fields about clusters are zero.
pub(crate) fn attributes(at: Ptr, host: Ptr) -> Outcome {
    let f = function(host)?;
    let get = |attribute| out(0_i32, |at| cuFuncGetAttribute(at, attribute, f));
    let mut bytes = Vec::new();
    // Three sizes: shared, constant and local memory.
    for attribute in [1, 2, 3] {
        bytes.extend((get(attribute)? as u64).to_ne_bytes());
    }
    // Maximum threads per block, registers, PTX and binary version, cache mode, maximum dynamic
    // shared memory, carveout.
    for attribute in [0, 4, 5, 6, 7, 8, 9] {
        bytes.extend(get(attribute)?.to_ne_bytes());
    }
    // Six fields about clusters, and sixteen reserved words.
    bytes.resize(bytes.len() + 4 * 22, 0);
    put(at, &bytes)
}

pub(crate) fn set_attribute(host: Ptr, attribute: i32, value: i32) -> Outcome {
    cuFuncSetAttribute(function(host)?, attribute, value)
}

pub(crate) fn set_cache_config(host: Ptr, config: i32) -> Outcome {
    if !(0..=3).contains(&config) {
        return Err(Error::INVALID_VALUE);
    }
    cuFuncSetCacheConfig(function(host)?, config)
}

pub(crate) fn set_shared_config(host: Ptr, config: i32) -> Outcome {
    if !(0..=2).contains(&config) {
        return Err(Error::INVALID_VALUE);
    }
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
    crate::host::put_i32(at, 1)
}

pub(crate) fn symbol_address(at: Ptr, symbol: Ptr) -> Outcome {
    context()?;
    put_u64(at, variable(symbol)?.0)
}

pub(crate) fn symbol_size(at: Ptr, symbol: Ptr) -> Outcome {
    context()?;
    put_u64(at, variable(symbol)?.1 as u64)
}
