//! Eigenvalues and singular values.

use culibs::Ptr;
use linalg::{c32, c64};

use crate::eigen::Selection;
use crate::handle::workspace;
use crate::infos::Residual;
use crate::{eigen, singular};

culibs::family! {
    enter;
    [f32: cusolverDnSsyevd_bufferSize; f64: cusolverDnDsyevd_bufferSize;
        c32: cusolverDnCheevd_bufferSize; c64: cusolverDnZheevd_bufferSize]
        (handle: u64, _mode: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _w: u64, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSsyevd; f64: cusolverDnDsyevd; c32: cusolverDnCheevd; c64: cusolverDnZheevd]
        (handle: u64, mode: i32, uplo: i32, n: i32, a: u64, lda: i32, w: u64, _work: u64,
            _lwork: i32, info: u64)
        => eigen::syevd::<T>(handle, [mode, uplo], n.into(), (a, lda.into()), w, info,
            Selection::ALL, Residual::Nowhere);
    [f32: cusolverDnSsyevj_bufferSize; f64: cusolverDnDsyevj_bufferSize;
        c32: cusolverDnCheevj_bufferSize; c64: cusolverDnZheevj_bufferSize]
        (handle: u64, _mode: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _w: u64, lwork: Ptr,
            _params: u64)
        => workspace(handle, lwork);
    [f32: cusolverDnSsyevj; f64: cusolverDnDsyevj; c32: cusolverDnCheevj; c64: cusolverDnZheevj]
        (handle: u64, mode: i32, uplo: i32, n: i32, a: u64, lda: i32, w: u64, _work: u64,
            _lwork: i32, info: u64, params: u64)
        => eigen::syevd::<T>(handle, [mode, uplo], n.into(), (a, lda.into()), w, info,
            Selection::ALL, Residual::Object(params));
    [f32: cusolverDnSsyevjBatched_bufferSize; f64: cusolverDnDsyevjBatched_bufferSize;
        c32: cusolverDnCheevjBatched_bufferSize; c64: cusolverDnZheevjBatched_bufferSize]
        (handle: u64, _mode: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _w: u64, lwork: Ptr,
            _params: u64, _batch: i32)
        => workspace(handle, lwork);
    [f32: cusolverDnSsyevjBatched; f64: cusolverDnDsyevjBatched; c32: cusolverDnCheevjBatched;
        c64: cusolverDnZheevjBatched]
        (handle: u64, mode: i32, uplo: i32, n: i32, a: u64, lda: i32, w: u64, _work: u64,
            _lwork: i32, info: u64, _params: u64, batch: i32)
        => eigen::syev_batched::<T>(handle, [mode, uplo], n.into(), (a, lda.into()), w, info,
            batch.into());
    [f32: cusolverDnSsygvd_bufferSize; f64: cusolverDnDsygvd_bufferSize;
        c32: cusolverDnChegvd_bufferSize; c64: cusolverDnZhegvd_bufferSize]
        (handle: u64, _kind: i32, _mode: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _b: u64,
            _ldb: i32, _w: u64, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSsygvd; f64: cusolverDnDsygvd; c32: cusolverDnChegvd; c64: cusolverDnZhegvd]
        (handle: u64, kind: i32, mode: i32, uplo: i32, n: i32, a: u64, lda: i32, b: u64, ldb: i32,
            w: u64, _work: u64, _lwork: i32, info: u64)
        => eigen::sygvd::<T>(handle, [kind, mode, uplo], n.into(), (a, lda.into()), (b, ldb.into()),
            w, info, Selection::ALL);
    [f32: cusolverDnSgesvd_bufferSize; f64: cusolverDnDgesvd_bufferSize;
        c32: cusolverDnCgesvd_bufferSize; c64: cusolverDnZgesvd_bufferSize]
        (handle: u64, _m: i32, _n: i32, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSgesvd; f64: cusolverDnDgesvd; c32: cusolverDnCgesvd; c64: cusolverDnZgesvd]
        (handle: u64, jobu: u8, jobvt: u8, m: i32, n: i32, a: u64, lda: i32, s: u64, u: u64,
            ldu: i32, vt: u64, ldvt: i32, _work: u64, _lwork: i32, _rwork: u64, info: u64)
        => singular::gesvd::<T>(handle, [jobu, jobvt], [m.into(), n.into()], (a, lda.into()), s,
            (u, ldu.into()), (vt, ldvt.into()), info);
    [f32: cusolverDnSgesvdj_bufferSize; f64: cusolverDnDgesvdj_bufferSize;
        c32: cusolverDnCgesvdj_bufferSize; c64: cusolverDnZgesvdj_bufferSize]
        (handle: u64, _mode: i32, _economical: i32, _m: i32, _n: i32, _a: u64, _lda: i32, _s: u64,
            _u: u64, _ldu: i32, _v: u64, _ldv: i32, lwork: Ptr, _params: u64)
        => workspace(handle, lwork);
    [f32: cusolverDnSgesvdj; f64: cusolverDnDgesvdj; c32: cusolverDnCgesvdj; c64: cusolverDnZgesvdj]
        (handle: u64, mode: i32, economical: i32, m: i32, n: i32, a: u64, lda: i32, s: u64, u: u64,
            ldu: i32, v: u64, ldv: i32, _work: u64, _lwork: i32, info: u64, params: u64)
        => singular::gesvdj::<T>(handle, [mode, economical], [m.into(), n.into()], (a, lda.into()),
            s, ((u, ldu.into()), (v, ldv.into())), info, Residual::Object(params));
    [f32: cusolverDnSgesvdjBatched_bufferSize; f64: cusolverDnDgesvdjBatched_bufferSize;
        c32: cusolverDnCgesvdjBatched_bufferSize; c64: cusolverDnZgesvdjBatched_bufferSize]
        (handle: u64, _mode: i32, _m: i32, _n: i32, _a: u64, _lda: i32, _s: u64, _u: u64, _ldu: i32,
            _v: u64, _ldv: i32, lwork: Ptr, _params: u64, _batch: i32)
        => workspace(handle, lwork);
    [f32: cusolverDnSgesvdjBatched; f64: cusolverDnDgesvdjBatched; c32: cusolverDnCgesvdjBatched;
        c64: cusolverDnZgesvdjBatched]
        (handle: u64, mode: i32, m: i32, n: i32, a: u64, lda: i32, s: u64, u: u64, ldu: i32, v: u64,
            ldv: i32, _work: u64, _lwork: i32, info: u64, _params: u64, batch: i32)
        => singular::gesvdj_batched::<T>(handle, mode, [m.into(), n.into()], (a, lda.into()), s,
            ((u, ldu.into()), (v, ldv.into())), info, batch.into());
    [f32: cusolverDnSgesvdaStridedBatched_bufferSize;
        f64: cusolverDnDgesvdaStridedBatched_bufferSize;
        c32: cusolverDnCgesvdaStridedBatched_bufferSize;
        c64: cusolverDnZgesvdaStridedBatched_bufferSize]
        (handle: u64, _mode: i32, _rank: i32, _m: i32, _n: i32, _a: u64, _lda: i32, _stridea: i64,
            _s: u64, _strides: i64, _u: u64, _ldu: i32, _strideu: i64, _v: u64, _ldv: i32,
            _stridev: i64, lwork: Ptr, _batch: i32)
        => workspace(handle, lwork);
    [f32: cusolverDnSgesvdaStridedBatched; f64: cusolverDnDgesvdaStridedBatched;
        c32: cusolverDnCgesvdaStridedBatched; c64: cusolverDnZgesvdaStridedBatched]
        (handle: u64, mode: i32, rank: i32, m: i32, n: i32, a: u64, lda: i32, stridea: i64, s: u64,
            strides: i64, u: u64, ldu: i32, strideu: i64, v: u64, ldv: i32, stridev: i64,
            _work: u64, _lwork: i32, info: u64, residuals: Ptr, batch: i32)
        => singular::gesvda::<T>(handle, mode, [rank.into(), m.into(), n.into()],
            (a, lda.into(), stridea), (s, strides), ((u, ldu.into(), strideu),
            (v, ldv.into(), stridev)), info, residuals, batch.into());
    [f32: cusolverDnSsygvj_bufferSize; f64: cusolverDnDsygvj_bufferSize; c32:
        cusolverDnChegvj_bufferSize; c64: cusolverDnZhegvj_bufferSize]
        (handle: u64, _kind: i32, _mode: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _b: u64,
            _ldb: i32, _w: u64, lwork: Ptr, _params: u64)
        => workspace(handle, lwork);
    [f32: cusolverDnSsygvj; f64: cusolverDnDsygvj; c32: cusolverDnChegvj; c64: cusolverDnZhegvj]
        (handle: u64, kind: i32, mode: i32, uplo: i32, n: i32, a: u64, lda: i32, b: u64, ldb:
            i32, w: u64, _work: u64, _lwork: i32, info: u64, _params: u64)
        => eigen::sygvd::<T>(handle, [kind, mode, uplo], n.into(), (a, lda.into()), (b,
            ldb.into()), w, info, Selection::ALL);
    [f32: cusolverDnSsyevdx_bufferSize; c32: cusolverDnCheevdx_bufferSize]
        (handle: u64, _mode: i32, _range: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _vl:
            f32, _vu: f32, _il: i32, _iu: i32, _found: Ptr, _w: u64, lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSsyevdx; c32: cusolverDnCheevdx]
        (handle: u64, mode: i32, range: i32, uplo: i32, n: i32, a: u64, lda: i32, vl: f32, vu:
            f32, il: i32, iu: i32, found: Ptr, w: u64, _work: u64, _lwork: i32, info: u64)
        => eigen::syevd::<T>(handle, [mode, uplo], n.into(), (a, lda.into()), w, info,
            Selection::new(range, || Ok([vl.into(), vu.into()]), [il.into(), iu.into()], n.into(),
            (found, false))?, Residual::Nowhere);
    [f32: cusolverDnSsygvdx_bufferSize; c32: cusolverDnChegvdx_bufferSize]
        (handle: u64, _kind: i32, _mode: i32, _range: i32, _uplo: i32, _n: i32, _a: u64, _lda:
            i32, _b: u64, _ldb: i32, _vl: f32, _vu: f32, _il: i32, _iu: i32, _found: Ptr, _w: u64,
            lwork: Ptr)
        => workspace(handle, lwork);
    [f32: cusolverDnSsygvdx; c32: cusolverDnChegvdx]
        (handle: u64, kind: i32, mode: i32, range: i32, uplo: i32, n: i32, a: u64, lda: i32, b:
            u64, ldb: i32, vl: f32, vu: f32, il: i32, iu: i32, found: Ptr, w: u64, _work: u64,
            _lwork: i32, info: u64)
        => eigen::sygvd::<T>(handle, [kind, mode, uplo], n.into(), (a, lda.into()), (b,
            ldb.into()), w, info, Selection::new(range, || Ok([vl.into(), vu.into()]), [il.into(),
            iu.into()], n.into(), (found, false))?);
    [f64: cusolverDnDsyevdx_bufferSize; c64: cusolverDnZheevdx_bufferSize]
        (handle: u64, _mode: i32, _range: i32, _uplo: i32, _n: i32, _a: u64, _lda: i32, _vl:
            f64, _vu: f64, _il: i32, _iu: i32, _found: Ptr, _w: u64, lwork: Ptr)
        => workspace(handle, lwork);
    [f64: cusolverDnDsyevdx; c64: cusolverDnZheevdx]
        (handle: u64, mode: i32, range: i32, uplo: i32, n: i32, a: u64, lda: i32, vl: f64, vu:
            f64, il: i32, iu: i32, found: Ptr, w: u64, _work: u64, _lwork: i32, info: u64)
        => eigen::syevd::<T>(handle, [mode, uplo], n.into(), (a, lda.into()), w, info,
            Selection::new(range, || Ok([vl, vu]), [il.into(), iu.into()], n.into(),
            (found, false))?, Residual::Nowhere);
    [f64: cusolverDnDsygvdx_bufferSize; c64: cusolverDnZhegvdx_bufferSize]
        (handle: u64, _kind: i32, _mode: i32, _range: i32, _uplo: i32, _n: i32, _a: u64, _lda:
            i32, _b: u64, _ldb: i32, _vl: f64, _vu: f64, _il: i32, _iu: i32, _found: Ptr, _w: u64,
            lwork: Ptr)
        => workspace(handle, lwork);
    [f64: cusolverDnDsygvdx; c64: cusolverDnZhegvdx]
        (handle: u64, kind: i32, mode: i32, range: i32, uplo: i32, n: i32, a: u64, lda: i32, b:
            u64, ldb: i32, vl: f64, vu: f64, il: i32, iu: i32, found: Ptr, w: u64, _work: u64,
            _lwork: i32, info: u64)
        => eigen::sygvd::<T>(handle, [kind, mode, uplo], n.into(), (a, lda.into()), (b,
            ldb.into()), w, info, Selection::new(range, || Ok([vl, vu]), [il.into(),
            iu.into()], n.into(), (found, false))?);
}
