//! Products whose types are arguments, or halves.

use culibs::{Number, Ptr};

use super::{HALF, is_wide, scalar_of};
use crate::checked::batches::Matrices::*;
use crate::checked::matrices;
use crate::extended::{Groups, Product};

culibs::family! {
    enter;
    [(): cublasGemmEx cublasGemmEx_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            atype: i32, lda: Int, b: u64, btype: i32, ldb: Int, beta: Ptr, c: u64, ctype: i32,
            ldc: Int, compute: i32, _algorithm: i32)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (Strided(a,
            lda.into(), 0), atype), b: (Strided(b, ldb.into(), 0), btype), beta, c: (Strided(c,
            ldc.into(), 0), ctype), batch: 1 }.in_compute_type(handle, compute);
    [(): cublasSgemmEx cublasSgemmEx_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            atype: i32, lda: Int, b: u64, btype: i32, ldb: Int, beta: Ptr, c: u64, ctype: i32,
            ldc: Int)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (Strided(a,
            lda.into(), 0), atype), b: (Strided(b, ldb.into(), 0), btype), beta, c: (Strided(c,
            ldc.into(), 0), ctype), batch: 1 }.in_single(handle, false);
    [(): cublasCgemmEx cublasCgemmEx_64;
     (): cublasCgemm3mEx cublasCgemm3mEx_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            atype: i32, lda: Int, b: u64, btype: i32, ldb: Int, beta: Ptr, c: u64, ctype: i32,
            ldc: Int)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (Strided(a,
            lda.into(), 0), atype), b: (Strided(b, ldb.into(), 0), btype), beta, c: (Strided(c,
            ldc.into(), 0), ctype), batch: 1 }.in_single(handle, true);
    [(): cublasGemmBatchedEx cublasGemmBatchedEx_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            atype: i32, lda: Int, b: u64, btype: i32, ldb: Int, beta: Ptr, c: u64, ctype: i32,
            ldc: Int, batch: Int, compute: i32, _algorithm: i32)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (List(a,
            lda.into()), atype), b: (List(b, ldb.into()), btype), beta, c: (List(c, ldc.into()),
            ctype), batch: batch.into() }.in_compute_type(handle, compute);
    [(): cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            atype: i32, lda: Int, stridea: i64, b: u64, btype: i32, ldb: Int, strideb: i64,
            beta: Ptr, c: u64, ctype: i32, ldc: Int, stridec: i64, batch: Int, compute: i32,
            _algorithm: i32)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (Strided(a,
            lda.into(), stridea), atype), b: (Strided(b, ldb.into(), strideb), btype), beta,
            c: (Strided(c, ldc.into(), stridec), ctype), batch: batch.into()
            }.in_compute_type(handle, compute);
    [(): cublasHgemm cublasHgemm_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            lda: Int, b: u64, ldb: Int, beta: Ptr, c: u64, ldc: Int)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (Strided(a,
            lda.into(), 0), HALF), b: (Strided(b, ldb.into(), 0), HALF), beta, c: (Strided(c,
            ldc.into(), 0), HALF), batch: 1 }.of_halves(handle);
    [(): cublasHgemmBatched cublasHgemmBatched_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            lda: Int, b: u64, ldb: Int, beta: Ptr, c: u64, ldc: Int, batch: Int)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (List(a,
            lda.into()), HALF), b: (List(b, ldb.into()), HALF), beta, c: (List(c, ldc.into()),
            HALF), batch: batch.into() }.of_halves(handle);
    [(): cublasHgemmStridedBatched cublasHgemmStridedBatched_64]
        (handle: u64, transa: i32, transb: i32, m: Int, n: Int, k: Int, alpha: Ptr, a: u64,
            lda: Int, stridea: i64, b: u64, ldb: Int, strideb: i64, beta: Ptr, c: u64, ldc: Int,
            stridec: i64, batch: Int)
        => Product { ops: [transa, transb], size: [m, n, k].map(Into::into), alpha, a: (Strided(a,
            lda.into(), stridea), HALF), b: (Strided(b, ldb.into(), strideb), HALF), beta,
            c: (Strided(c, ldc.into(), stridec), HALF), batch: batch.into() }.of_halves(handle);
    [f32: cublasSgemmGroupedBatched cublasSgemmGroupedBatched_64;
     f64: cublasDgemmGroupedBatched cublasDgemmGroupedBatched_64]
        (handle: u64, transa: Ptr, transb: Ptr, m: Ptr, n: Ptr, k: Ptr, alpha: Ptr, a: u64,
            lda: Ptr, b: u64, ldb: Ptr, beta: Ptr, c: u64, ldc: Ptr, groups: Int, sizes: Ptr)
        => Groups { lists: [transa, transb, m, n, k, lda, ldb, ldc], alpha, beta, addresses: [a, b,
            c], types: [<T as Number>::TYPE as i32; 3], groups: groups.into(), sizes,
            wide: is_wide::<Int>() }.run(handle, if is_wide::<T>() { 70 } else { 68 }, <T as
            Number>::TYPE);
    [(): cublasGemmGroupedBatchedEx cublasGemmGroupedBatchedEx_64]
        (handle: u64, transa: Ptr, transb: Ptr, m: Ptr, n: Ptr, k: Ptr, alpha: Ptr, a: u64,
            atype: i32, lda: Ptr, b: u64, btype: i32, ldb: Ptr, beta: Ptr, c: u64, ctype: i32,
            ldc: Ptr, groups: Int, sizes: Ptr, compute: i32)
        => Groups { lists: [transa, transb, m, n, k, lda, ldb, ldc], alpha, beta, addresses: [a, b,
            c], types: [atype, btype, ctype], groups: groups.into(), sizes, wide: is_wide::<Int>()
            }.run(handle, compute, scalar_of(compute)?);
    [(): cublasCsyrkEx cublasCsyrkEx_64;
     (): cublasCsyrk3mEx cublasCsyrk3mEx_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, atype: i32,
            lda: Int, beta: Ptr, c: u64, ctype: i32, ldc: Int)
        => matrices::syrk_of::<linalg::c32>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            ((a, lda.into()), atype), beta, ((c, ldc.into()), ctype), false);
    [(): cublasCherkEx cublasCherkEx_64;
     (): cublasCherk3mEx cublasCherk3mEx_64]
        (handle: u64, uplo: i32, trans: i32, n: Int, k: Int, alpha: Ptr, a: u64, atype: i32,
            lda: Int, beta: Ptr, c: u64, ctype: i32, ldc: Int)
        => matrices::syrk_of::<f32>(handle, [uplo, trans], [n.into(), k.into()], alpha,
            ((a, lda.into()), atype), beta, ((c, ldc.into()), ctype), true);
}
