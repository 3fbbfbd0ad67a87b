//! Functions of the public interface that are not implemented: they return
//! `CUDA_ERROR_NOT_SUPPORTED` and are recorded in the event log.

/// The status of a function that is not implemented.
macro_rules! refuse {
    ($name:ident) => {
        $crate::entry::unsupported(stringify!($name))
    };
}

cuda_abi::missing_exports! {
    refuse;
    cuArray3DCreate cuArray3DGetDescriptor cuArrayCreate cuArrayGetDescriptor cuArrayGetPlane
    cuArrayGetSparseProperties cuCheckpointOperationComplete cuCheckpointProcessCheckpoint
    cuCheckpointProcessGetRestoreThreadId cuCheckpointProcessGetState cuCheckpointProcessLock
    cuCheckpointProcessRestore cuCheckpointProcessUnlock cuCoredumpDeregisterCompleteCallback
    cuCoredumpDeregisterStartCallback cuCoredumpGetAttribute cuCoredumpGetAttributeGlobal
    cuCoredumpRegisterCompleteCallback cuCoredumpRegisterStartCallback cuCoredumpSetAttribute
    cuCoredumpSetAttributeGlobal cuCtxFromGreenCtx cuCtxGetDevResource cuCtxGetExecAffinity
    cuCtxRecordEvent cuCtxWaitEvent cuDestroyExternalMemory cuDestroyExternalSemaphore
    cuDevResourceGenerateDesc cuDevSmResourceSplit cuDevSmResourceSplitByCount
    cuDeviceGetCliqueCount cuDeviceGetCliqueInfo cuDeviceGetDevResource
    cuDeviceGetFabricClusterUuid cuDeviceGetHostAtomicCapabilities
    cuDeviceGetNvSciSyncAttributes cuDeviceGetP2PAtomicCapabilities
    cuDeviceRegisterAsyncNotification cuDeviceTotalMem cuDeviceUnregisterAsyncNotification
    cuExternalMemoryGetMappedBuffer cuExternalMemoryGetMappedMipmappedArray
    cuFabricCpyBatchAsync cuFabricCpyBatchAsync_ptsz cuFlushGPUDirectRDMAWrites
    cuGetProcAddress_v2_ptsz cuGraphAddBatchMemOpNode cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode cuGraphAddNode_v3 cuGraphBatchMemOpNodeGetParams
    cuGraphBatchMemOpNodeSetParams cuGraphExecBatchMemOpNodeSetParams
    cuGraphExecExternalSemaphoresSignalNodeSetParams
    cuGraphExecExternalSemaphoresWaitNodeSetParams cuGraphExternalSemaphoresSignalNodeGetParams
    cuGraphExternalSemaphoresSignalNodeSetParams cuGraphExternalSemaphoresWaitNodeGetParams
    cuGraphExternalSemaphoresWaitNodeSetParams cuGraphicsMapResources
    cuGraphicsMapResources_ptsz cuGraphicsResourceGetMappedMipmappedArray
    cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2
    cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
    cuGraphicsSubResourceGetMappedArray cuGraphicsUnmapResources cuGraphicsUnmapResources_ptsz
    cuGraphicsUnregisterResource cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxGetDevResource
    cuGreenCtxGetId cuGreenCtxRecordEvent cuGreenCtxStreamCreate cuGreenCtxWaitEvent
    cuImportExternalMemory cuImportExternalSemaphore cuLaunchCooperativeKernelMultiDevice
    cuLaunchHostFunc_v2 cuLaunchHostFunc_v2_ptsz cuLibraryGetUnifiedFunction
    cuLogicalEndpointAddDevice cuLogicalEndpointBindAddr cuLogicalEndpointBindMem
    cuLogicalEndpointCreate cuLogicalEndpointDestroy cuLogicalEndpointExport
    cuLogicalEndpointGetLimits cuLogicalEndpointIdRelease cuLogicalEndpointIdReserve
    cuLogicalEndpointImport cuLogicalEndpointQuery cuLogicalEndpointUnbind cuLogsCurrent
    cuLogsDumpToFile cuLogsDumpToMemory cuMemAlloc cuMemAllocHost cuMemAllocPitch
    cuMemBatchDecompressAsync cuMemBatchDecompressAsync_ptsz cuMemDiscardAndPrefetchBatchAsync
    cuMemDiscardAndPrefetchBatchAsync_ptsz cuMemDiscardBatchAsync cuMemDiscardBatchAsync_ptsz
    cuMemExportToShareableHandle cuMemFree cuMemGetAddressRange cuMemGetHandleForAddressRange
    cuMemGetInfo cuMemGetLocationInfo cuMemHostGetDevicePointer cuMemImportFromShareableHandle
    cuMemMapArrayAsync cuMemMapArrayAsync_ptsz cuMemPoolExportPointer
    cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemPoolImportPointer
    cuMemPrefetchBatchAsync cuMemPrefetchBatchAsync_ptsz cuMemRangeGetAttributes cuMemcpy2D
    cuMemcpy2DAsync cuMemcpy2DUnaligned cuMemcpy3D cuMemcpy3DAsync cuMemcpy3DBatchAsync
    cuMemcpy3DBatchAsync_ptsz cuMemcpy3DBatchAsync_v2 cuMemcpy3DBatchAsync_v2_ptsz
    cuMemcpy3DWithAttributesAsync cuMemcpy3DWithAttributesAsync_ptsz cuMemcpyAtoA cuMemcpyAtoD
    cuMemcpyAtoH cuMemcpyAtoHAsync cuMemcpyDtoA cuMemcpyDtoD cuMemcpyDtoDAsync cuMemcpyDtoH
    cuMemcpyDtoHAsync cuMemcpyHtoA cuMemcpyHtoAAsync cuMemcpyHtoD cuMemcpyHtoDAsync cuMemsetD16
    cuMemsetD2D16 cuMemsetD2D32 cuMemsetD2D8 cuMemsetD32 cuMemsetD8
    cuMipmappedArrayGetSparseProperties cuModuleGetGlobal cuMulticastAddDevice
    cuMulticastBindAddr cuMulticastBindAddr_v2 cuMulticastBindMem cuMulticastBindMem_v2
    cuMulticastCreate cuMulticastGetGranularity cuMulticastUnbind
    cuOccupancyMaxPotentialClusterSize cuProfilerInitialize cuSignalExternalSemaphoresAsync
    cuSignalExternalSemaphoresAsync_ptsz cuStreamBeginCaptureToCig
    cuStreamBeginCaptureToCig_ptsz cuStreamBeginRecaptureToGraph
    cuStreamBeginRecaptureToGraph_ptsz cuStreamEndCaptureToCig cuStreamEndCaptureToCig_ptsz
    cuStreamGetDevResource cuStreamGetDevResource_ptsz cuStreamGetGreenCtx
    cuTensorMapSetAllocationClass cuTexRefGetAddress cuTexRefSetAddress cuTexRefSetAddress2D
    cuWaitExternalSemaphoresAsync cuWaitExternalSemaphoresAsync_ptsz
}
