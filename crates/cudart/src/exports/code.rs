//! Kernels, variables, launches, occupancy, libraries.

use cuda_abi::host::{Ptr, put_u64};
use cuda_abi::{Status, dim3};

use crate::driver::*;
use crate::state::{self, Configuration, context};
use crate::{function, launch, registry};

exports! {
    cudaLaunchKernel | cudaLaunchKernel_ptsz
        (function: Ptr, grid: dim3, block: dim3, args: Ptr, shared: usize, stream: u64)
        => launch::kernel(function, Configuration { grid, block, shared, stream }, args, false);
    cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz
        (function: Ptr, grid: dim3, block: dim3, args: Ptr, shared: usize, stream: u64)
        => launch::kernel(function, Configuration { grid, block, shared, stream }, args, true);
    cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz (config: Ptr, function: Ptr, args: Ptr)
        => launch::configured(config, function, args);

    // What compilers emit for `<<<...>>>`. A kernel is its address, which stays valid after a reset
    // of the device.
    __cudaPushCallConfiguration(grid: dim3, block: dim3, shared: usize, stream: u64)
        => state::push(Configuration { grid, block, shared, stream });
    __cudaPopCallConfiguration(grid: Ptr, block: Ptr, shared: Ptr, stream: Ptr)
        => launch::pop_configuration(grid, block, shared, stream);
    __cudaGetKernel(out: Ptr, function: Ptr) => {
        if !registry::is_kernel(function) {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        put_u64(out, function as u64)
    };
    __cudaLaunchKernel | __cudaLaunchKernel_ptsz
        (kernel: Ptr, grid: dim3, block: dim3, args: Ptr, shared: usize, stream: u64)
        => launch::kernel(kernel, Configuration { grid, block, shared, stream }, args, false);

    cudaFuncGetAttributes(out: Ptr, function: Ptr) => function::attributes(out, function);
    cudaFuncSetAttribute(function: Ptr, attribute: i32, value: i32)
        => function::set_attribute(function, attribute, value);
    cudaFuncSetCacheConfig(function: Ptr, config: i32)
        => function::set_cache_config(function, config);
    cudaFuncSetSharedMemConfig(function: Ptr, config: i32)
        => function::set_shared_config(function, config);
    cudaFuncGetName(out: Ptr, function: Ptr) => function::name(out, function);
    cudaFuncGetParamInfo(function: Ptr, index: usize, offset: Ptr, size: Ptr)
        => function::param_info(function, index, offset, size);
    cudaFuncGetParamCount(function: Ptr, out: Ptr) => function::param_count(function, out);
    cudaGetFuncBySymbol | cudaGetKernel (out: Ptr, function: Ptr)
        => function::handle(out, function);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(out: Ptr, function: Ptr, threads: i32,
        dynamic: usize)
        => function::occupancy(out, function, threads, dynamic);
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out: Ptr, function: Ptr, threads: i32,
        dynamic: usize, _flags: u32)
        => function::occupancy(out, function, threads, dynamic);
    cudaOccupancyAvailableDynamicSMemPerBlock(out: Ptr, function: Ptr, blocks: i32, threads: i32)
        => function::dynamic_per_block(out, function, blocks, threads);
    cudaOccupancyMaxActiveClusters(out: Ptr, function: Ptr, config: Ptr)
        => function::clusters(out, function, config);
    cudaOccupancyMaxPotentialClusterSize(out: Ptr, function: Ptr, config: Ptr)
        => function::potential_cluster(out, function, config);
    cudaGetSymbolAddress(out: Ptr, symbol: Ptr) => function::symbol_address(out, symbol);
    cudaGetSymbolSize(out: Ptr, symbol: Ptr) => function::symbol_size(out, symbol);

    cudaLibraryLoadData(out: Ptr, image: Ptr, options: Ptr, values: Ptr, count: u32, library: Ptr,
        library_values: Ptr, library_count: u32)
        => { context()?; cuLibraryLoadData(out, image, options, values, count, library,
            library_values, library_count) };
    cudaLibraryLoadFromFile(out: Ptr, path: Ptr, options: Ptr, values: Ptr, count: u32,
        library: Ptr, library_values: Ptr, library_count: u32)
        => { context()?; cuLibraryLoadFromFile(out, path, options, values, count, library,
            library_values, library_count) };
    cudaLibraryUnload(library: u64) => { context()?; cuLibraryUnload(library) };
    cudaLibraryGetKernel(out: Ptr, library: u64, name: Ptr)
        => { context()?; cuLibraryGetKernel(out, library, name) };
    cudaLibraryGetKernelCount(out: Ptr, library: u64)
        => { context()?; cuLibraryGetKernelCount(out, library) };
    cudaLibraryEnumerateKernels(out: Ptr, count: u32, library: u64)
        => { context()?; cuLibraryEnumerateKernels(out, count, library) };
    cudaLibraryGetGlobal(address: Ptr, len: Ptr, library: u64, name: Ptr)
        => { context()?; cuLibraryGetGlobal(address, len, library, name) };
}
