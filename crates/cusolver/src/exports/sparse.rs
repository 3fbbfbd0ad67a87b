//! Sparse solvers.

use culibs::Ptr;
use linalg::{c32, c64};

use crate::handle;
use crate::permutation::{self, Method};
use crate::sparse::{self, Given, Pivoting, Place};

culibs::family! {
    enter;
    [(): cusolverSpCreate](out: Ptr) => handle::create_sparse(out);
    [(): cusolverSpDestroy](handle: u64) => handle::destroy_sparse(handle);
    [(): cusolverSpSetStream](handle: u64, stream: u64)
        => handle::set_sparse_stream(handle, stream);
    [(): cusolverSpGetStream](handle: u64, out: Ptr) => handle::sparse_stream(handle, out);
    [(): cusolverSpCreateCsrqrInfo](out: Ptr) => sparse::create_info(out);
    [(): cusolverSpDestroyCsrqrInfo](info: u64) => sparse::destroy_info(info);
    [(): cusolverSpXcsrsymrcmHost]
        (handle: u64, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, out: Ptr)
        => permutation::order(handle, Given { size: [n, nnz], descriptor, values: 0, first, second
            }, Method::CuthillMcKee, out);
    [(): cusolverSpXcsrsymmdqHost]
        (handle: u64, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, out: Ptr)
        => permutation::order(handle, Given { size: [n, nnz], descriptor, values: 0, first, second
            }, Method::MinimumDegree, out);
    [(): cusolverSpXcsrsymamdHost]
        (handle: u64, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, out: Ptr)
        => permutation::order(handle, Given { size: [n, nnz], descriptor, values: 0, first, second
            }, Method::MinimumDegree, out);
    [(): cusolverSpXcsrmetisndHost]
        (handle: u64, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, _options: u64,
            out: Ptr)
        => permutation::order(handle, Given { size: [n, nnz], descriptor, values: 0, first, second
            }, Method::Dissection, out);
    [(): cusolverSpXcsrissymHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, first: u64, ends: u64, second: u64,
            out: Ptr)
        => permutation::is_symmetric(handle, Given { size: [m, nnz], descriptor, values: 0, first,
            second }, ends, out);
    [(): cusolverSpXcsrperm_bufferSizeHost]
        (handle: u64, m: i32, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, _p: u64,
            _q: u64, out: Ptr)
        => permutation::buffer_size(handle, Given { size: [m, nnz], descriptor, values: 0, first,
            second }, n, out);
    [(): cusolverSpXcsrpermHost]
        (handle: u64, m: i32, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, p: u64,
            q: u64, map: Ptr, _work: u64)
        => permutation::permute(handle, Given { size: [m, nnz], descriptor, values: 0, first,
            second }, n, [p, q], map);
    [f32: cusolverSpScsrlsvqr; c32: cusolverSpCcsrlsvqr]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f32, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Device, Pivoting::Largest), b, tolerance, x, singularity);
    [f32: cusolverSpScsrlsvqrHost; c32: cusolverSpCcsrlsvqrHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f32, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Host, Pivoting::Largest), b, tolerance, x, singularity);
    [f32: cusolverSpScsrlsvluHost; c32: cusolverSpCcsrlsvluHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f32, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Host, Pivoting::Largest), b, tolerance, x, singularity);
    [f32: cusolverSpScsrlsvchol; c32: cusolverSpCcsrlsvchol]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f32, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Device, Pivoting::Positive), b, tolerance, x, singularity);
    [f32: cusolverSpScsrlsvcholHost; c32: cusolverSpCcsrlsvcholHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f32, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Host, Pivoting::Positive), b, tolerance, x, singularity);
    [f64: cusolverSpDcsrlsvqr; c64: cusolverSpZcsrlsvqr]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f64, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Device, Pivoting::Largest), b, tolerance, x, singularity);
    [f64: cusolverSpDcsrlsvqrHost; c64: cusolverSpZcsrlsvqrHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f64, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Host, Pivoting::Largest), b, tolerance, x, singularity);
    [f64: cusolverSpDcsrlsvluHost; c64: cusolverSpZcsrlsvluHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f64, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Host, Pivoting::Largest), b, tolerance, x, singularity);
    [f64: cusolverSpDcsrlsvchol; c64: cusolverSpZcsrlsvchol]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f64, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Device, Pivoting::Positive), b, tolerance, x, singularity);
    [f64: cusolverSpDcsrlsvcholHost; c64: cusolverSpZcsrlsvcholHost]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            b: u64, tolerance: f64, _reorder: i32, x: u64, singularity: Ptr)
        => sparse::solve::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, (Place::Host, Pivoting::Positive), b, tolerance, x, singularity);
    [(): cusolverSpXcsrqrAnalysisBatched]
        (handle: u64, m: i32, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64, info: u64)
        => sparse::analyse_batch(handle, Given { size: [m, nnz], descriptor, values: 0, first,
            second }, n, info);
    [f32: cusolverSpScsrqrBufferInfoBatched; f64: cusolverSpDcsrqrBufferInfoBatched; c32:
        cusolverSpCcsrqrBufferInfoBatched; c64: cusolverSpZcsrqrBufferInfoBatched]
        (handle: u64, m: i32, n: i32, nnz: i32, descriptor: u64, values: u64, first: u64,
            second: u64, _batch: i32, info: u64, internal: Ptr, work: Ptr)
        => sparse::batch_sizes(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, n, info, [internal, work]);
    [f32: cusolverSpScsrqrsvBatched; f64: cusolverSpDcsrqrsvBatched; c32:
        cusolverSpCcsrqrsvBatched; c64: cusolverSpZcsrqrsvBatched]
        (handle: u64, m: i32, n: i32, nnz: i32, descriptor: u64, values: u64, first: u64,
            second: u64, b: u64, x: u64, batch: i32, info: u64, _buffer: u64)
        => sparse::solve_batch::<T>(handle, Given { size: [m, nnz], descriptor, values, first,
            second }, n, [b, x], batch, info);
}
