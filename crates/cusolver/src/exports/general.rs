//! Handles, parameters, and functions whose types are arguments.

use culibs::Ptr;

use super::{real_of, same, wide};
use crate::eigen::Selection;
use crate::handle::{self, workspace_bytes};
use crate::infos::Residual;
use crate::{eigen, factor, infos, nonsymmetric, singular};

culibs::family! {
    enter;
    [(): cusolverDnCreate]
        (out: Ptr)
        => handle::create(out);
    [(): cusolverDnDestroy]
        (handle: u64)
        => handle::destroy(handle);
    [(): cusolverDnSetStream]
        (handle: u64, stream: u64)
        => handle::set_stream(handle, stream);
    [(): cusolverDnGetStream]
        (handle: u64, out: Ptr)
        => handle::stream(handle, out);
    [(): cusolverDnSetDeterministicMode]
        (handle: u64, mode: i32)
        => handle::set_mode(handle, mode);
    [(): cusolverDnGetDeterministicMode]
        (handle: u64, out: Ptr)
        => handle::mode(handle, out);
    [(): cusolverGetProperty]
        (kind: i32, out: Ptr)
        => super::property(kind, out);
    [(): cusolverGetVersion]
        (out: Ptr)
        => super::version(out);
    [(): cusolverDnCreateParams]
        (out: Ptr)
        => infos::create(out);
    [(): cusolverDnDestroyParams]
        (params: u64)
        => infos::destroy(params);
    [(): cusolverDnSetAdvOptions]
        (params: u64, function: i32, _algorithm: i32)
        => infos::set(params, function >= 0);
    [(): cusolverDnCreateSyevjInfo]
        (out: Ptr)
        => infos::create(out);
    [(): cusolverDnDestroySyevjInfo]
        (info: u64)
        => infos::destroy(info);
    [(): cusolverDnXsyevjSetTolerance]
        (info: u64, _tolerance: f64)
        => infos::set(info, true);
    [(): cusolverDnXsyevjSetMaxSweeps]
        (info: u64, sweeps: i32)
        => infos::set(info, sweeps >= 0);
    [(): cusolverDnXsyevjSetSortEig]
        (info: u64, _sort: i32)
        => infos::set(info, true);
    [(): cusolverDnXsyevjGetResidual]
        (handle: u64, info: u64, out: Ptr)
        => infos::residual(handle, info, out);
    [(): cusolverDnXsyevjGetSweeps]
        (handle: u64, info: u64, out: Ptr)
        => infos::sweeps(handle, info, out);
    [(): cusolverDnCreateGesvdjInfo]
        (out: Ptr)
        => infos::create(out);
    [(): cusolverDnDestroyGesvdjInfo]
        (info: u64)
        => infos::destroy(info);
    [(): cusolverDnXgesvdjSetTolerance]
        (info: u64, _tolerance: f64)
        => infos::set(info, true);
    [(): cusolverDnXgesvdjSetMaxSweeps]
        (info: u64, sweeps: i32)
        => infos::set(info, sweeps >= 0);
    [(): cusolverDnXgesvdjSetSortEig]
        (info: u64, _sort: i32)
        => infos::set(info, true);
    [(): cusolverDnXgesvdjGetResidual]
        (handle: u64, info: u64, out: Ptr)
        => infos::residual(handle, info, out);
    [(): cusolverDnXgesvdjGetSweeps]
        (handle: u64, info: u64, out: Ptr)
        => infos::sweeps(handle, info, out);
    [(): cusolverDnXpotrf_bufferSize]
        (handle: u64, _params: u64, _uplo: i32, _n: i64, _atype: i32, _a: u64, _lda: i64,
            _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXpotrf]
        (handle: u64, _params: u64, uplo: i32, n: i64, atype: i32, a: u64, lda: i64, _compute: i32,
            _device: u64, _device_bytes: usize, _host: u64, _host_bytes: usize, info: u64)
        => in_type!(atype, T => factor::potrf::<T>(handle, uplo, n, (a, lda), info));
    [(): cusolverDnXpotrs]
        (handle: u64, _params: u64, uplo: i32, n: i64, nrhs: i64, atype: i32, a: u64, lda: i64,
            btype: i32, b: u64, ldb: i64, info: u64)
        => same(&[atype, btype]).and_then(|()| in_type!(atype, T => factor::potrs::<T>(handle, uplo,
            [n, nrhs], (a, lda), (b, ldb), info)));
    [(): cusolverDnXgetrf_bufferSize]
        (handle: u64, _params: u64, _m: i64, _n: i64, _atype: i32, _a: u64, _lda: i64,
            _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXgetrf]
        (handle: u64, _params: u64, m: i64, n: i64, atype: i32, a: u64, lda: i64, pivots: u64,
            _compute: i32, _device: u64, _device_bytes: usize, _host: u64, _host_bytes: usize,
            info: u64)
        => in_type!(atype, T => factor::getrf::<T>(handle, [m, n], (a, lda), wide(pivots), info));
    [(): cusolverDnXgetrs]
        (handle: u64, _params: u64, trans: i32, n: i64, nrhs: i64, atype: i32, a: u64, lda: i64,
            pivots: u64, btype: i32, b: u64, ldb: i64, info: u64)
        => same(&[atype, btype]).and_then(|()| in_type!(atype, T =>
            factor::getrs::<T>(handle, trans, [n, nrhs], (a, lda), wide(pivots), (b, ldb), info)));
    [(): cusolverDnXgeqrf_bufferSize]
        (handle: u64, _params: u64, _m: i64, _n: i64, _atype: i32, _a: u64, _lda: i64,
            _tautype: i32, _tau: u64, _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXgeqrf]
        (handle: u64, _params: u64, m: i64, n: i64, atype: i32, a: u64, lda: i64, tautype: i32,
            tau: u64, _compute: i32, _device: u64, _device_bytes: usize, _host: u64,
            _host_bytes: usize, info: u64)
        => same(&[atype, tautype]).and_then(|()| in_type!(atype, T => factor::geqrf::<T>(handle, [m,
            n], (a, lda), tau, info)));
    [(): cusolverDnXtrtri_bufferSize]
        (handle: u64, _uplo: i32, _diag: i32, _n: i64, _atype: i32, _a: u64, _lda: i64, device: Ptr,
            host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXtrtri]
        (handle: u64, uplo: i32, diag: i32, n: i64, atype: i32, a: u64, lda: i64, _device: u64,
            _device_bytes: usize, _host: u64, _host_bytes: usize, info: u64)
        => in_type!(atype, T => factor::trtri::<T>(handle, [uplo, diag], n, (a, lda), info));
    [(): cusolverDnXsyevd_bufferSize]
        (handle: u64, _params: u64, _mode: i32, _uplo: i32, _n: i64, _atype: i32, _a: u64,
            _lda: i64, _wtype: i32, _w: u64, _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXsyevd]
        (handle: u64, _params: u64, mode: i32, uplo: i32, n: i64, atype: i32, a: u64, lda: i64,
            wtype: i32, w: u64, _compute: i32, _device: u64, _device_bytes: usize, _host: u64,
            _host_bytes: usize, info: u64)
        => real_of(atype, wtype).and_then(|()| in_type!(atype, T => eigen::syevd::<T>(handle, [mode,
            uplo], n, (a, lda), w, info, Selection::ALL, Residual::Nowhere)));
    [(): cusolverDnXsyevBatched_bufferSize]
        (handle: u64, _params: u64, _mode: i32, _uplo: i32, _n: i64, _atype: i32, _a: u64,
            _lda: i64, _wtype: i32, _w: u64, _compute: i32, device: Ptr, host: Ptr, _batch: i64)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXsyevBatched]
        (handle: u64, _params: u64, mode: i32, uplo: i32, n: i64, atype: i32, a: u64, lda: i64,
            wtype: i32, w: u64, _compute: i32, _device: u64, _device_bytes: usize, _host: u64,
            _host_bytes: usize, info: u64, batch: i64)
        => real_of(atype, wtype).and_then(|()| in_type!(atype, T => eigen::syev_batched::<T>(handle,
            [mode, uplo], n, (a, lda), w, info, batch)));
    [(): cusolverDnXgesvd_bufferSize]
        (handle: u64, _params: u64, _jobu: u8, _jobvt: u8, _m: i64, _n: i64, _atype: i32, _a: u64,
            _lda: i64, _stype: i32, _s: u64, _utype: i32, _u: u64, _ldu: i64, _vtype: i32, _vt: u64,
            _ldvt: i64, _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXgesvd]
        (handle: u64, _params: u64, jobu: u8, jobvt: u8, m: i64, n: i64, atype: i32, a: u64,
            lda: i64, stype: i32, s: u64, utype: i32, u: u64, ldu: i64, vtype: i32, vt: u64,
            ldvt: i64, _compute: i32, _device: u64, _device_bytes: usize, _host: u64,
            _host_bytes: usize, info: u64)
        => real_of(atype, stype).and_then(|()| same(&[atype, utype, vtype])).and_then(|()|
            in_type!(atype, T => singular::gesvd::<T>(handle, [jobu, jobvt], [m, n], (a, lda), s,
            (u, ldu), (vt, ldvt), info)));
    [(): cusolverDnXsyevdx_bufferSize]
        (handle: u64, _params: u64, _mode: i32, _range: i32, _uplo: i32, _n: i64, _atype: i32,
            _a: u64, _lda: i64, _vl: Ptr, _vu: Ptr, _il: i64, _iu: i64, _found: Ptr, _wtype: i32,
            _w: u64, _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXsyevdx]
        (handle: u64, _params: u64, mode: i32, range: i32, uplo: i32, n: i64, atype: i32, a:
            u64, lda: i64, vl: Ptr, vu: Ptr, il: i64, iu: i64, found: Ptr, wtype: i32, w: u64,
            _compute: i32, _device: u64, _device_bytes: usize, _host: u64, _host_bytes: usize, info:
            u64)
        => real_of(atype, wtype).and_then(|()| in_type!(atype, T => eigen::syevd::<T>(handle,
            [mode, uplo], n, (a, lda), w, info, Selection::new(range, || eigen::limits::<T>(vl, vu),
            [il, iu], n, (found, true))?, Residual::Nowhere)));
    [(): cusolverDnXgesvdp_bufferSize]
        (handle: u64, _params: u64, _mode: i32, _economical: i32, _m: i64, _n: i64, _atype: i32,
            _a: u64, _lda: i64, _stype: i32, _s: u64, _utype: i32, _u: u64, _ldu: i64, _vtype: i32,
            _v: u64, _ldv: i64, _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXgesvdp]
        (handle: u64, _params: u64, mode: i32, economical: i32, m: i64, n: i64, atype: i32, a:
            u64, lda: i64, stype: i32, s: u64, utype: i32, u: u64, ldu: i64, vtype: i32, v: u64,
            ldv: i64, _compute: i32, _device: u64, _device_bytes: usize, _host: u64, _host_bytes:
            usize, info: u64, perturbation: Ptr)
        => real_of(atype, stype).and_then(|()| same(&[atype, utype, vtype])).and_then(|()|
            in_type!(atype, T => singular::gesvdp::<T>(handle, [mode, economical], [m, n], (a, lda),
            s, ((u, ldu), (v, ldv)), info, perturbation)));
    [(): cusolverDnXgesvdr_bufferSize]
        (handle: u64, _params: u64, _jobu: u8, _jobv: u8, _m: i64, _n: i64, _rank: i64, _more:
            i64, _iterations: i64, _atype: i32, _a: u64, _lda: i64, _stype: i32, _s: u64, _utype:
            i32, _u: u64, _ldu: i64, _vtype: i32, _v: u64, _ldv: i64, _compute: i32, device: Ptr,
            host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXgesvdr]
        (handle: u64, _params: u64, jobu: u8, jobv: u8, m: i64, n: i64, rank: i64, more: i64,
            iterations: i64, atype: i32, a: u64, lda: i64, stype: i32, s: u64, utype: i32, u: u64,
            ldu: i64, vtype: i32, v: u64, ldv: i64, _compute: i32, _device: u64, _device_bytes:
            usize, _host: u64, _host_bytes: usize, info: u64)
        => real_of(atype, stype).and_then(|()| same(&[atype, utype, vtype])).and_then(|()|
            in_type!(atype, T => singular::gesvdr::<T>(handle, [jobu, jobv], [m, n, rank, more,
            iterations], (a, lda), s, ((u, ldu), (v, ldv)), info)));
    [(): cusolverDnXgeev_bufferSize]
        (handle: u64, _params: u64, _left: i32, _right: i32, _n: i64, _atype: i32, _a: u64,
            _lda: i64, _wtype: i32, _w: u64, _vltype: i32, _vl: u64, _ldvl: i64, _vrtype: i32,
            _vr: u64, _ldvr: i64, _compute: i32, device: Ptr, host: Ptr)
        => workspace_bytes(handle, device, Some(host));
    [(): cusolverDnXgeev]
        (handle: u64, _params: u64, left: i32, right: i32, n: i64, atype: i32, a: u64, lda: i64,
            wtype: i32, w: u64, _vltype: i32, _vl: u64, _ldvl: i64, vrtype: i32, vr: u64, ldvr: i64,
            _compute: i32, _device: u64, _device_bytes: usize, _host: u64, _host_bytes: usize,
            info: u64)
        => nonsymmetric::geev(handle, [left, right], n, (a, lda), (vr, ldvr), w, info,
            [atype, wtype, vrtype]);
}
