//! Functions of the public interface that are not implemented: they return
//! `CUSOLVER_STATUS_NOT_SUPPORTED` and are recorded in the event log.

/// The status of a function that is not implemented.
macro_rules! refuse {
    ($name:ident) => {
        culibs::unsupported::<crate::Cusolver>(cuda_abi::c_str!(stringify!($name)))
    };
}

culibs::missing! {
    refuse;
    cusolverDnCgebrd cusolverDnCgebrd_bufferSize cusolverDnChetrd cusolverDnChetrd_bufferSize
    cusolverDnClaswp cusolverDnClauum cusolverDnClauum_bufferSize cusolverDnCsytrf
    cusolverDnCsytrf_bufferSize cusolverDnCsytri cusolverDnCsytri_bufferSize cusolverDnCungbr
    cusolverDnCungbr_bufferSize cusolverDnCungtr cusolverDnCungtr_bufferSize cusolverDnCunmtr
    cusolverDnCunmtr_bufferSize cusolverDnDgebrd cusolverDnDgebrd_bufferSize cusolverDnDlaswp
    cusolverDnDlauum cusolverDnDlauum_bufferSize cusolverDnDorgbr cusolverDnDorgbr_bufferSize
    cusolverDnDorgtr cusolverDnDorgtr_bufferSize cusolverDnDormtr cusolverDnDormtr_bufferSize
    cusolverDnDsytrd cusolverDnDsytrd_bufferSize cusolverDnDsytrf cusolverDnDsytrf_bufferSize
    cusolverDnDsytri cusolverDnDsytri_bufferSize cusolverDnGeqrf cusolverDnGeqrf_bufferSize
    cusolverDnGesvd cusolverDnGesvd_bufferSize cusolverDnGetrf cusolverDnGetrf_bufferSize
    cusolverDnGetrs cusolverDnIRSInfosCreate cusolverDnIRSInfosDestroy
    cusolverDnIRSInfosGetMaxIters cusolverDnIRSInfosGetNiters cusolverDnIRSInfosGetOuterNiters
    cusolverDnIRSInfosGetResidualHistory cusolverDnIRSInfosRequestResidual
    cusolverDnIRSParamsCreate cusolverDnIRSParamsDestroy cusolverDnIRSParamsDisableFallback
    cusolverDnIRSParamsEnableFallback cusolverDnIRSParamsGetMaxIters
    cusolverDnIRSParamsSetMaxIters cusolverDnIRSParamsSetMaxItersInner
    cusolverDnIRSParamsSetRefinementSolver cusolverDnIRSParamsSetSolverLowestPrecision
    cusolverDnIRSParamsSetSolverMainPrecision cusolverDnIRSParamsSetSolverPrecisions
    cusolverDnIRSParamsSetTol cusolverDnIRSParamsSetTolInner cusolverDnIRSXgels
    cusolverDnIRSXgels_bufferSize cusolverDnIRSXgesv cusolverDnIRSXgesv_bufferSize
    cusolverDnLoggerForceDisable cusolverDnLoggerOpenFile cusolverDnLoggerSetCallback
    cusolverDnLoggerSetFile cusolverDnLoggerSetLevel cusolverDnLoggerSetMask cusolverDnPotrf
    cusolverDnPotrf_bufferSize cusolverDnPotrs cusolverDnSgebrd cusolverDnSgebrd_bufferSize
    cusolverDnSlaswp cusolverDnSlauum cusolverDnSlauum_bufferSize cusolverDnSorgbr
    cusolverDnSorgbr_bufferSize cusolverDnSorgtr cusolverDnSorgtr_bufferSize cusolverDnSormtr
    cusolverDnSormtr_bufferSize cusolverDnSsytrd cusolverDnSsytrd_bufferSize cusolverDnSsytrf
    cusolverDnSsytrf_bufferSize cusolverDnSsytri cusolverDnSsytri_bufferSize cusolverDnSyevd
    cusolverDnSyevd_bufferSize cusolverDnSyevdx cusolverDnSyevdx_bufferSize cusolverDnXlarft
    cusolverDnXlarft_bufferSize cusolverDnXsytrs cusolverDnXsytrs_bufferSize cusolverDnZgebrd
    cusolverDnZgebrd_bufferSize cusolverDnZhetrd cusolverDnZhetrd_bufferSize cusolverDnZlaswp
    cusolverDnZlauum cusolverDnZlauum_bufferSize cusolverDnZsytrf cusolverDnZsytrf_bufferSize
    cusolverDnZsytri cusolverDnZsytri_bufferSize cusolverDnZungbr cusolverDnZungbr_bufferSize
    cusolverDnZungtr cusolverDnZungtr_bufferSize cusolverDnZunmtr cusolverDnZunmtr_bufferSize
    cusolverRfAccessBundledFactorsDevice cusolverRfAnalyze cusolverRfBatchAnalyze
    cusolverRfBatchRefactor cusolverRfBatchResetValues cusolverRfBatchSetupHost
    cusolverRfBatchSolve cusolverRfBatchZeroPivot cusolverRfCreate cusolverRfDestroy
    cusolverRfExtractBundledFactorsHost cusolverRfExtractSplitFactorsHost cusolverRfGetAlgs
    cusolverRfGetMatrixFormat cusolverRfGetNumericBoostReport cusolverRfGetNumericProperties
    cusolverRfGetResetValuesFastMode cusolverRfRefactor cusolverRfResetValues cusolverRfSetAlgs
    cusolverRfSetMatrixFormat cusolverRfSetNumericProperties cusolverRfSetResetValuesFastMode
    cusolverRfSetupDevice cusolverRfSetupHost cusolverRfSolve cusolverSpCcsreigsHost
    cusolverSpCcsreigvsi cusolverSpCcsreigvsiHost cusolverSpCcsrlsqvqrHost cusolverSpCcsrzfdHost
    cusolverSpDcsreigsHost cusolverSpDcsreigvsi cusolverSpDcsreigvsiHost
    cusolverSpDcsrlsqvqrHost cusolverSpDcsrzfdHost cusolverSpScsreigsHost cusolverSpScsreigvsi
    cusolverSpScsreigvsiHost cusolverSpScsrlsqvqrHost cusolverSpScsrzfdHost
    cusolverSpXcsrissymHost cusolverSpXcsrmetisndHost cusolverSpXcsrpermHost
    cusolverSpXcsrperm_bufferSizeHost cusolverSpXcsrsymamdHost cusolverSpXcsrsymmdqHost
    cusolverSpXcsrsymrcmHost cusolverSpZcsreigsHost cusolverSpZcsreigvsi
    cusolverSpZcsreigvsiHost cusolverSpZcsrlsqvqrHost cusolverSpZcsrzfdHost
}
