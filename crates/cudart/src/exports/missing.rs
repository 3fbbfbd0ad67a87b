//! Functions of the public interface that nobody implements: they exist, say NOT_SUPPORTED, and are named in the journal.

macro_rules! missing {
    ($($name:ident)+) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                $crate::state::call(c_name!(stringify!($name)), || {
                    $crate::driver::note_unsupported(c_name!(stringify!($name)));
                    Err($crate::Error::NOT_SUPPORTED)
                })
            }
        )+

        /// Names of these functions.
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

missing! {
    __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable cudaArrayGetInfo
    cudaArrayGetMemoryRequirements cudaArrayGetPlane cudaArrayGetSparseProperties cudaCreateSurfaceObject
    cudaCreateTextureObject cudaDestroyExternalMemory cudaDestroyExternalSemaphore cudaDestroySurfaceObject
    cudaDestroyTextureObject cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount
    cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetDevResource cudaDeviceGetExecutionCtx cudaDeviceGetGraphMemAttribute
    cudaDeviceGetHostAtomicCapabilities cudaDeviceGetNvSciSyncAttributes cudaDeviceGetP2PAtomicCapabilities
    cudaDeviceGetTexture1DLinearMaxWidth cudaDeviceGraphMemTrim cudaDeviceRegisterAsyncNotification
    cudaDeviceSetGraphMemAttribute cudaDeviceUnregisterAsyncNotification cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags cudaEGLStreamConsumerDisconnect
    cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect cudaEGLStreamProducerDisconnect
    cudaEGLStreamProducerPresentFrame cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync
    cudaExecutionCtxDestroy cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice cudaExecutionCtxGetId
    cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate cudaExecutionCtxSynchronize cudaExecutionCtxWaitEvent
    cudaExternalMemoryGetMappedBuffer cudaExternalMemoryGetMappedMipmappedArray cudaFreeArray cudaFreeMipmappedArray
    cudaGLGetDevices cudaGLMapBufferObject cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject
    cudaGLSetBufferObjectMapFlags cudaGLSetGLDevice cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync
    cudaGLUnregisterBufferObject cudaGetChannelDesc cudaGetExportTable cudaGetMipmappedArrayLevel
    cudaGetSurfaceObjectResourceDesc cudaGetTextureObjectResourceDesc cudaGetTextureObjectResourceViewDesc
    cudaGetTextureObjectTextureDesc cudaGraphAddChildGraphNode cudaGraphAddDependencies cudaGraphAddDependencies_v2
    cudaGraphAddEventRecordNode cudaGraphAddEventWaitNode cudaGraphAddExternalSemaphoresSignalNode
    cudaGraphAddExternalSemaphoresWaitNode cudaGraphAddHostNode cudaGraphAddMemAllocNode cudaGraphAddMemFreeNode
    cudaGraphAddMemcpyNode cudaGraphAddMemcpyNode1D cudaGraphAddMemcpyNodeFromSymbol cudaGraphAddMemcpyNodeToSymbol
    cudaGraphAddMemsetNode cudaGraphAddNode cudaGraphAddNode_v2 cudaGraphChildGraphNodeGetGraph
    cudaGraphConditionalHandleCreate cudaGraphConditionalHandleCreate_v2 cudaGraphDebugDotPrint
    cudaGraphEventRecordNodeGetEvent cudaGraphEventRecordNodeSetEvent cudaGraphEventWaitNodeGetEvent
    cudaGraphEventWaitNodeSetEvent cudaGraphExecChildGraphNodeSetParams cudaGraphExecEventRecordNodeSetEvent
    cudaGraphExecEventWaitNodeSetEvent cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExecGetFlags cudaGraphExecGetId
    cudaGraphExecHostNodeSetParams cudaGraphExecKernelNodeSetParams cudaGraphExecMemcpyNodeSetParams
    cudaGraphExecMemcpyNodeSetParams1D cudaGraphExecMemcpyNodeSetParamsFromSymbol
    cudaGraphExecMemcpyNodeSetParamsToSymbol cudaGraphExecMemsetNodeSetParams cudaGraphExecNodeSetParams
    cudaGraphExecUpdate cudaGraphExternalSemaphoresSignalNodeGetParams cudaGraphExternalSemaphoresSignalNodeSetParams
    cudaGraphExternalSemaphoresWaitNodeGetParams cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphGetEdges
    cudaGraphGetEdges_v2 cudaGraphGetId cudaGraphGetRootNodes cudaGraphHostNodeGetParams cudaGraphHostNodeSetParams
    cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz cudaGraphKernelNodeCopyAttributes
    cudaGraphKernelNodeGetAttribute cudaGraphKernelNodeGetParams cudaGraphKernelNodeSetAttribute
    cudaGraphKernelNodeSetParams cudaGraphMemAllocNodeGetParams cudaGraphMemFreeNodeGetParams
    cudaGraphMemcpyNodeGetParams cudaGraphMemcpyNodeSetParams cudaGraphMemcpyNodeSetParams1D
    cudaGraphMemcpyNodeSetParamsFromSymbol cudaGraphMemcpyNodeSetParamsToSymbol cudaGraphMemsetNodeGetParams
    cudaGraphMemsetNodeSetParams cudaGraphNodeFindInClone cudaGraphNodeGetContainingGraph cudaGraphNodeGetDependencies
    cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependentNodes cudaGraphNodeGetDependentNodes_v2
    cudaGraphNodeGetEnabled cudaGraphNodeGetLocalId cudaGraphNodeGetParams cudaGraphNodeGetToolsId cudaGraphNodeGetType
    cudaGraphNodeSetEnabled cudaGraphNodeSetParams cudaGraphReleaseUserObject cudaGraphRemoveDependencies
    cudaGraphRemoveDependencies_v2 cudaGraphRetainUserObject cudaGraphicsEGLRegisterImage cudaGraphicsGLRegisterBuffer
    cudaGraphicsGLRegisterImage cudaGraphicsMapResources cudaGraphicsResourceGetMappedEglFrame
    cudaGraphicsResourceGetMappedMipmappedArray cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags
    cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources cudaGraphicsUnregisterResource
    cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface cudaGreenCtxCreate
    cudaImportExternalMemory cudaImportExternalSemaphore cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle
    cudaIpcOpenEventHandle cudaIpcOpenMemHandle cudaKernelSetAttributeForDevice cudaLaunchCooperativeKernelMultiDevice
    cudaLaunchHostFunc_v2 cudaLaunchHostFunc_v2_ptsz cudaLibraryGetManaged cudaLibraryGetUnifiedFunction cudaLogsCurrent
    cudaLogsDumpToFile cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaMalloc3DArray
    cudaMallocArray cudaMallocMipmappedArray cudaMemAdvise_v2 cudaMemDiscardAndPrefetchBatchAsync
    cudaMemDiscardAndPrefetchBatchAsync_ptsz cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz
    cudaMemGetDefaultMemPool cudaMemGetLocationInfo cudaMemGetMemPool cudaMemPoolExportPointer
    cudaMemPoolExportToShareableHandle cudaMemPoolImportFromShareableHandle cudaMemPoolImportPointer
    cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz
    cudaMemRangeGetAttributes cudaMemSetMemPool cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds
    cudaMemcpy2DFromArray cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz cudaMemcpy2DFromArray_ptds
    cudaMemcpy2DToArray cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz cudaMemcpy2DToArray_ptds
    cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DPeer cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz
    cudaMemcpy3DPeer_ptds cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz cudaMemcpyArrayToArray
    cudaMemcpyArrayToArray_ptds cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz cudaMemcpyFromArray
    cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz cudaMemcpyFromArray_ptds cudaMemcpyToArray
    cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz cudaMemcpyToArray_ptds cudaMemcpyWithAttributesAsync
    cudaMemcpyWithAttributesAsync_ptsz cudaMipmappedArrayGetMemoryRequirements cudaMipmappedArrayGetSparseProperties
    cudaSetDoubleForDevice cudaSetDoubleForHost cudaSetValidDevices cudaSignalExternalSemaphoresAsync
    cudaSignalExternalSemaphoresAsync_ptsz cudaSignalExternalSemaphoresAsync_v2
    cudaSignalExternalSemaphoresAsync_v2_ptsz cudaStreamBeginCapture cudaStreamBeginCaptureToGraph
    cudaStreamBeginCaptureToGraph_ptsz cudaStreamBeginCapture_ptsz cudaStreamBeginRecaptureToGraph
    cudaStreamBeginRecaptureToGraph_ptsz cudaStreamEndCapture cudaStreamEndCapture_ptsz cudaStreamGetAttribute
    cudaStreamGetAttribute_ptsz cudaStreamGetDevResource cudaStreamGetDevResource_ptsz cudaStreamSetAttribute
    cudaStreamSetAttribute_ptsz cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
    cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies_v2_ptsz cudaSubgridCreate
    cudaSubgridWorkerGridCreate cudaSubgridWorksetCreate cudaThreadExchangeStreamCaptureMode cudaUserObjectCreate
    cudaUserObjectRelease cudaUserObjectRetain cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
    cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz cudaWaitExternalSemaphoresAsync_v2
    cudaWaitExternalSemaphoresAsync_v2_ptsz
}
