//! Functions of the public interface that are not implemented: they return
//! `CUBLAS_STATUS_NOT_SUPPORTED` and are recorded in the event log.

culibs::missing! {
    crate::Cublas;
    cublasAlloc cublasCaxpy cublasCcopy cublasCdotc cublasCdotu cublasCgbmv cublasCgemm
    cublasCgemv cublasCgerc cublasCgeru cublasChbmv cublasChemm cublasChemv cublasCher
    cublasCher2 cublasCher2k cublasCherk cublasChpmv cublasChpr cublasChpr2 cublasCrot
    cublasCrotg cublasCscal cublasCsrot cublasCsscal cublasCswap cublasCsymm cublasCsyr2k
    cublasCsyrk cublasCtbmv cublasCtbsv cublasCtpmv cublasCtpsv cublasCtrmm cublasCtrmv
    cublasCtrsm cublasCtrsv cublasDasum cublasDaxpy cublasDcopy cublasDdot cublasDgbmv
    cublasDgemm cublasDgemv cublasDger cublasDnrm2 cublasDrot cublasDrotg cublasDrotm
    cublasDrotmg cublasDsbmv cublasDscal cublasDspmv cublasDspr cublasDspr2 cublasDswap
    cublasDsymm cublasDsymv cublasDsyr cublasDsyr2 cublasDsyr2k cublasDsyrk cublasDtbmv
    cublasDtbsv cublasDtpmv cublasDtpsv cublasDtrmm cublasDtrmv cublasDtrsm cublasDtrsv
    cublasDzasum cublasDznrm2 cublasFree cublasGetError
    cublasGetFixedPointEmulationMantissaBitCountPointer cublasGetVersion cublasIcamax
    cublasIcamin cublasIdamax cublasIdamin cublasInit cublasIsamax cublasIsamin cublasIzamax
    cublasIzamin cublasRotgEx cublasRotmEx cublasRotmEx_64 cublasRotmgEx cublasSasum cublasSaxpy
    cublasScasum cublasScnrm2 cublasScopy cublasSdot
    cublasSetFixedPointEmulationMantissaBitCountPointer cublasSetKernelStream cublasSgbmv
    cublasSgemm cublasSgemv cublasSger cublasShutdown cublasSnrm2 cublasSrot cublasSrotg
    cublasSrotm cublasSrotmg cublasSsbmv cublasSscal cublasSspmv cublasSspr cublasSspr2
    cublasSswap cublasSsymm cublasSsymv cublasSsyr cublasSsyr2 cublasSsyr2k cublasSsyrk
    cublasStbmv cublasStbsv cublasStpmv cublasStpsv cublasStrmm cublasStrmv cublasStrsm
    cublasStrsv cublasUint8gemmBias
    cublasXtCspmm

    cublasXtDspmm

    cublasXtSetCpuRatio
    cublasXtSetCpuRoutine cublasXtSspmm

    cublasXtZspmm
    cublasZaxpy
    cublasZcopy cublasZdotc cublasZdotu cublasZdrot cublasZdscal cublasZgbmv cublasZgemm
    cublasZgemv cublasZgerc cublasZgeru cublasZhbmv cublasZhemm cublasZhemv cublasZher
    cublasZher2 cublasZher2k cublasZherk cublasZhpmv cublasZhpr cublasZhpr2 cublasZrot
    cublasZrotg cublasZscal cublasZswap cublasZsymm cublasZsyr2k cublasZsyrk cublasZtbmv
    cublasZtbsv cublasZtpmv cublasZtpsv cublasZtrmm cublasZtrmv cublasZtrsm cublasZtrsv
}
