//! Modules, libraries, functions, launches, linking.

use cuda_abi::host::Ptr;

use crate::api::{function, launch, linker, module};

exports! {
    cuModuleLoad(out: Ptr, path: Ptr) => |d| module::load_file(d, out, path);
    cuModuleLoadData | cuModuleLoadFatBinary (out: Ptr, image: Ptr)
        => |d| module::load(d, out, image);
    cuModuleLoadDataEx(out: Ptr, image: Ptr, count: u32, options: Ptr, values: Ptr)
        => |d| module::load_ex(d, out, image, count, options, values);
    cuModuleUnload(module: u64) => |d| module::unload(d, module);
    cuModuleGetFunction(out: Ptr, module: u64, name: Ptr)
        => |d| module::function(d, out, module, name);
    cuModuleGetFunctionCount(out: Ptr, module: u64) => |d| module::function_count(d, out, module);
    cuModuleEnumerateFunctions(out: Ptr, count: u32, module: u64)
        => |d| module::functions(d, out, count, module);
    cuModuleGetGlobal_v2(address: Ptr, len: Ptr, module: u64, name: Ptr)
        => |d| module::global(d, address, len, module, name);
    cuModuleGetLoadingMode(out: Ptr) => |d| module::loading_mode(d, out);

    cuLibraryLoadData(
        out: Ptr, image: Ptr, options: Ptr, values: Ptr, count: u32, library: Ptr,
        library_values: Ptr, library_count: u32
    )
        => |d| module::library_load(
            d, out, image, (options, values, count), (library, library_values, library_count)
        );
    cuLibraryLoadFromFile(
        out: Ptr, path: Ptr, _options: Ptr, _values: Ptr, _count: u32, _library: Ptr,
        _library_values: Ptr, _library_count: u32
    )
        => |d| module::library_load_file(d, out, path);
    cuLibraryUnload(library: u64) => |d| module::library_unload(d, library);
    cuLibraryGetKernel(out: Ptr, library: u64, name: Ptr)
        => |d| module::library_kernel(d, out, library, name);
    cuLibraryGetKernelCount(out: Ptr, library: u64)
        => |d| module::library_kernel_count(d, out, library);
    cuLibraryEnumerateKernels(out: Ptr, count: u32, library: u64)
        => |d| module::library_kernels(d, out, count, library);
    cuLibraryGetModule(out: Ptr, library: u64) => |d| module::library_module(d, out, library);
    cuLibraryGetGlobal | cuLibraryGetManaged (address: Ptr, len: Ptr, library: u64, name: Ptr)
        => |d| module::library_global(d, address, len, library, name);

    cuKernelGetFunction(out: Ptr, kernel: u64) => |d| module::kernel_function(d, out, kernel);
    cuKernelGetLibrary(out: Ptr, kernel: u64) => |d| module::kernel_library(d, out, kernel);
    cuKernelGetAttribute(out: Ptr, attribute: i32, kernel: u64, device: i32)
        => |d| function::kernel_attribute(d, out, attribute, kernel, device);
    cuKernelSetAttribute(attribute: i32, value: i32, kernel: u64, device: i32)
        => |d| function::set_kernel_attribute(d, attribute, value, kernel, device);
    cuKernelSetCacheConfig(kernel: u64, config: i32, device: i32)
        => |d| function::set_kernel_config(d, kernel, config, device);
    cuKernelGetName | cuFuncGetName (out: Ptr, function: u64)
        => |d| function::name(d, out, function);
    cuKernelGetParamInfo | cuFuncGetParamInfo (function: u64, index: usize, offset: Ptr, size: Ptr)
        => |d| function::param_info(d, function, index, offset, size);
    cuKernelGetParamCount | cuFuncGetParamCount (function: u64, out: Ptr)
        => |d| function::param_count(d, function, out);

    cuFuncGetAttribute(out: Ptr, attribute: i32, function: u64)
        => |d| function::attribute(d, out, attribute, function);
    cuFuncSetAttribute(function: u64, attribute: i32, value: i32)
        => |d| function::set_attribute(d, function, attribute, value);
    cuFuncSetCacheConfig | cuFuncSetSharedMemConfig (function: u64, config: i32)
        => |d| function::set_config(d, function, config);
    cuFuncGetModule(out: Ptr, function: u64) => |d| function::module(d, out, function);
    cuFuncIsLoaded(out: Ptr, function: u64) => |d| function::is_loaded(d, out, function);
    cuFuncLoad(function: u64) => |d| function::load(d, function);

    cuLaunchKernel | cuLaunchKernel_ptsz
        (function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
            stream: u64, params: Ptr, extra: Ptr)
        => |d| launch::kernel(d, function, [gx, gy, gz], [bx, by, bz], shared, stream, (params,
            extra));
    cuLaunchKernelEx | cuLaunchKernelEx_ptsz (config: Ptr, function: u64, params: Ptr, extra: Ptr)
        => |d| launch::configured(d, config, function, params, extra);
    cuLaunchCooperativeKernel | cuLaunchCooperativeKernel_ptsz
        (function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
            stream: u64, params: Ptr)
        => |d| launch::cooperative(d, function, [gx, gy, gz], [bx, by, bz], shared, stream, params);

    // Launches in the API before version 4.
    cuFuncSetBlockShape(function: u64, x: i32, y: i32, z: i32)
        => |d| launch::set_block(d, function, x, y, z);
    cuFuncSetSharedSize(function: u64, bytes: u32) => |d| launch::set_shared(d, function, bytes);
    cuParamSetSize(function: u64, bytes: u32) => |d| launch::set_param_size(d, function, bytes);
    cuParamSeti(function: u64, offset: i32, value: u32)
        => |d| launch::set_param(d, function, offset, &value.to_ne_bytes());
    cuParamSetf(function: u64, offset: i32, value: f32)
        => |d| launch::set_param(d, function, offset, &value.to_ne_bytes());
    cuParamSetv(function: u64, offset: i32, from: Ptr, len: u32)
        => |d| launch::set_param_from(d, function, offset, from, len);
    cuLaunch(function: u64) => |d| launch::legacy_one(d, function);
    cuLaunchGrid(function: u64, x: i32, y: i32) => |d| launch::legacy_grid(d, function, x, y, 0);
    cuLaunchGridAsync(function: u64, x: i32, y: i32, stream: u64)
        => |d| launch::legacy_grid(d, function, x, y, stream);

    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        out: Ptr, function: u64, threads: i32, dynamic: usize
    )
        => |d| function::occupancy(d, out, function, threads, dynamic);
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Ptr, function: u64, threads: i32, dynamic: usize, flags: u32
    )
        => |d| function::occupancy_with_flags(d, out, function, threads, dynamic, flags);
    cuOccupancyAvailableDynamicSMemPerBlock(out: Ptr, function: u64, blocks: i32, threads: i32)
        => |d| function::dynamic_per_block(d, out, function, blocks, threads);
    cuOccupancyMaxActiveClusters(out: Ptr, function: u64, config: Ptr)
        => |d| function::clusters(d, out, function, config);

    cuLinkCreate | cuLinkCreate_v2 (count: u32, options: Ptr, values: Ptr, out: Ptr)
        => |d| linker::create(d, count, options, values, out);
    cuLinkAddData | cuLinkAddData_v2
        (linker: u64, kind: i32, data: Ptr, len: usize, name: Ptr, count: u32, options: Ptr,
            values: Ptr)
        => |d| linker::add(d, linker, kind, data, len, name, (count, options, values));
    cuLinkAddFile | cuLinkAddFile_v2
        (linker: u64, kind: i32, path: Ptr, count: u32, options: Ptr, values: Ptr)
        => |d| linker::add_file(d, linker, kind, path, (count, options, values));
    cuLinkComplete(linker: u64, out: Ptr, len: Ptr) => |d| linker::complete(d, linker, out, len);
    cuLinkDestroy(linker: u64) => |d| linker::destroy(d, linker);
}
