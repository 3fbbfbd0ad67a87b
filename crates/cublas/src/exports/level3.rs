//! Functions of matrices.

use culibs::Ptr;
use linalg::{c32, c64};

use super::Part;
use crate::checked::matrices;
use crate::checked::vectors::{HERMITIAN, SYMMETRIC};

culibs::family! {
    enter;
    [f32: cublasSgemm_v2 cublasSgemm_v2_64;
     f64: cublasDgemm_v2 cublasDgemm_v2_64;
     c32: cublasCgemm_v2 cublasCgemm_v2_64;
     c64: cublasZgemm_v2 cublasZgemm_v2_64;
     c32: cublasCgemm3m cublasCgemm3m_64;
     c64: cublasZgemm3m cublasZgemm3m_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            lda: Int, b: u64, ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::gemm::<T>(handle, [transa, transb], [m.into(), n.into(), k.into()], alpha,
            (a, lda.into()), (b, ldb.into()), beta, (c, ldc.into()));
    [f32: cublasSsyrk_v2 cublasSsyrk_v2_64;
     f64: cublasDsyrk_v2 cublasDsyrk_v2_64;
     c32: cublasCsyrk_v2 cublasCsyrk_v2_64;
     c64: cublasZsyrk_v2 cublasZsyrk_v2_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int,
            beta: Ptr, c: u64, ldc: Int)
        => matrices::syrk::<T, T>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            (a, lda.into()), beta, (c, ldc.into()), SYMMETRIC);
    [f32: cublasSsyr2k_v2 cublasSsyr2k_v2_64;
     f64: cublasDsyr2k_v2 cublasDsyr2k_v2_64;
     c32: cublasCsyr2k_v2 cublasCsyr2k_v2_64;
     c64: cublasZsyr2k_v2 cublasZsyr2k_v2_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int, b: u64,
            ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::syr2k::<T, T>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            (a, lda.into()), (b, ldb.into()), beta, (c, ldc.into()), [SYMMETRIC, true]);
    [f32: cublasSsyrkx cublasSsyrkx_64;
     f64: cublasDsyrkx cublasDsyrkx_64;
     c32: cublasCsyrkx cublasCsyrkx_64;
     c64: cublasZsyrkx cublasZsyrkx_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int, b: u64,
            ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::syr2k::<T, T>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            (a, lda.into()), (b, ldb.into()), beta, (c, ldc.into()), [SYMMETRIC, false]);
    [f32: cublasSsymm_v2 cublasSsymm_v2_64;
     f64: cublasDsymm_v2 cublasDsymm_v2_64;
     c32: cublasCsymm_v2 cublasCsymm_v2_64;
     c64: cublasZsymm_v2 cublasZsymm_v2_64]
        (handle: u64, side: i32, uplo: i32, m: Int, n: Int, alpha: Ptr, a: u64, lda: Int, b: u64,
            ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::symm::<T>(handle, [side, uplo], [m.into(), n.into()], alpha, (a, lda.into()),
            (b, ldb.into()), beta, (c, ldc.into()), SYMMETRIC);
    [c32: cublasCherk_v2 cublasCherk_v2_64;
     c64: cublasZherk_v2 cublasZherk_v2_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int,
            beta: Ptr, c: u64, ldc: Int)
        => matrices::syrk::<T, Part<T>>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            (a, lda.into()), beta, (c, ldc.into()), HERMITIAN);
    [c32: cublasCher2k_v2 cublasCher2k_v2_64;
     c64: cublasZher2k_v2 cublasZher2k_v2_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int, b: u64,
            ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::syr2k::<T, Part<T>>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            (a, lda.into()), (b, ldb.into()), beta, (c, ldc.into()), [HERMITIAN, true]);
    [c32: cublasCherkx cublasCherkx_64;
     c64: cublasZherkx cublasZherkx_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int, b: u64,
            ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::syr2k::<T, Part<T>>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            (a, lda.into()), (b, ldb.into()), beta, (c, ldc.into()), [HERMITIAN, false]);
    [c32: cublasChemm_v2 cublasChemm_v2_64;
     c64: cublasZhemm_v2 cublasZhemm_v2_64]
        (handle: u64, side: i32, uplo: i32, m: Int, n: Int, alpha: Ptr, a: u64, lda: Int, b: u64,
            ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => matrices::symm::<T>(handle, [side, uplo], [m.into(), n.into()], alpha, (a, lda.into()),
            (b, ldb.into()), beta, (c, ldc.into()), HERMITIAN);
    [f32: cublasStrmm_v2 cublasStrmm_v2_64;
     f64: cublasDtrmm_v2 cublasDtrmm_v2_64;
     c32: cublasCtrmm_v2 cublasCtrmm_v2_64;
     c64: cublasZtrmm_v2 cublasZtrmm_v2_64]
        (handle: u64, side: i32, uplo: i32, trans: i32, diag: i32, m: Int, n: Int, alpha: Ptr,
            a: u64, lda: Int, b: u64, ldb: Int, c: u64, ldc: Int)
        => matrices::trmm::<T>(handle, [side, uplo, trans, diag], [m.into(), n.into()], alpha,
            (a, lda.into()), (b, ldb.into()), (c, ldc.into()));
    [f32: cublasStrsm_v2 cublasStrsm_v2_64;
     f64: cublasDtrsm_v2 cublasDtrsm_v2_64;
     c32: cublasCtrsm_v2 cublasCtrsm_v2_64;
     c64: cublasZtrsm_v2 cublasZtrsm_v2_64]
        (handle: u64, side: i32, uplo: i32, trans: i32, diag: i32, m: Int, n: Int, alpha: Ptr,
            a: u64, lda: Int, b: u64, ldb: Int)
        => matrices::trsm::<T>(handle, [side, uplo, trans, diag], [m.into(), n.into()], alpha,
            (a, lda.into()), (b, ldb.into()));
    [f32: cublasSgeam cublasSgeam_64;
     f64: cublasDgeam cublasDgeam_64;
     c32: cublasCgeam cublasCgeam_64;
     c64: cublasZgeam cublasZgeam_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, alpha: Ptr, a: u64, lda: Int,
            beta: Ptr, b: u64, ldb: Int, c: u64, ldc: Int)
        => matrices::geam::<T>(handle, [transa, transb], [m.into(), n.into()], alpha,
            (a, lda.into()), beta, (b, ldb.into()), (c, ldc.into()));
    [f32: cublasSdgmm cublasSdgmm_64;
     f64: cublasDdgmm cublasDdgmm_64;
     c32: cublasCdgmm cublasCdgmm_64;
     c64: cublasZdgmm cublasZdgmm_64]
        (handle: u64, mode: i32, m: Int, n: Int, a: u64, lda: Int, x: u64, incx: Int, c: u64,
            ldc: Int)
        => matrices::dgmm::<T>(handle, mode, [m.into(), n.into()], (a, lda.into()),
            (x, incx.into()), (c, ldc.into()));
    [f32: cublasStpttr;
     f64: cublasDtpttr;
     c32: cublasCtpttr;
     c64: cublasZtpttr]
        (handle: u64, uplo: i32, n: i32, ap: u64, a: u64, lda: i32)
        => matrices::packed::<T>(handle, uplo, n.into(), ap, (a, lda.into()), true);
    [f32: cublasStrttp;
     f64: cublasDtrttp;
     c32: cublasCtrttp;
     c64: cublasZtrttp]
        (handle: u64, uplo: i32, n: i32, a: u64, lda: i32, ap: u64)
        => matrices::packed::<T>(handle, uplo, n.into(), ap, (a, lda.into()), false);
}
