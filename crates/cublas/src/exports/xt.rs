//! cuBLASXt: functions of matrices on the host.

use culibs::{Error, Outcome, Ptr};
use linalg::{c32, c64};

use super::Part;
use crate::checked::matrices;
use crate::checked::vectors::{HERMITIAN, SYMMETRIC};
use crate::xt::{self, Operand};

/// Converts sizes of the client.
fn wide<const N: usize>(sizes: [usize; N]) -> Outcome<[i64; N]> {
    let mut out = [0; N];
    for (out, size) in out.iter_mut().zip(sizes) {
        *out = i64::try_from(size).map_err(|_| Error::InvalidValue)?;
    }
    Ok(out)
}

culibs::family! {
    enter;
    [(): cublasXtCreate](out: Ptr) => xt::create(out);
    [(): cublasXtDestroy](handle: u64) => xt::destroy(handle);
    [(): cublasXtGetNumBoards](count: i32, list: Ptr, out: Ptr) => xt::boards(count, list, out);
    [(): cublasXtMaxBoards](out: Ptr) => xt::most_boards(out);
    [(): cublasXtDeviceSelect](handle: u64, count: i32, list: Ptr)
        => xt::select(handle, count, list);
    [(): cublasXtSetBlockDim](handle: u64, block: i32) => xt::set_block(handle, block);
    [(): cublasXtGetBlockDim](handle: u64, out: Ptr) => xt::block(handle, out);
    [(): cublasXtSetPinningMemMode](handle: u64, mode: i32) => xt::set_pinning(handle, mode);
    [(): cublasXtGetPinningMemMode](handle: u64, out: Ptr) => xt::pinning(handle, out);
    [f32: cublasXtSgemm; f64: cublasXtDgemm; c32: cublasXtCgemm; c64: cublasXtZgemm]
        (handle: u64, transa: i32, transb: i32, m: usize, n: usize, k: usize, alpha: Ptr, a: u64,
            lda: usize, b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(transa, [m, k], a, lda)?,
                Operand::factor::<T>(transb, [k, n], b, ldb)?, Operand::new::<T>([m, n], c, ldc)?],
            |blas, [a, b, c]| matrices::gemm::<T>(blas, [transa, transb], wide([m, n, k])?, alpha,
                a, b, beta, c));
    [f32: cublasXtSsyrk; f64: cublasXtDsyrk; c32: cublasXtCsyrk; c64: cublasXtZsyrk]
        (handle: u64, uplo: i32, trans: i32, n: usize, k: usize, alpha: Ptr, a: u64, lda: usize,
            beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(trans, [n, k], a, lda)?,
                Operand::new::<T>([n, n], c, ldc)?],
            |blas, [a, c]| matrices::syrk::<T, T>(blas, [uplo, trans], wide([n, k])?, alpha, a,
                beta, c, SYMMETRIC));
    [c32: cublasXtCherk; c64: cublasXtZherk]
        (handle: u64, uplo: i32, trans: i32, n: usize, k: usize, alpha: Ptr, a: u64, lda: usize,
            beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(trans, [n, k], a, lda)?,
                Operand::new::<T>([n, n], c, ldc)?],
            |blas, [a, c]| matrices::syrk::<T, Part<T>>(blas, [uplo, trans], wide([n, k])?, alpha,
                a, beta, c, HERMITIAN));
    [f32: cublasXtSsyr2k; f64: cublasXtDsyr2k; c32: cublasXtCsyr2k; c64: cublasXtZsyr2k]
        (handle: u64, uplo: i32, trans: i32, n: usize, k: usize, alpha: Ptr, a: u64, lda: usize,
            b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(trans, [n, k], a, lda)?,
                Operand::factor::<T>(trans, [n, k], b, ldb)?, Operand::new::<T>([n, n], c, ldc)?],
            |blas, [a, b, c]| matrices::syr2k::<T, T>(blas, [uplo, trans], wide([n, k])?, alpha,
                a, b, beta, c, [SYMMETRIC, true]));
    [f32: cublasXtSsyrkx; f64: cublasXtDsyrkx; c32: cublasXtCsyrkx; c64: cublasXtZsyrkx]
        (handle: u64, uplo: i32, trans: i32, n: usize, k: usize, alpha: Ptr, a: u64, lda: usize,
            b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(trans, [n, k], a, lda)?,
                Operand::factor::<T>(trans, [n, k], b, ldb)?, Operand::new::<T>([n, n], c, ldc)?],
            |blas, [a, b, c]| matrices::syr2k::<T, T>(blas, [uplo, trans], wide([n, k])?, alpha,
                a, b, beta, c, [SYMMETRIC, false]));
    [c32: cublasXtCher2k; c64: cublasXtZher2k]
        (handle: u64, uplo: i32, trans: i32, n: usize, k: usize, alpha: Ptr, a: u64, lda: usize,
            b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(trans, [n, k], a, lda)?,
                Operand::factor::<T>(trans, [n, k], b, ldb)?, Operand::new::<T>([n, n], c, ldc)?],
            |blas, [a, b, c]| matrices::syr2k::<T, Part<T>>(blas, [uplo, trans], wide([n, k])?,
                alpha, a, b, beta, c, [HERMITIAN, true]));
    [c32: cublasXtCherkx; c64: cublasXtZherkx]
        (handle: u64, uplo: i32, trans: i32, n: usize, k: usize, alpha: Ptr, a: u64, lda: usize,
            b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::factor::<T>(trans, [n, k], a, lda)?,
                Operand::factor::<T>(trans, [n, k], b, ldb)?, Operand::new::<T>([n, n], c, ldc)?],
            |blas, [a, b, c]| matrices::syr2k::<T, Part<T>>(blas, [uplo, trans], wide([n, k])?,
                alpha, a, b, beta, c, [HERMITIAN, false]));
    [f32: cublasXtSsymm; f64: cublasXtDsymm; c32: cublasXtCsymm; c64: cublasXtZsymm]
        (handle: u64, side: i32, uplo: i32, m: usize, n: usize, alpha: Ptr, a: u64, lda: usize,
            b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::sided::<T>(side, [m, n], a, lda)?,
                Operand::new::<T>([m, n], b, ldb)?, Operand::new::<T>([m, n], c, ldc)?],
            |blas, [a, b, c]| matrices::symm::<T>(blas, [side, uplo], wide([m, n])?, alpha, a, b,
                beta, c, SYMMETRIC));
    [c32: cublasXtChemm; c64: cublasXtZhemm]
        (handle: u64, side: i32, uplo: i32, m: usize, n: usize, alpha: Ptr, a: u64, lda: usize,
            b: u64, ldb: usize, beta: Ptr, c: u64, ldc: usize)
        => xt::run(handle, [Operand::sided::<T>(side, [m, n], a, lda)?,
                Operand::new::<T>([m, n], b, ldb)?, Operand::new::<T>([m, n], c, ldc)?],
            |blas, [a, b, c]| matrices::symm::<T>(blas, [side, uplo], wide([m, n])?, alpha, a, b,
                beta, c, HERMITIAN));
    [f32: cublasXtStrmm; f64: cublasXtDtrmm; c32: cublasXtCtrmm; c64: cublasXtZtrmm]
        (handle: u64, side: i32, uplo: i32, trans: i32, diag: i32, m: usize, n: usize, alpha: Ptr,
            a: u64, lda: usize, b: u64, ldb: usize, c: u64, ldc: usize)
        => xt::run(handle, [Operand::sided::<T>(side, [m, n], a, lda)?,
                Operand::new::<T>([m, n], b, ldb)?, Operand::new::<T>([m, n], c, ldc)?],
            |blas, [a, b, c]| matrices::trmm::<T>(blas, [side, uplo, trans, diag], wide([m, n])?,
                alpha, a, b, c));
    [f32: cublasXtStrsm; f64: cublasXtDtrsm; c32: cublasXtCtrsm; c64: cublasXtZtrsm]
        (handle: u64, side: i32, uplo: i32, trans: i32, diag: i32, m: usize, n: usize, alpha: Ptr,
            a: u64, lda: usize, b: u64, ldb: usize)
        => xt::run(handle, [Operand::sided::<T>(side, [m, n], a, lda)?,
                Operand::new::<T>([m, n], b, ldb)?],
            |blas, [a, b]| matrices::trsm::<T>(blas, [side, uplo, trans, diag], wide([m, n])?,
                alpha, a, b));
}
