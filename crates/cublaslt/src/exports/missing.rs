//! Functions of the public interface that are not implemented: groups, emulated arithmetic, and
//! heuristics of a stream. They return `CUBLAS_STATUS_NOT_SUPPORTED` and are recorded in the event
//! log.

culibs::missing! {
    crate::CublasLt;
    cublasLtEmulationDescCreate cublasLtEmulationDescDestroy cublasLtEmulationDescGetAttribute
    cublasLtEmulationDescInit_internal cublasLtEmulationDescSetAttribute
    cublasLtGroupedMatrixLayoutCreate cublasLtGroupedMatrixLayoutInit_internal
    cublasLtMatmulAlgoCheckForStream cublasLtMatmulAlgoGetHeuristicForStream
}
