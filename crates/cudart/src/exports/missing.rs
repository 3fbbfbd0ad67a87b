//! Functions of the public interface that are not implemented: they return `cudaErrorNotSupported`
//! and are recorded in the driver's event log.

/// The status of a function that is not implemented.
macro_rules! refuse {
    ($name:ident) => {
        $crate::state::call(cuda_abi::c_str!(stringify!($name)), cuda_abi::Arguments(&[]), || {
            $crate::driver::note_unsupported(cuda_abi::c_str!(stringify!($name)));
            Err(cuda_abi::Status::NOT_SUPPORTED)
        })
    };
}

cuda_abi::missing_exports! {
    refuse;
    __cudaGetProcAddress __cudaRegisterHostVar __cudaRegisterUnifiedTable cudaArrayGetPlane
    cudaArrayGetSparseProperties cudaDestroyExternalMemory cudaDestroyExternalSemaphore
    cudaDevResourceGenerateDesc cudaDevSmResourceSplit cudaDevSmResourceSplitByCount
    cudaDeviceFlushGPUDirectRDMAWrites cudaDeviceGetDevResource cudaDeviceGetExecutionCtx
    cudaDeviceGetHostAtomicCapabilities cudaDeviceGetNvSciSyncAttributes
    cudaDeviceGetP2PAtomicCapabilities cudaDeviceRegisterAsyncNotification
    cudaDeviceUnregisterAsyncNotification cudaEGLStreamConsumerAcquireFrame
    cudaEGLStreamConsumerConnect cudaEGLStreamConsumerConnectWithFlags
    cudaEGLStreamConsumerDisconnect cudaEGLStreamConsumerReleaseFrame cudaEGLStreamProducerConnect
    cudaEGLStreamProducerDisconnect cudaEGLStreamProducerPresentFrame
    cudaEGLStreamProducerReturnFrame cudaEventCreateFromEGLSync cudaExecutionCtxDestroy
    cudaExecutionCtxGetDevResource cudaExecutionCtxGetDevice cudaExecutionCtxGetId
    cudaExecutionCtxRecordEvent cudaExecutionCtxStreamCreate cudaExecutionCtxSynchronize
    cudaExecutionCtxWaitEvent cudaExternalMemoryGetMappedBuffer
    cudaExternalMemoryGetMappedMipmappedArray cudaGLGetDevices cudaGLMapBufferObject
    cudaGLMapBufferObjectAsync cudaGLRegisterBufferObject cudaGLSetBufferObjectMapFlags
    cudaGLSetGLDevice cudaGLUnmapBufferObject cudaGLUnmapBufferObjectAsync
    cudaGLUnregisterBufferObject cudaGetExportTable cudaGraphAddExternalSemaphoresSignalNode
    cudaGraphAddExternalSemaphoresWaitNode cudaGraphExecExternalSemaphoresSignalNodeSetParams
    cudaGraphExecExternalSemaphoresWaitNodeSetParams cudaGraphExternalSemaphoresSignalNodeGetParams
    cudaGraphExternalSemaphoresSignalNodeSetParams cudaGraphExternalSemaphoresWaitNodeGetParams
    cudaGraphExternalSemaphoresWaitNodeSetParams cudaGraphicsEGLRegisterImage
    cudaGraphicsGLRegisterBuffer cudaGraphicsGLRegisterImage cudaGraphicsMapResources
    cudaGraphicsResourceGetMappedEglFrame cudaGraphicsResourceGetMappedMipmappedArray
    cudaGraphicsResourceGetMappedPointer cudaGraphicsResourceSetMapFlags
    cudaGraphicsSubResourceGetMappedArray cudaGraphicsUnmapResources cudaGraphicsUnregisterResource
    cudaGraphicsVDPAURegisterOutputSurface cudaGraphicsVDPAURegisterVideoSurface cudaGreenCtxCreate
    cudaImportExternalMemory cudaImportExternalSemaphore cudaKernelSetAttributeForDevice
    cudaLaunchCooperativeKernelMultiDevice cudaLaunchHostFunc_v2 cudaLaunchHostFunc_v2_ptsz
    cudaLibraryGetManaged cudaLibraryGetUnifiedFunction cudaLogsCurrent cudaLogsDumpToFile
    cudaLogsDumpToMemory cudaLogsRegisterCallback cudaLogsUnregisterCallback cudaMemAdvise_v2
    cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
    cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz cudaMemGetLocationInfo
    cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync_v2_ptsz cudaMemPrefetchBatchAsync
    cudaMemPrefetchBatchAsync_ptsz cudaMemRangeGetAttributes cudaMemcpy3DBatchAsync
    cudaMemcpy3DBatchAsync_ptsz cudaMemcpy3DWithAttributesAsync cudaMemcpy3DWithAttributesAsync_ptsz
    cudaMipmappedArrayGetSparseProperties cudaSetDoubleForDevice cudaSetDoubleForHost
    cudaSetValidDevices cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz
    cudaSignalExternalSemaphoresAsync_v2 cudaSignalExternalSemaphoresAsync_v2_ptsz
    cudaStreamBeginRecaptureToGraph cudaStreamBeginRecaptureToGraph_ptsz cudaStreamGetDevResource
    cudaStreamGetDevResource_ptsz cudaSubgridCreate cudaSubgridWorkerGridCreate
    cudaSubgridWorksetCreate cudaVDPAUGetDevice cudaVDPAUSetVDPAUDevice
    cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
    cudaWaitExternalSemaphoresAsync_v2 cudaWaitExternalSemaphoresAsync_v2_ptsz
}
