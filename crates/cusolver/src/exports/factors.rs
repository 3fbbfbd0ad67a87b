//! Factorisations, and what is solved with them.

use culibs::Ptr;
use linalg::{c32, c64};

use super::narrow;
use crate::factor::{self, System};
use crate::handle::{workspace, workspace_bytes};

culibs::family! {
    enter;
    [f32: cusolverDnSpotrf_bufferSize; f64: cusolverDnDpotrf_bufferSize;
        c32: cusolverDnCpotrf_bufferSize; c64: cusolverDnZpotrf_bufferSize]
        (handle: u64, _uplo: i32, _n: i32, _a: u64, _lda: i32, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSpotrf; f64: cusolverDnDpotrf; c32: cusolverDnCpotrf; c64: cusolverDnZpotrf]
        (handle: u64, uplo: i32, n: i32, a: u64, lda: i32, _work: u64, _lwork: i32, info: u64)
        => factor::potrf::<T>(handle, uplo, n.into(), (a, lda.into()), info);
    [f32: cusolverDnSpotrs; f64: cusolverDnDpotrs; c32: cusolverDnCpotrs; c64: cusolverDnZpotrs]
        (handle: u64, uplo: i32, n: i32, nrhs: i32, a: u64, lda: i32, b: u64, ldb: i32, info: u64)
        => factor::potrs::<T>(handle, uplo, [n.into(), nrhs.into()], (a, lda.into()),
            (b, ldb.into()), info);
    [f32: cusolverDnSpotrfBatched; f64: cusolverDnDpotrfBatched; c32: cusolverDnCpotrfBatched;
        c64: cusolverDnZpotrfBatched]
        (handle: u64, uplo: i32, n: i32, a: u64, lda: i32, info: u64, batch: i32)
        => factor::potrf_batched::<T>(handle, uplo, n.into(), (a, lda.into()), info, batch.into());
    [f32: cusolverDnSpotrsBatched; f64: cusolverDnDpotrsBatched; c32: cusolverDnCpotrsBatched;
        c64: cusolverDnZpotrsBatched]
        (handle: u64, uplo: i32, n: i32, nrhs: i32, a: u64, lda: i32, b: u64, ldb: i32, info: u64,
            batch: i32)
        => factor::potrs_batched::<T>(handle, uplo, [n.into(), nrhs.into()], (a, lda.into()),
            (b, ldb.into()), info, batch.into());
    [f32: cusolverDnSpotri_bufferSize; f64: cusolverDnDpotri_bufferSize;
        c32: cusolverDnCpotri_bufferSize; c64: cusolverDnZpotri_bufferSize]
        (handle: u64, _uplo: i32, _n: i32, _a: u64, _lda: i32, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSpotri; f64: cusolverDnDpotri; c32: cusolverDnCpotri; c64: cusolverDnZpotri]
        (handle: u64, uplo: i32, n: i32, a: u64, lda: i32, _work: u64, _lwork: i32, info: u64)
        => factor::potri::<T>(handle, uplo, n.into(), (a, lda.into()), info);
    [f32: cusolverDnSgetrf_bufferSize; f64: cusolverDnDgetrf_bufferSize;
        c32: cusolverDnCgetrf_bufferSize; c64: cusolverDnZgetrf_bufferSize]
        (handle: u64, _m: i32, _n: i32, _a: u64, _lda: i32, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSgetrf; f64: cusolverDnDgetrf; c32: cusolverDnCgetrf; c64: cusolverDnZgetrf]
        (handle: u64, m: i32, n: i32, a: u64, lda: i32, _work: u64, pivots: u64, info: u64)
        => factor::getrf::<T>(handle, [m.into(), n.into()], (a, lda.into()), narrow(pivots), info);
    [f32: cusolverDnSgetrs; f64: cusolverDnDgetrs; c32: cusolverDnCgetrs; c64: cusolverDnZgetrs]
        (handle: u64, trans: i32, n: i32, nrhs: i32, a: u64, lda: i32, pivots: u64, b: u64,
            ldb: i32, info: u64)
        => factor::getrs::<T>(handle, trans, [n.into(), nrhs.into()], (a, lda.into()),
            narrow(pivots), (b, ldb.into()), info);
    [f32: cusolverDnSgeqrf_bufferSize; f64: cusolverDnDgeqrf_bufferSize;
        c32: cusolverDnCgeqrf_bufferSize; c64: cusolverDnZgeqrf_bufferSize]
        (handle: u64, _m: i32, _n: i32, _a: u64, _lda: i32, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSgeqrf; f64: cusolverDnDgeqrf; c32: cusolverDnCgeqrf; c64: cusolverDnZgeqrf]
        (handle: u64, m: i32, n: i32, a: u64, lda: i32, tau: u64, _work: u64, _lwork: i32,
            info: u64)
        => factor::geqrf::<T>(handle, [m.into(), n.into()], (a, lda.into()), tau, info);
    [f32: cusolverDnSorgqr_bufferSize; f64: cusolverDnDorgqr_bufferSize;
        c32: cusolverDnCungqr_bufferSize; c64: cusolverDnZungqr_bufferSize]
        (handle: u64, _m: i32, _n: i32, _k: i32, _a: u64, _lda: i32, _tau: u64, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSorgqr; f64: cusolverDnDorgqr; c32: cusolverDnCungqr; c64: cusolverDnZungqr]
        (handle: u64, m: i32, n: i32, k: i32, a: u64, lda: i32, tau: u64, _work: u64, _lwork: i32,
            info: u64)
        => factor::orgqr::<T>(handle, [m.into(), n.into(), k.into()], (a, lda.into()), tau, info);
    [f32: cusolverDnSormqr_bufferSize; f64: cusolverDnDormqr_bufferSize;
        c32: cusolverDnCunmqr_bufferSize; c64: cusolverDnZunmqr_bufferSize]
        (handle: u64, _side: i32, _trans: i32, _m: i32, _n: i32, _k: i32, _a: u64, _lda: i32,
            _tau: u64, _c: u64, _ldc: i32, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSormqr; f64: cusolverDnDormqr; c32: cusolverDnCunmqr; c64: cusolverDnZunmqr]
        (handle: u64, side: i32, trans: i32, m: i32, n: i32, k: i32, a: u64, lda: i32, tau: u64,
            c: u64, ldc: i32, _work: u64, _lwork: i32, info: u64)
        => factor::ormqr::<T>(handle, [side, trans], [m.into(), n.into(), k.into()],
            (a, lda.into()), tau, (c, ldc.into()), info);
    [f64: cusolverDnDDgesv_bufferSize; f64: cusolverDnDSgesv_bufferSize;
        f64: cusolverDnDHgesv_bufferSize; f64: cusolverDnDBgesv_bufferSize;
        f64: cusolverDnDXgesv_bufferSize; f32: cusolverDnSSgesv_bufferSize;
        f32: cusolverDnSHgesv_bufferSize; f32: cusolverDnSBgesv_bufferSize;
        f32: cusolverDnSXgesv_bufferSize; c64: cusolverDnZZgesv_bufferSize;
        c64: cusolverDnZCgesv_bufferSize; c64: cusolverDnZKgesv_bufferSize;
        c64: cusolverDnZEgesv_bufferSize; c64: cusolverDnZYgesv_bufferSize;
        c32: cusolverDnCCgesv_bufferSize; c32: cusolverDnCKgesv_bufferSize;
        c32: cusolverDnCEgesv_bufferSize; c32: cusolverDnCYgesv_bufferSize]
        (handle: u64, _n: i32, _nrhs: i32, _a: u64, _lda: i32, _pivots: u64, _b: u64, _ldb: i32,
            _x: u64, _ldx: i32, _work: u64, bytes: Ptr)
        => workspace_bytes(handle, bytes, None);
    [f64: cusolverDnDDgesv; f64: cusolverDnDSgesv; f64: cusolverDnDHgesv; f64: cusolverDnDBgesv;
        f64: cusolverDnDXgesv; f32: cusolverDnSSgesv; f32: cusolverDnSHgesv; f32: cusolverDnSBgesv;
        f32: cusolverDnSXgesv; c64: cusolverDnZZgesv; c64: cusolverDnZCgesv; c64: cusolverDnZKgesv;
        c64: cusolverDnZEgesv; c64: cusolverDnZYgesv; c32: cusolverDnCCgesv; c32: cusolverDnCKgesv;
        c32: cusolverDnCEgesv; c32: cusolverDnCYgesv]
        (handle: u64, n: i32, nrhs: i32, a: u64, lda: i32, pivots: u64, b: u64, ldb: i32, x: u64,
            ldx: i32, _work: u64, _bytes: usize, iterations: Ptr, info: u64)
        => factor::gesv::<T>(handle, [n.into(), nrhs.into()], System { a: (a, lda.into()),
            b: (b, ldb.into()), x: (x, ldx.into()), iterations, info }, narrow(pivots));
    [f64: cusolverDnDDgels_bufferSize; f64: cusolverDnDSgels_bufferSize;
        f64: cusolverDnDHgels_bufferSize; f64: cusolverDnDBgels_bufferSize;
        f64: cusolverDnDXgels_bufferSize; f32: cusolverDnSSgels_bufferSize;
        f32: cusolverDnSHgels_bufferSize; f32: cusolverDnSBgels_bufferSize;
        f32: cusolverDnSXgels_bufferSize; c64: cusolverDnZZgels_bufferSize;
        c64: cusolverDnZCgels_bufferSize; c64: cusolverDnZKgels_bufferSize;
        c64: cusolverDnZEgels_bufferSize; c64: cusolverDnZYgels_bufferSize;
        c32: cusolverDnCCgels_bufferSize; c32: cusolverDnCKgels_bufferSize;
        c32: cusolverDnCEgels_bufferSize; c32: cusolverDnCYgels_bufferSize]
        (handle: u64, _m: i32, _n: i32, _nrhs: i32, _a: u64, _lda: i32, _b: u64, _ldb: i32, _x: u64,
            _ldx: i32, _work: u64, bytes: Ptr)
        => workspace_bytes(handle, bytes, None);
    [f64: cusolverDnDDgels; f64: cusolverDnDSgels; f64: cusolverDnDHgels; f64: cusolverDnDBgels;
        f64: cusolverDnDXgels; f32: cusolverDnSSgels; f32: cusolverDnSHgels; f32: cusolverDnSBgels;
        f32: cusolverDnSXgels; c64: cusolverDnZZgels; c64: cusolverDnZCgels; c64: cusolverDnZKgels;
        c64: cusolverDnZEgels; c64: cusolverDnZYgels; c32: cusolverDnCCgels; c32: cusolverDnCKgels;
        c32: cusolverDnCEgels; c32: cusolverDnCYgels]
        (handle: u64, m: i32, n: i32, nrhs: i32, a: u64, lda: i32, b: u64, ldb: i32, x: u64,
            ldx: i32, _work: u64, _bytes: usize, iterations: Ptr, info: u64)
        => factor::gels::<T>(handle, [m.into(), n.into(), nrhs.into()], System { a: (a, lda.into()),
            b: (b, ldb.into()), x: (x, ldx.into()), iterations, info });
}
