//! Systems with bands, and incomplete factorisations.

use culibs::Ptr;
use linalg::{c32, c64};

use crate::handle::buffer;
use crate::incomplete::{self, Given};
use crate::{bands, handle};

culibs::family! {
    enter;
    [f32: cusparseSgtsv2_bufferSizeExt; f64: cusparseDgtsv2_bufferSizeExt; c32:
        cusparseCgtsv2_bufferSizeExt; c64: cusparseZgtsv2_bufferSizeExt]
        (handle: u64, _m: i32, _n: i32, _lower: u64, _diagonal: u64, _upper: u64, _b: u64, _ldb:
            i32, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseSgtsv2; f64: cusparseDgtsv2; c32: cusparseCgtsv2; c64: cusparseZgtsv2]
        (handle: u64, m: i32, n: i32, lower: u64, diagonal: u64, upper: u64, b: u64, ldb: i32,
            _buffer: u64)
        => bands::with_columns::<T>(handle, [m, n], [lower, diagonal, upper], (b, ldb));
    [f32: cusparseSgtsv2_nopivot_bufferSizeExt; f64: cusparseDgtsv2_nopivot_bufferSizeExt; c32:
        cusparseCgtsv2_nopivot_bufferSizeExt; c64: cusparseZgtsv2_nopivot_bufferSizeExt]
        (handle: u64, _m: i32, _n: i32, _lower: u64, _diagonal: u64, _upper: u64, _b: u64, _ldb:
            i32, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseSgtsv2_nopivot; f64: cusparseDgtsv2_nopivot; c32: cusparseCgtsv2_nopivot; c64:
        cusparseZgtsv2_nopivot]
        (handle: u64, m: i32, n: i32, lower: u64, diagonal: u64, upper: u64, b: u64, ldb: i32,
            _buffer: u64)
        => bands::with_columns::<T>(handle, [m, n], [lower, diagonal, upper], (b, ldb));
    [f32: cusparseSgtsv2StridedBatch_bufferSizeExt; f64:
        cusparseDgtsv2StridedBatch_bufferSizeExt; c32: cusparseCgtsv2StridedBatch_bufferSizeExt;
        c64: cusparseZgtsv2StridedBatch_bufferSizeExt]
        (handle: u64, _m: i32, _lower: u64, _diagonal: u64, _upper: u64, _x: u64, _batch: i32,
            _stride: i32, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseSgtsv2StridedBatch; f64: cusparseDgtsv2StridedBatch; c32:
        cusparseCgtsv2StridedBatch; c64: cusparseZgtsv2StridedBatch]
        (handle: u64, m: i32, lower: u64, diagonal: u64, upper: u64, x: u64, batch: i32, stride:
            i32, _buffer: u64)
        => bands::strided::<T>(handle, m, [lower, diagonal, upper], x, [batch, stride]);
    [f32: cusparseSgtsvInterleavedBatch_bufferSizeExt; f64:
        cusparseDgtsvInterleavedBatch_bufferSizeExt; c32:
        cusparseCgtsvInterleavedBatch_bufferSizeExt; c64:
        cusparseZgtsvInterleavedBatch_bufferSizeExt]
        (handle: u64, _algorithm: i32, _m: i32, _lower: u64, _diagonal: u64, _upper: u64, _x:
            u64, _batch: i32, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseSgtsvInterleavedBatch; f64: cusparseDgtsvInterleavedBatch; c32:
        cusparseCgtsvInterleavedBatch; c64: cusparseZgtsvInterleavedBatch]
        (handle: u64, algorithm: i32, m: i32, lower: u64, diagonal: u64, upper: u64, x: u64,
            batch: i32, _buffer: u64)
        => bands::interleaved::<T, 3>(handle, algorithm, m, [lower, diagonal, upper], x, batch);
    [f32: cusparseSgpsvInterleavedBatch_bufferSizeExt; f64:
        cusparseDgpsvInterleavedBatch_bufferSizeExt; c32:
        cusparseCgpsvInterleavedBatch_bufferSizeExt; c64:
        cusparseZgpsvInterleavedBatch_bufferSizeExt]
        (handle: u64, _algorithm: i32, _m: i32, _lowest: u64, _lower: u64, _diagonal: u64,
            _upper: u64, _uppermost: u64, _x: u64, _batch: i32, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseSgpsvInterleavedBatch; f64: cusparseDgpsvInterleavedBatch; c32:
        cusparseCgpsvInterleavedBatch; c64: cusparseZgpsvInterleavedBatch]
        (handle: u64, algorithm: i32, m: i32, lowest: u64, lower: u64, diagonal: u64, upper:
            u64, uppermost: u64, x: u64, batch: i32, _buffer: u64)
        => bands::interleaved::<T, 5>(handle, algorithm, m, [lowest, lower, diagonal, upper,
            uppermost], x, batch);
    [(): cusparseCreateCsric02Info]
        (out: Ptr)
        => incomplete::create(out);
    [(): cusparseDestroyCsric02Info]
        (info: u64)
        => incomplete::destroy(info);
    [(): cusparseXcsric02_zeroPivot]
        (handle: u64, info: u64, out: Ptr)
        => incomplete::zero_pivot(handle, info, out);
    [f32: cusparseScsric02_bufferSize; f64: cusparseDcsric02_bufferSize; c32:
        cusparseCcsric02_bufferSize; c64: cusparseZcsric02_bufferSize]
        (handle: u64, _m: i32, _nnz: i32, _descriptor: u64, _values: u64, _first: u64, _second:
            u64, _info: u64, size: Ptr)
        => handle::buffer_32(handle, size);
    [f32: cusparseScsric02_bufferSizeExt; f64: cusparseDcsric02_bufferSizeExt; c32:
        cusparseCcsric02_bufferSizeExt; c64: cusparseZcsric02_bufferSizeExt]
        (handle: u64, _m: i32, _nnz: i32, _descriptor: u64, _values: u64, _first: u64, _second:
            u64, _info: u64, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseScsric02_analysis; f64: cusparseDcsric02_analysis; c32:
        cusparseCcsric02_analysis; c64: cusparseZcsric02_analysis]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            info: u64, _policy: i32, _buffer: u64)
        => incomplete::analyse(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, info);
    [f32: cusparseScsric02; f64: cusparseDcsric02; c32: cusparseCcsric02; c64: cusparseZcsric02]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            info: u64, _policy: i32, _buffer: u64)
        => incomplete::cholesky::<T>(handle, Given { size: [m, nnz], descriptor, values, first,
            second }, info);
    [(): cusparseCreateCsrilu02Info]
        (out: Ptr)
        => incomplete::create(out);
    [(): cusparseDestroyCsrilu02Info]
        (info: u64)
        => incomplete::destroy(info);
    [(): cusparseXcsrilu02_zeroPivot]
        (handle: u64, info: u64, out: Ptr)
        => incomplete::zero_pivot(handle, info, out);
    [f32: cusparseScsrilu02_bufferSize; f64: cusparseDcsrilu02_bufferSize; c32:
        cusparseCcsrilu02_bufferSize; c64: cusparseZcsrilu02_bufferSize]
        (handle: u64, _m: i32, _nnz: i32, _descriptor: u64, _values: u64, _first: u64, _second:
            u64, _info: u64, size: Ptr)
        => handle::buffer_32(handle, size);
    [f32: cusparseScsrilu02_bufferSizeExt; f64: cusparseDcsrilu02_bufferSizeExt; c32:
        cusparseCcsrilu02_bufferSizeExt; c64: cusparseZcsrilu02_bufferSizeExt]
        (handle: u64, _m: i32, _nnz: i32, _descriptor: u64, _values: u64, _first: u64, _second:
            u64, _info: u64, size: Ptr)
        => buffer(handle, size);
    [f32: cusparseScsrilu02_analysis; f64: cusparseDcsrilu02_analysis; c32:
        cusparseCcsrilu02_analysis; c64: cusparseZcsrilu02_analysis]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            info: u64, _policy: i32, _buffer: u64)
        => incomplete::analyse(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, info);
    [f32: cusparseScsrilu02; f64: cusparseDcsrilu02; c32: cusparseCcsrilu02; c64: cusparseZcsrilu02]
        (handle: u64, m: i32, nnz: i32, descriptor: u64, values: u64, first: u64, second: u64,
            info: u64, _policy: i32, _buffer: u64)
        => incomplete::lu::<T>(handle, Given { size: [m, nnz], descriptor, values, first, second
            }, info);
    [f32: cusparseScsrilu02_numericBoost; f64: cusparseDcsrilu02_numericBoost; c32:
        cusparseCcsrilu02_numericBoost; c64: cusparseZcsrilu02_numericBoost]
        (handle: u64, info: u64, enable: i32, tolerance: Ptr, value: Ptr)
        => incomplete::set_boost::<T>(handle, info, enable, tolerance, value);
}
