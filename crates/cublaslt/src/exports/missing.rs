//! Functions of the public interface that are not implemented: groups, emulated arithmetic, and
//! heuristics of a stream. They return `CUBLAS_STATUS_NOT_SUPPORTED` and are recorded in the event
//! log.

/// The status of a function that is not implemented.
macro_rules! refuse {
    ($name:ident) => {
        culibs::unsupported::<crate::CublasLt>(cuda_abi::c_str!(stringify!($name)))
    };
}

culibs::missing! {
    refuse;
    cublasLtEmulationDescCreate cublasLtEmulationDescDestroy cublasLtEmulationDescGetAttribute
    cublasLtEmulationDescInit_internal cublasLtEmulationDescSetAttribute
    cublasLtGroupedMatrixLayoutCreate cublasLtGroupedMatrixLayoutInit_internal
    cublasLtMatmulAlgoCheckForStream cublasLtMatmulAlgoGetHeuristicForStream
}
