//! The driver API, opened by name on first use. Its functions are safe to call: they take addresses
//! as numbers, and check them as they check those of any client.
#![allow(unsafe_code, reason = "functions of another library are found by name")]
#![allow(non_snake_case, reason = "names as the driver API writes them")]
#![allow(clippy::too_many_arguments, reason = "as many as the interface says")]

use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use cuda_abi::host::Ptr;
use cuda_abi::{Arguments, CUipcEventHandle, CUipcMemHandle, Outcome, Status, c_str};

/// Returns the dynamic linker's handle of the driver library; 0 if there is none.
fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        // SAFETY: the name is a C string. The library's initialisers are trusted.
        unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }.addr()
    })
}

/// Returns the address of a driver function; 0 if it does not exist.
fn address(name: &CStr) -> usize {
    match library() {
        0 => 0,
        // SAFETY: `dlopen` returned the handle, which is never closed; the name is a C string.
        library => unsafe { libc::dlsym(library as *mut libc::c_void, name.as_ptr()) }.addr(),
    }
}

/// Returns the path of the file from which this library was loaded.
pub(crate) fn own_file() -> Option<String> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let here = own_file as *const () as *const libc::c_void;
    // SAFETY: `here` is an address in this library, and `info` is valid for writes.
    if unsafe { libc::dladdr(here, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker's name of a loaded file is a C string that lives as long as the
    // file is loaded.
    Some(unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

/// Records an unsupported call in the driver's event log, if the driver has one.
pub(crate) fn note_unsupported(name: &CStr) {
    static NOTE: OnceLock<usize> = OnceLock::new();
    let _ = cuInit(0);
    let note = *NOTE.get_or_init(|| address(c"simtlab_unsupported"));
    if note != 0 {
        // SAFETY: our driver library's function of this name has this type.
        let note = unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr) -> i32>(note) };
        note(name.as_ptr().addr());
    }
}

/// Marks a call of this library while it lives: the driver does not take calls in the meantime for
/// the client's, and does not record their failures, if it has an event log.
pub(crate) struct OuterCall {
    /// The arguments in the layout of C, for profiling tools, which may look at them meanwhile.
    _arguments: Vec<u64>,
}

impl OuterCall {
    /// A call of the function of this name.
    pub(crate) fn enter(name: &'static CStr) -> Self {
        announce(name.as_ptr().expose_provenance());
        Self { _arguments: Vec::new() }
    }

    /// The same, of which profiling tools are told with its arguments.
    pub(crate) fn begin(name: &'static CStr, arguments: Arguments<'_>) -> Self {
        static GIVE: OnceLock<usize> = OnceLock::new();
        let give = *GIVE.get_or_init(|| address(c"simtlab_arguments"));
        if give == 0 {
            return Self::enter(name);
        }
        // SAFETY: this is the type of our driver library's function of this name.
        let give = unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr) -> i32>(give) };
        // Without a tool nobody looks at them.
        if give(0) == 0 {
            return Self::enter(name);
        }
        let _arguments = arguments.block();
        if !_arguments.is_empty() {
            give(_arguments.as_ptr().expose_provenance());
        }
        announce(name.as_ptr().expose_provenance());
        Self { _arguments }
    }

    /// Ends it with a status, which profiling tools are told.
    pub(crate) fn leave(self, status: i32) {
        static RETURNS: OnceLock<usize> = OnceLock::new();
        let returns = *RETURNS.get_or_init(|| address(c"simtlab_returns"));
        if status != 0 && returns != 0 {
            // SAFETY: this is the type of our driver library's function of this name.
            let returns = unsafe { std::mem::transmute::<usize, extern "C" fn(i32)>(returns) };
            returns(status);
        }
    }
}

impl Drop for OuterCall {
    fn drop(&mut self) {
        announce(0);
    }
}

fn announce(name: Ptr) {
    static ANNOUNCE: OnceLock<usize> = OnceLock::new();
    let announce = *ANNOUNCE.get_or_init(|| address(c"simtlab_within"));
    if announce != 0 {
        // SAFETY: this is the type of our driver library's function of this name.
        let announce = unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr)>(announce) };
        announce(name);
    }
}

/// Records a failed call in the driver's event log, if the driver has one.
pub(crate) fn note_failed(name: &CStr, error: Status, arguments: String) {
    static NOTE: OnceLock<usize> = OnceLock::new();
    let note = *NOTE.get_or_init(|| address(c"simtlab_failed"));
    let Ok(arguments) = CString::new(arguments) else { return };
    if note != 0 {
        // SAFETY: our driver library's function of this name has this type.
        let note =
            unsafe { std::mem::transmute::<usize, extern "C" fn(Ptr, i32, Ptr, Ptr) -> i32>(note) };
        let at = |text: &CStr| text.as_ptr().expose_provenance();
        note(at(name), error.0, at(error.runtime_name()), at(&arguments));
    }
}

fn answer(status: i32) -> Outcome {
    if status == 0 { Ok(()) } else { Err(Status(status)) }
}

macro_rules! driver {
    ($($name:ident($($arg:ident: $ty:ty),*);)+) => {
        $(
            pub(crate) fn $name($($arg: $ty),*) -> Outcome {
                type Function = extern "C" fn($($ty),*) -> i32;
                static ADDRESS: OnceLock<usize> = OnceLock::new();
                let at = *ADDRESS.get_or_init(|| address(c_str!(stringify!($name))));
                if at == 0 {
                    return Err(Status::INSUFFICIENT_DRIVER);
                }
                // SAFETY: the function of this name has this type in the public interface.
                let function = unsafe { std::mem::transmute::<usize, Function>(at) };
                answer(function($($arg),*))
            }
        )+
    };
}

driver! {
    cuInit(flags: u32);
    cuDriverGetVersion(out: Ptr);
    cuGetProcAddress_v2(name: Ptr, out: Ptr, version: i32, flags: u64, result: Ptr);

    cuDeviceGetCount(out: Ptr);
    cuDeviceGetName(out: Ptr, room: i32, device: i32);
    cuDeviceGetUuid_v2(out: Ptr, device: i32);
    cuDeviceTotalMem_v2(out: Ptr, device: i32);
    cuDeviceGetAttribute(out: Ptr, attribute: i32, device: i32);
    cuDeviceGetPCIBusId(out: Ptr, room: i32, device: i32);
    cuDeviceGetByPCIBusId(out: Ptr, id: Ptr);
    cuDeviceCanAccessPeer(out: Ptr, device: i32, peer: i32);
    cuDeviceGetP2PAttribute(out: Ptr, attribute: i32, from: i32, to: i32);
    cuDevicePrimaryCtxRetain(out: Ptr, device: i32);
    cuDevicePrimaryCtxReset_v2(device: i32);
    cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32);
    cuDevicePrimaryCtxGetState(device: i32, flags: Ptr, active: Ptr);

    cuCtxGetCurrent(out: Ptr);
    cuCtxSetCurrent(context: u64);
    cuCtxGetDevice(out: Ptr);
    cuCtxSynchronize();
    cuCtxGetLimit(out: Ptr, limit: i32);
    cuCtxSetLimit(limit: i32, value: usize);
    cuCtxGetCacheConfig(out: Ptr);
    cuCtxSetCacheConfig(config: i32);
    cuCtxGetSharedMemConfig(out: Ptr);
    cuCtxSetSharedMemConfig(config: i32);
    cuCtxGetStreamPriorityRange(least: Ptr, greatest: Ptr);
    cuCtxResetPersistingL2Cache();
    cuCtxEnablePeerAccess(context: u64, flags: u32);
    cuCtxDisablePeerAccess(context: u64);

    cuStreamCreateWithPriority(out: Ptr, flags: u32, priority: i32);
    cuStreamDestroy_v2(stream: u64);
    cuStreamSynchronize(stream: u64);
    cuStreamQuery(stream: u64);
    cuStreamWaitEvent(stream: u64, event: u64, flags: u32);
    cuStreamGetFlags(stream: u64, out: Ptr);
    cuStreamGetPriority(stream: u64, out: Ptr);
    cuStreamGetId(stream: u64, out: Ptr);
    cuStreamAddCallback(stream: u64, function: Ptr, data: Ptr, flags: u32);
    cuLaunchHostFunc(stream: u64, function: Ptr, data: Ptr);
    cuStreamIsCapturing(stream: u64, out: Ptr);
    cuStreamAttachMemAsync(stream: u64, address: u64, len: usize, flags: u32);
    cuStreamSetAttribute(stream: u64, attribute: i32, value: Ptr);
    cuStreamGetAttribute(stream: u64, attribute: i32, out: Ptr);
    cuStreamCopyAttributes(to: u64, from: u64);
    cuStreamGetCtx(stream: u64, out: Ptr);

    cuEventCreate(out: Ptr, flags: u32);
    cuEventDestroy_v2(event: u64);
    cuEventRecord(event: u64, stream: u64);
    cuEventRecordWithFlags(event: u64, stream: u64, flags: u32);
    cuEventSynchronize(event: u64);
    cuEventQuery(event: u64);
    cuEventElapsedTime(out: Ptr, start: u64, end: u64);

    cuModuleLoadData(out: Ptr, image: Ptr);
    cuModuleUnload(module: u64);
    cuModuleGetFunction(out: Ptr, module: u64, name: Ptr);
    cuModuleGetGlobal_v2(address: Ptr, len: Ptr, module: u64, name: Ptr);
    cuLibraryLoadData(out: Ptr, image: Ptr, options: Ptr, values: Ptr, count: u32, library: Ptr,
        library_values: Ptr, library_count: u32);
    cuLibraryLoadFromFile(out: Ptr, path: Ptr, options: Ptr, values: Ptr, count: u32, library: Ptr,
        library_values: Ptr, library_count: u32);
    cuLibraryUnload(library: u64);
    cuLibraryGetKernel(out: Ptr, library: u64, name: Ptr);
    cuLibraryGetKernelCount(out: Ptr, library: u64);
    cuLibraryEnumerateKernels(out: Ptr, count: u32, library: u64);
    cuLibraryGetGlobal(address: Ptr, len: Ptr, library: u64, name: Ptr);

    cuFuncGetAttribute(out: Ptr, attribute: i32, function: u64);
    cuFuncSetAttribute(function: u64, attribute: i32, value: i32);
    cuFuncSetCacheConfig(function: u64, config: i32);
    cuFuncGetName(out: Ptr, function: u64);
    cuFuncGetParamInfo(function: u64, index: usize, offset: Ptr, size: Ptr);
    cuFuncGetParamCount(function: u64, out: Ptr);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(out: Ptr, function: u64, threads: i32,
        dynamic: usize);
    cuOccupancyAvailableDynamicSMemPerBlock(out: Ptr, function: u64, blocks: i32, threads: i32);
    cuOccupancyMaxActiveClusters(out: Ptr, function: u64, config: Ptr);
    cuLaunchKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
        stream: u64, params: Ptr, extra: Ptr);
    cuLaunchKernelEx(config: Ptr, function: u64, params: Ptr, extra: Ptr);
    cuLaunchCooperativeKernel(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32,
        shared: u32, stream: u64, params: Ptr);

    cuMemGetInfo_v2(free: Ptr, total: Ptr);
    cuMemAlloc_v2(out: Ptr, len: usize);
    cuMemAllocPitch_v2(out: Ptr, pitch: Ptr, width: usize, height: usize, element: u32);
    cuMemAllocManaged(out: Ptr, len: usize, flags: u32);
    cuMemFree_v2(address: u64);
    cuMemHostAlloc(out: Ptr, len: usize, flags: u32);
    cuMemFreeHost(address: Ptr);
    cuMemHostRegister_v2(address: Ptr, len: usize, flags: u32);
    cuMemHostUnregister(address: Ptr);
    cuMemHostGetDevicePointer_v2(out: Ptr, address: Ptr, flags: u32);
    cuMemHostGetFlags(out: Ptr, address: Ptr);
    cuMemAdvise(address: u64, len: usize, advice: i32, device: i32);
    cuMemPrefetchAsync(address: u64, len: usize, device: i32, stream: u64);
    cuMemRangeGetAttribute(out: Ptr, size: usize, attribute: i32, address: u64, len: usize);
    cuPointerGetAttribute(out: Ptr, attribute: i32, address: u64);

    cuIpcGetMemHandle(out: Ptr, address: u64);
    cuIpcOpenMemHandle_v2(out: Ptr, handle: CUipcMemHandle, flags: u32);
    cuIpcCloseMemHandle(address: u64);
    cuIpcGetEventHandle(out: Ptr, event: u64);
    cuIpcOpenEventHandle(out: Ptr, handle: CUipcEventHandle);

    cuMemcpyAsync(to: u64, from: u64, len: usize, stream: u64);
    cuMemcpyBatchAsync(to: Ptr, from: Ptr, sizes: Ptr, count: usize, attributes: Ptr, indices: Ptr,
        number: usize, failed: Ptr, stream: u64);
    cuMemcpyHtoDAsync_v2(to: u64, from: Ptr, len: usize, stream: u64);
    cuMemcpyDtoHAsync_v2(to: Ptr, from: u64, len: usize, stream: u64);
    cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: u64);
    cuArray3DCreate_v2(out: Ptr, description: Ptr);
    cuArray3DGetDescriptor_v2(out: Ptr, array: u64);
    cuArrayDestroy(array: u64);
    cuArrayGetMemoryRequirements(out: Ptr, array: u64, device: i32);
    cuMipmappedArrayCreate(out: Ptr, description: Ptr, levels: u32);
    cuMipmappedArrayGetLevel(out: Ptr, array: u64, level: u32);
    cuMipmappedArrayDestroy(array: u64);
    cuMipmappedArrayGetMemoryRequirements(out: Ptr, array: u64, device: i32);
    cuTexObjectCreate(out: Ptr, resource: Ptr, texture: Ptr, view: Ptr);
    cuTexObjectDestroy(object: u64);
    cuTexObjectGetResourceDesc(out: Ptr, object: u64);
    cuTexObjectGetTextureDesc(out: Ptr, object: u64);
    cuTexObjectGetResourceViewDesc(out: Ptr, object: u64);
    cuSurfObjectCreate(out: Ptr, resource: Ptr);
    cuSurfObjectDestroy(object: u64);
    cuSurfObjectGetResourceDesc(out: Ptr, object: u64);
    cuDeviceGetTexture1DLinearMaxWidth(out: Ptr, format: i32, channels: u32, device: i32);

    cuMemcpyHtoAAsync_v2(array: u64, offset: u64, from: Ptr, len: usize, stream: u64);
    cuMemcpyAtoHAsync_v2(to: Ptr, array: u64, offset: u64, len: usize, stream: u64);
    cuMemcpy2DAsync_v2(params: Ptr, stream: u64);
    cuMemcpy3DAsync_v2(params: Ptr, stream: u64);
    cuMemsetD8Async(to: u64, value: u8, count: usize, stream: u64);
    cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: u64);

    cuDeviceGetDefaultMemPool(out: Ptr, device: i32);
    cuDeviceGetMemPool(out: Ptr, device: i32);
    cuDeviceSetMemPool(device: i32, pool: u64);
    cuMemGetDefaultMemPool(out: Ptr, location: Ptr, kind: i32);
    cuMemGetMemPool(out: Ptr, location: Ptr, kind: i32);
    cuMemSetMemPool(location: Ptr, kind: i32, pool: u64);
    cuMemPoolCreate(out: Ptr, properties: Ptr);
    cuMemPoolDestroy(pool: u64);
    cuMemPoolGetAttribute(pool: u64, attribute: i32, out: Ptr);
    cuMemPoolSetAttribute(pool: u64, attribute: i32, value: Ptr);
    cuMemPoolTrimTo(pool: u64, keep: usize);
    cuMemPoolExportToShareableHandle(out: Ptr, pool: u64, kind: i32, flags: u64);
    cuMemPoolImportFromShareableHandle(out: Ptr, shareable: u64, kind: i32, flags: u64);
    cuMemPoolExportPointer(out: Ptr, address: u64);
    cuMemPoolImportPointer(out: Ptr, pool: u64, data: Ptr);
    cuMemPoolSetAccess(pool: u64, list: Ptr, count: usize);
    cuMemPoolGetAccess(out: Ptr, pool: u64, location: Ptr);
    cuMemAllocAsync(out: Ptr, len: usize, stream: u64);
    cuMemAllocFromPoolAsync(out: Ptr, len: usize, pool: u64, stream: u64);
    cuMemFreeAsync(address: u64, stream: u64);

    cuGraphCreate(out: Ptr, flags: u32);
    cuGraphDestroy(graph: u64);
    cuGraphClone(out: Ptr, graph: u64);
    cuGraphAddKernelNode_v2(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr);
    cuGraphAddMemcpyNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, context: u64);
    cuGraphAddMemsetNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr, context: u64);
    cuGraphAddHostNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr);
    cuGraphAddChildGraphNode(out: Ptr, graph: u64, after: Ptr, count: usize, child: u64);
    cuGraphAddEmptyNode(out: Ptr, graph: u64, after: Ptr, count: usize);
    cuGraphAddEventRecordNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64);
    cuGraphAddEventWaitNode(out: Ptr, graph: u64, after: Ptr, count: usize, event: u64);
    cuGraphKernelNodeSetParams_v2(node: u64, params: Ptr);
    cuGraphMemcpyNodeSetParams(node: u64, params: Ptr);
    cuGraphMemsetNodeSetParams(node: u64, params: Ptr);
    cuGraphHostNodeSetParams(node: u64, params: Ptr);
    cuGraphExecKernelNodeSetParams_v2(exec: u64, node: u64, params: Ptr);
    cuGraphExecMemcpyNodeSetParams(exec: u64, node: u64, params: Ptr, context: u64);
    cuGraphExecMemsetNodeSetParams(exec: u64, node: u64, params: Ptr, context: u64);
    cuGraphExecHostNodeSetParams(exec: u64, node: u64, params: Ptr);
    cuGraphExecUpdate_v2(exec: u64, graph: u64, info: Ptr);
    cuGraphAddDependencies_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: usize);
    cuGraphRemoveDependencies_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: usize);
    cuGraphGetNodes(graph: u64, out: Ptr, count: Ptr);
    cuGraphGetRootNodes(graph: u64, out: Ptr, count: Ptr);
    cuGraphGetEdges_v2(graph: u64, from: Ptr, to: Ptr, edges: Ptr, count: Ptr);
    cuGraphNodeGetDependencies_v2(node: u64, out: Ptr, edges: Ptr, count: Ptr);
    cuGraphNodeGetDependentNodes_v2(node: u64, out: Ptr, edges: Ptr, count: Ptr);
    cuGraphNodeGetType(node: u64, out: Ptr);
    cuGraphDestroyNode(node: u64);
    cuGraphInstantiateWithFlags(out: Ptr, graph: u64, flags: u64);
    cuGraphInstantiateWithParams(out: Ptr, graph: u64, params: Ptr);
    cuGraphExecDestroy(exec: u64);
    cuGraphUpload(exec: u64, stream: u64);
    cuGraphLaunch(exec: u64, stream: u64);

    cuGraphAddNode_v2(out: Ptr, graph: u64, after: Ptr, edges: Ptr, count: usize, params: Ptr);
    cuGraphAddMemAllocNode(out: Ptr, graph: u64, after: Ptr, count: usize, params: Ptr);
    cuGraphAddMemFreeNode(out: Ptr, graph: u64, after: Ptr, count: usize, address: u64);
    cuGraphConditionalHandleCreate(out: Ptr, graph: u64, context: u64, default: u32, flags: u32);
    cuGraphNodeSetParams(node: u64, params: Ptr);
    cuGraphExecNodeSetParams(exec: u64, node: u64, params: Ptr);
    cuGraphNodeGetParams(node: u64, out: Ptr);
    cuGraphKernelNodeGetParams_v2(node: u64, out: Ptr);
    cuGraphKernelNodeGetAttribute(node: u64, attribute: i32, out: Ptr);
    cuGraphKernelNodeSetAttribute(node: u64, attribute: i32, value: Ptr);
    cuGraphKernelNodeCopyAttributes(to: u64, from: u64);
    cuGraphMemcpyNodeGetParams(node: u64, out: Ptr);
    cuGraphMemsetNodeGetParams(node: u64, out: Ptr);
    cuGraphHostNodeGetParams(node: u64, out: Ptr);
    cuGraphMemAllocNodeGetParams(node: u64, out: Ptr);
    cuGraphMemFreeNodeGetParams(node: u64, out: Ptr);
    cuGraphChildGraphNodeGetGraph(node: u64, out: Ptr);
    cuGraphEventRecordNodeGetEvent(node: u64, out: Ptr);
    cuGraphEventRecordNodeSetEvent(node: u64, event: u64);
    cuGraphEventWaitNodeGetEvent(node: u64, out: Ptr);
    cuGraphEventWaitNodeSetEvent(node: u64, event: u64);
    cuGraphExecEventRecordNodeSetEvent(exec: u64, node: u64, event: u64);
    cuGraphExecEventWaitNodeSetEvent(exec: u64, node: u64, event: u64);
    cuGraphExecChildGraphNodeSetParams(exec: u64, node: u64, child: u64);
    cuGraphExecGetFlags(exec: u64, out: Ptr);
    cuGraphExecGetId(exec: u64, out: Ptr);
    cuGraphNodeSetEnabled(exec: u64, node: u64, enabled: u32);
    cuGraphNodeGetEnabled(exec: u64, node: u64, out: Ptr);
    cuGraphNodeFindInClone(out: Ptr, node: u64, clone: u64);
    cuGraphNodeGetContainingGraph(node: u64, out: Ptr);
    cuGraphNodeGetLocalId(node: u64, out: Ptr);
    cuGraphNodeGetToolsId(node: u64, out: Ptr);
    cuGraphGetId(graph: u64, out: Ptr);
    cuGraphDebugDotPrint(graph: u64, path: Ptr, flags: u32);
    cuUserObjectCreate(out: Ptr, data: Ptr, destroy: Ptr, count: u32, flags: u32);
    cuUserObjectRetain(object: u64, count: u32);
    cuUserObjectRelease(object: u64, count: u32);
    cuGraphRetainUserObject(graph: u64, object: u64, count: u32, flags: u32);
    cuGraphReleaseUserObject(graph: u64, object: u64, count: u32);
    cuDeviceGetGraphMemAttribute(device: i32, attribute: i32, out: Ptr);
    cuDeviceSetGraphMemAttribute(device: i32, attribute: i32, value: Ptr);
    cuDeviceGraphMemTrim(device: i32);

    cuStreamBeginCapture_v2(stream: u64, mode: i32);
    cuStreamBeginCaptureToGraph(stream: u64, graph: u64, after: Ptr, edges: Ptr, count: usize,
        mode: i32);
    cuStreamEndCapture(stream: u64, out: Ptr);
    cuStreamGetCaptureInfo_v3(stream: u64, status: Ptr, id: Ptr, graph: Ptr, after: Ptr, edges: Ptr,
        count: Ptr);
    cuStreamUpdateCaptureDependencies_v2(stream: u64, after: Ptr, edges: Ptr, count: usize,
        flags: u32);
    cuThreadExchangeStreamCaptureMode(mode: Ptr);
}
