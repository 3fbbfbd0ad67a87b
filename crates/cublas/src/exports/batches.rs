//! Functions of batches.

use culibs::Ptr;
use half::{bf16, f16};
use linalg::{c32, c64};

use super::{First, Second, Third};
use crate::checked::batches::{self, Matrices::*};

culibs::family! {
    enter;
    [f32: cublasSgemmBatched cublasSgemmBatched_64;
     f64: cublasDgemmBatched cublasDgemmBatched_64;
     c32: cublasCgemmBatched cublasCgemmBatched_64;
     c64: cublasZgemmBatched cublasZgemmBatched_64;
     c32: cublasCgemm3mBatched cublasCgemm3mBatched_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            lda: Int, b: u64, ldb: Int, beta: Ptr, c: u64, ldc: Int, batch: Int)
        => batches::gemm::<T>(handle, [transa, transb], [m.into(), n.into(), k.into()], alpha,
            List(a, lda.into()), List(b, ldb.into()), beta, List(c, ldc.into()), batch.into());
    [f32: cublasSgemmStridedBatched cublasSgemmStridedBatched_64;
     f64: cublasDgemmStridedBatched cublasDgemmStridedBatched_64;
     c32: cublasCgemmStridedBatched cublasCgemmStridedBatched_64;
     c64: cublasZgemmStridedBatched cublasZgemmStridedBatched_64;
     c32: cublasCgemm3mStridedBatched cublasCgemm3mStridedBatched_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            lda: Int, stridea: i64, b: u64, ldb: Int, strideb: i64, beta: Ptr, c: u64, ldc: Int,
            stridec: i64, batch: Int)
        => batches::gemm::<T>(handle, [transa, transb], [m.into(), n.into(), k.into()], alpha,
            Strided(a, lda.into(), stridea), Strided(b, ldb.into(), strideb), beta,
            Strided(c, ldc.into(), stridec), batch.into());
    [(f32, f32, f32): cublasSgemvBatched cublasSgemvBatched_64;
     (f64, f64, f64): cublasDgemvBatched cublasDgemvBatched_64;
     (c32, c32, c32): cublasCgemvBatched cublasCgemvBatched_64;
     (c64, c64, c64): cublasZgemvBatched cublasZgemvBatched_64;
     (f32, f16, f16): cublasHSHgemvBatched cublasHSHgemvBatched_64;
     (f32, f16, f32): cublasHSSgemvBatched cublasHSSgemvBatched_64;
     (f32, bf16, bf16): cublasTSTgemvBatched cublasTSTgemvBatched_64;
     (f32, bf16, f32): cublasTSSgemvBatched cublasTSSgemvBatched_64]
        (handle: u64, trans: i32, m: Int, n: Int, alpha: Ptr, a: u64, lda: Int, x: u64, incx: Int,
            beta: Ptr, y: u64, incy: Int, batch: Int)
        => batches::gemv::<First<T>, Second<T>, Third<T>>(handle, trans, [m.into(), n.into()],
            alpha, List(a, lda.into()), List(x, incx.into()), beta, List(y, incy.into()),
            batch.into());
    [(f32, f32, f32): cublasSgemvStridedBatched cublasSgemvStridedBatched_64;
     (f64, f64, f64): cublasDgemvStridedBatched cublasDgemvStridedBatched_64;
     (c32, c32, c32): cublasCgemvStridedBatched cublasCgemvStridedBatched_64;
     (c64, c64, c64): cublasZgemvStridedBatched cublasZgemvStridedBatched_64;
     (f32, f16, f16): cublasHSHgemvStridedBatched cublasHSHgemvStridedBatched_64;
     (f32, f16, f32): cublasHSSgemvStridedBatched cublasHSSgemvStridedBatched_64;
     (f32, bf16, bf16): cublasTSTgemvStridedBatched cublasTSTgemvStridedBatched_64;
     (f32, bf16, f32): cublasTSSgemvStridedBatched cublasTSSgemvStridedBatched_64]
        (handle: u64, trans: i32, m: Int, n: Int, alpha: Ptr, a: u64, lda: Int, stridea: i64,
            x: u64, incx: Int, stridex: i64, beta: Ptr, y: u64, incy: Int, stridey: i64, batch: Int)
        => batches::gemv::<First<T>, Second<T>, Third<T>>(handle, trans, [m.into(), n.into()],
            alpha, Strided(a, lda.into(), stridea), Strided(x, incx.into(), stridex), beta,
            Strided(y, incy.into(), stridey), batch.into());
    [f32: cublasStrsmBatched cublasStrsmBatched_64;
     f64: cublasDtrsmBatched cublasDtrsmBatched_64;
     c32: cublasCtrsmBatched cublasCtrsmBatched_64;
     c64: cublasZtrsmBatched cublasZtrsmBatched_64]
        (handle: u64, side: i32, uplo: i32, trans: i32, diag: i32, m: Int, n: Int, alpha: Ptr,
            a: u64, lda: Int, b: u64, ldb: Int, batch: Int)
        => batches::trsm::<T>(handle, [side, uplo, trans, diag], [m.into(), n.into()], alpha,
            (a, lda.into()), (b, ldb.into()), batch.into());
    [f32: cublasSgetrfBatched;
     f64: cublasDgetrfBatched;
     c32: cublasCgetrfBatched;
     c64: cublasZgetrfBatched]
        (handle: u64, n: i32, a: u64, lda: i32, pivots: u64, info: u64, batch: i32)
        => batches::getrf::<T>(handle, n, (a, lda.into()), pivots, info, batch);
    [f32: cublasSgetriBatched;
     f64: cublasDgetriBatched;
     c32: cublasCgetriBatched;
     c64: cublasZgetriBatched]
        (handle: u64, n: i32, a: u64, lda: i32, pivots: u64, c: u64, ldc: i32, info: u64,
            batch: i32)
        => batches::getri::<T>(handle, n, (a, lda.into()), pivots, (c, ldc.into()), info, batch);
    [f32: cublasSmatinvBatched;
     f64: cublasDmatinvBatched;
     c32: cublasCmatinvBatched;
     c64: cublasZmatinvBatched]
        (handle: u64, n: i32, a: u64, lda: i32, c: u64, ldc: i32, info: u64, batch: i32)
        => batches::matinv::<T>(handle, n, (a, lda.into()), (c, ldc.into()), info, batch);
    [f32: cublasSgetrsBatched;
     f64: cublasDgetrsBatched;
     c32: cublasCgetrsBatched;
     c64: cublasZgetrsBatched]
        (handle: u64, trans: i32, n: i32, nrhs: i32, a: u64, lda: i32, pivots: u64, b: u64,
            ldb: i32, info: Ptr, batch: i32)
        => batches::getrs::<T>(handle, trans, [n, nrhs], (a, lda.into()), pivots, (b, ldb.into()),
            info, batch);
    [f32: cublasSgeqrfBatched;
     f64: cublasDgeqrfBatched;
     c32: cublasCgeqrfBatched;
     c64: cublasZgeqrfBatched]
        (handle: u64, m: i32, n: i32, a: u64, lda: i32, tau: u64, info: Ptr, batch: i32)
        => batches::geqrf::<T>(handle, [m, n], (a, lda.into()), tau, info, batch);
    [f32: cublasSgelsBatched;
     f64: cublasDgelsBatched;
     c32: cublasCgelsBatched;
     c64: cublasZgelsBatched]
        (handle: u64, trans: i32, m: i32, n: i32, nrhs: i32, a: u64, lda: i32, c: u64, ldc: i32,
            info: Ptr, infos: u64, batch: i32)
        => batches::gels::<T>(handle, trans, [m, n, nrhs], (a, lda.into()), (c, ldc.into()),
            (info, infos), batch);
}
