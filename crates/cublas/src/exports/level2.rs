//! Functions of a matrix and vectors.

use culibs::Ptr;
use linalg::{c32, c64};

use super::Part;
use crate::checked::vectors::{self, HERMITIAN, SYMMETRIC, Storage::*};

culibs::family! {
    enter;
    [f32: cublasSgemv_v2 cublasSgemv_v2_64;
     f64: cublasDgemv_v2 cublasDgemv_v2_64;
     c32: cublasCgemv_v2 cublasCgemv_v2_64;
     c64: cublasZgemv_v2 cublasZgemv_v2_64]
        (handle: u64, trans: i32, m: Int, n: Int, alpha: Ptr, a: u64, lda: Int, x: u64, incx: Int,
            beta: Ptr, y: u64, incy: Int)
        => vectors::gemv::<T>(handle, trans, [m.into(), n.into()], alpha, (a, lda.into()),
            (x, incx.into()), beta, (y, incy.into()));
    [f32: cublasSgbmv_v2 cublasSgbmv_v2_64;
     f64: cublasDgbmv_v2 cublasDgbmv_v2_64;
     c32: cublasCgbmv_v2 cublasCgbmv_v2_64;
     c64: cublasZgbmv_v2 cublasZgbmv_v2_64]
        (handle: u64, trans: i32, m: Int, n: Int, kl: Int, ku: Int, alpha: Ptr, a: u64, lda: Int,
            x: u64, incx: Int, beta: Ptr, y: u64, incy: Int)
        => vectors::gbmv::<T>(handle, trans, [m, n, kl, ku].map(Into::into), alpha, (a, lda.into()),
            (x, incx.into()), beta, (y, incy.into()));
    [f32: cublasSsymv_v2 cublasSsymv_v2_64;
     f64: cublasDsymv_v2 cublasDsymv_v2_64;
     c32: cublasCsymv_v2 cublasCsymv_v2_64;
     c64: cublasZsymv_v2 cublasZsymv_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, a: u64, lda: Int, x: u64, incx: Int, beta: Ptr,
            y: u64, incy: Int)
        => vectors::symv::<T>(handle, uplo, n.into(), alpha, Full((a, lda.into())),
            (x, incx.into()), beta, (y, incy.into()), SYMMETRIC);
    [c32: cublasChemv_v2 cublasChemv_v2_64;
     c64: cublasZhemv_v2 cublasZhemv_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, a: u64, lda: Int, x: u64, incx: Int, beta: Ptr,
            y: u64, incy: Int)
        => vectors::symv::<T>(handle, uplo, n.into(), alpha, Full((a, lda.into())),
            (x, incx.into()), beta, (y, incy.into()), HERMITIAN);
    [f32: cublasSsbmv_v2 cublasSsbmv_v2_64;
     f64: cublasDsbmv_v2 cublasDsbmv_v2_64]
        (handle: u64, uplo: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int, x: u64, incx: Int,
            beta: Ptr, y: u64, incy: Int)
        => vectors::symv::<T>(handle, uplo, n.into(), alpha, Band((a, lda.into()), k.into()),
            (x, incx.into()), beta, (y, incy.into()), SYMMETRIC);
    [c32: cublasChbmv_v2 cublasChbmv_v2_64;
     c64: cublasZhbmv_v2 cublasZhbmv_v2_64]
        (handle: u64, uplo: i32, n: Int, k: Int, alpha: Ptr, a: u64, lda: Int, x: u64, incx: Int,
            beta: Ptr, y: u64, incy: Int)
        => vectors::symv::<T>(handle, uplo, n.into(), alpha, Band((a, lda.into()), k.into()),
            (x, incx.into()), beta, (y, incy.into()), HERMITIAN);
    [f32: cublasSspmv_v2 cublasSspmv_v2_64;
     f64: cublasDspmv_v2 cublasDspmv_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, ap: u64, x: u64, incx: Int, beta: Ptr, y: u64,
            incy: Int)
        => vectors::symv::<T>(handle, uplo, n.into(), alpha, Packed(ap), (x, incx.into()), beta,
            (y, incy.into()), SYMMETRIC);
    [c32: cublasChpmv_v2 cublasChpmv_v2_64;
     c64: cublasZhpmv_v2 cublasZhpmv_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, ap: u64, x: u64, incx: Int, beta: Ptr, y: u64,
            incy: Int)
        => vectors::symv::<T>(handle, uplo, n.into(), alpha, Packed(ap), (x, incx.into()), beta,
            (y, incy.into()), HERMITIAN);
    [f32: cublasStrmv_v2 cublasStrmv_v2_64;
     f64: cublasDtrmv_v2 cublasDtrmv_v2_64;
     c32: cublasCtrmv_v2 cublasCtrmv_v2_64;
     c64: cublasZtrmv_v2 cublasZtrmv_v2_64]
        (handle: u64, uplo: i32, trans: i32, diag: i32, n: Int, a: u64, lda: Int, x: u64, incx: Int)
        => vectors::triangular::<T>(handle, [uplo, trans, diag], n.into(), Full((a, lda.into())),
            (x, incx.into()), false);
    [f32: cublasStbmv_v2 cublasStbmv_v2_64;
     f64: cublasDtbmv_v2 cublasDtbmv_v2_64;
     c32: cublasCtbmv_v2 cublasCtbmv_v2_64;
     c64: cublasZtbmv_v2 cublasZtbmv_v2_64]
        (handle: u64, uplo: i32, trans: i32, diag: i32, n: Int, k: Int, a: u64, lda: Int, x: u64,
            incx: Int)
        => vectors::triangular::<T>(handle, [uplo, trans, diag], n.into(), Band((a, lda.into()),
            k.into()), (x, incx.into()), false);
    [f32: cublasStpmv_v2 cublasStpmv_v2_64;
     f64: cublasDtpmv_v2 cublasDtpmv_v2_64;
     c32: cublasCtpmv_v2 cublasCtpmv_v2_64;
     c64: cublasZtpmv_v2 cublasZtpmv_v2_64]
        (handle: u64, uplo: i32, trans: i32, diag: i32, n: Int, ap: u64, x: u64, incx: Int)
        => vectors::triangular::<T>(handle, [uplo, trans, diag], n.into(), Packed(ap),
            (x, incx.into()), false);
    [f32: cublasStrsv_v2 cublasStrsv_v2_64;
     f64: cublasDtrsv_v2 cublasDtrsv_v2_64;
     c32: cublasCtrsv_v2 cublasCtrsv_v2_64;
     c64: cublasZtrsv_v2 cublasZtrsv_v2_64]
        (handle: u64, uplo: i32, trans: i32, diag: i32, n: Int, a: u64, lda: Int, x: u64, incx: Int)
        => vectors::triangular::<T>(handle, [uplo, trans, diag], n.into(), Full((a, lda.into())),
            (x, incx.into()), true);
    [f32: cublasStbsv_v2 cublasStbsv_v2_64;
     f64: cublasDtbsv_v2 cublasDtbsv_v2_64;
     c32: cublasCtbsv_v2 cublasCtbsv_v2_64;
     c64: cublasZtbsv_v2 cublasZtbsv_v2_64]
        (handle: u64, uplo: i32, trans: i32, diag: i32, n: Int, k: Int, a: u64, lda: Int, x: u64,
            incx: Int)
        => vectors::triangular::<T>(handle, [uplo, trans, diag], n.into(), Band((a, lda.into()),
            k.into()), (x, incx.into()), true);
    [f32: cublasStpsv_v2 cublasStpsv_v2_64;
     f64: cublasDtpsv_v2 cublasDtpsv_v2_64;
     c32: cublasCtpsv_v2 cublasCtpsv_v2_64;
     c64: cublasZtpsv_v2 cublasZtpsv_v2_64]
        (handle: u64, uplo: i32, trans: i32, diag: i32, n: Int, ap: u64, x: u64, incx: Int)
        => vectors::triangular::<T>(handle, [uplo, trans, diag], n.into(), Packed(ap),
            (x, incx.into()), true);
    [f32: cublasSger_v2 cublasSger_v2_64;
     f64: cublasDger_v2 cublasDger_v2_64;
     c32: cublasCgeru_v2 cublasCgeru_v2_64;
     c64: cublasZgeru_v2 cublasZgeru_v2_64]
        (handle: u64, m: Int, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int, a: u64,
            lda: Int)
        => vectors::ger::<T>(handle, [m.into(), n.into()], alpha, (x, incx.into()),
            (y, incy.into()), (a, lda.into()), false);
    [c32: cublasCgerc_v2 cublasCgerc_v2_64;
     c64: cublasZgerc_v2 cublasZgerc_v2_64]
        (handle: u64, m: Int, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int, a: u64,
            lda: Int)
        => vectors::ger::<T>(handle, [m.into(), n.into()], alpha, (x, incx.into()),
            (y, incy.into()), (a, lda.into()), true);
    [f32: cublasSsyr_v2 cublasSsyr_v2_64;
     f64: cublasDsyr_v2 cublasDsyr_v2_64;
     c32: cublasCsyr_v2 cublasCsyr_v2_64;
     c64: cublasZsyr_v2 cublasZsyr_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, a: u64, lda: Int)
        => vectors::syr::<T, T>(handle, uplo, n.into(), alpha, (x, incx.into()), Full((a,
            lda.into())), SYMMETRIC);
    [f32: cublasSsyr2_v2 cublasSsyr2_v2_64;
     f64: cublasDsyr2_v2 cublasDsyr2_v2_64;
     c32: cublasCsyr2_v2 cublasCsyr2_v2_64;
     c64: cublasZsyr2_v2 cublasZsyr2_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int, a: u64,
            lda: Int)
        => vectors::syr2::<T>(handle, uplo, n.into(), alpha, (x, incx.into()), (y, incy.into()),
            Full((a, lda.into())), SYMMETRIC);
    [c32: cublasCher_v2 cublasCher_v2_64;
     c64: cublasZher_v2 cublasZher_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, a: u64, lda: Int)
        => vectors::syr::<T, Part<T>>(handle, uplo, n.into(), alpha, (x, incx.into()), Full((a,
            lda.into())), HERMITIAN);
    [c32: cublasCher2_v2 cublasCher2_v2_64;
     c64: cublasZher2_v2 cublasZher2_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int, a: u64,
            lda: Int)
        => vectors::syr2::<T>(handle, uplo, n.into(), alpha, (x, incx.into()), (y, incy.into()),
            Full((a, lda.into())), HERMITIAN);
    [f32: cublasSspr_v2 cublasSspr_v2_64;
     f64: cublasDspr_v2 cublasDspr_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, ap: u64)
        => vectors::syr::<T, T>(handle, uplo, n.into(), alpha, (x, incx.into()), Packed(ap),
            SYMMETRIC);
    [f32: cublasSspr2_v2 cublasSspr2_v2_64;
     f64: cublasDspr2_v2 cublasDspr2_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int, ap: u64)
        => vectors::syr2::<T>(handle, uplo, n.into(), alpha, (x, incx.into()), (y, incy.into()),
            Packed(ap), SYMMETRIC);
    [c32: cublasChpr_v2 cublasChpr_v2_64;
     c64: cublasZhpr_v2 cublasZhpr_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, ap: u64)
        => vectors::syr::<T, Part<T>>(handle, uplo, n.into(), alpha, (x, incx.into()), Packed(ap),
            HERMITIAN);
    [c32: cublasChpr2_v2 cublasChpr2_v2_64;
     c64: cublasZhpr2_v2 cublasZhpr2_v2_64]
        (handle: u64, uplo: i32, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int, ap: u64)
        => vectors::syr2::<T>(handle, uplo, n.into(), alpha, (x, incx.into()), (y, incy.into()),
            Packed(ap), HERMITIAN);
}
