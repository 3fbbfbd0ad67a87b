//! Products, solutions and conversions of the generic interface.

use culibs::Ptr;

use super::{matrix_type, sparse_type, vector_type};
use crate::handle::{buffer, nothing};
use crate::spgemm::{self, Operands};
use crate::{convert, products, solve};

culibs::family! {
    enter;
    [(): cusparseSpMV_bufferSize]
        (handle: u64, _trans: i32, _alpha: Ptr, _a: u64, _x: u64, _beta: Ptr, _y: u64,
            _compute: i32, _algorithm: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSpMV_preprocess]
        (handle: u64, _trans: i32, _alpha: Ptr, _a: u64, _x: u64, _beta: Ptr, _y: u64,
            _compute: i32, _algorithm: i32, _buffer: u64)
        => nothing(handle);
    [(): cusparseSpMV]
        (handle: u64, trans: i32, alpha: Ptr, a: u64, x: u64, beta: Ptr, y: u64, compute: i32,
            _algorithm: i32, _buffer: u64)
        => in_type!(compute, T => products::spmv::<T>(handle, trans, alpha, [a, x, y], beta,
            compute));
    [(): cusparseSpMM_bufferSize]
        (handle: u64, _trans_a: i32, _trans_b: i32, _alpha: Ptr, _a: u64, _b: u64, _beta: Ptr,
            _c: u64, _compute: i32, _algorithm: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSpMM_preprocess]
        (handle: u64, _trans_a: i32, _trans_b: i32, _alpha: Ptr, _a: u64, _b: u64, _beta: Ptr,
            _c: u64, _compute: i32, _algorithm: i32, _buffer: u64)
        => nothing(handle);
    [(): cusparseSpMM]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, _buffer: u64)
        => in_type!(compute, T => products::spmm::<T>(handle, [trans_a, trans_b], alpha, [a, b, c],
            beta, compute));
    [(): cusparseSDDMM_bufferSize]
        (handle: u64, _trans_a: i32, _trans_b: i32, _alpha: Ptr, _a: u64, _b: u64, _beta: Ptr,
            _c: u64, _compute: i32, _algorithm: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSDDMM_preprocess]
        (handle: u64, _trans_a: i32, _trans_b: i32, _alpha: Ptr, _a: u64, _b: u64, _beta: Ptr,
            _c: u64, _compute: i32, _algorithm: i32, _buffer: u64)
        => nothing(handle);
    [(): cusparseSDDMM]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, _buffer: u64)
        => in_type!(compute, T => products::sddmm::<T>(handle, [trans_a, trans_b], alpha, [a, b, c],
            beta, compute));
    [(): cusparseSpVV_bufferSize]
        (handle: u64, _trans: i32, _x: u64, _y: u64, _out: Ptr, _compute: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSpVV]
        (handle: u64, trans: i32, x: u64, y: u64, out: Ptr, compute: i32, _buffer: u64)
        => in_type!(compute, T => products::spvv::<T>(handle, trans, x, y, out, compute));
    [(): cusparseAxpby]
        (handle: u64, alpha: Ptr, x: u64, beta: Ptr, y: u64)
        => in_type!(vector_type(y)?, T => products::axpby::<T>(handle, alpha, x, beta, y));
    [(): cusparseGather]
        (handle: u64, y: u64, x: u64)
        => in_type!(vector_type(y)?, T => products::gather::<T>(handle, y, x, false));
    [(): cusparseScatter]
        (handle: u64, x: u64, y: u64)
        => in_type!(vector_type(y)?, T => products::gather::<T>(handle, y, x, true));
    [(): cusparseRot]
        (handle: u64, c: Ptr, s: Ptr, x: u64, y: u64)
        => in_type!(vector_type(y)?, T => products::rot::<T>(handle, c, s, x, y));
    [(): cusparseSparseToDense_bufferSize]
        (handle: u64, _a: u64, _b: u64, _algorithm: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSparseToDense]
        (handle: u64, a: u64, b: u64, _algorithm: i32, _buffer: u64)
        => in_type!(matrix_type(b)?, T => convert::to_dense::<T>(handle, a, b));
    [(): cusparseDenseToSparse_bufferSize]
        (handle: u64, _a: u64, _b: u64, _algorithm: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseDenseToSparse_analysis]
        (handle: u64, a: u64, b: u64, _algorithm: i32, _buffer: u64)
        => in_type!(matrix_type(a)?, T => convert::analyse_dense::<T>(handle, a, b));
    [(): cusparseDenseToSparse_convert]
        (handle: u64, a: u64, b: u64, _algorithm: i32, _buffer: u64)
        => in_type!(matrix_type(a)?, T => convert::to_sparse::<T>(handle, a, b));
    [(): cusparseSpSV_createDescr]
        (out: Ptr)
        => solve::create(out);
    [(): cusparseSpSV_destroyDescr]
        (descriptor: u64)
        => solve::destroy(descriptor);
    [(): cusparseSpSV_bufferSize]
        (handle: u64, _trans: i32, _alpha: Ptr, _a: u64, _x: u64, _y: u64, _compute: i32,
            _algorithm: i32, _descriptor: u64, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSpSV_analysis]
        (handle: u64, _trans: i32, _alpha: Ptr, _a: u64, _x: u64, _y: u64, _compute: i32,
            _algorithm: i32, descriptor: u64, _buffer: u64)
        => solve::analysis(handle, descriptor);
    [(): cusparseSpSV_solve]
        (handle: u64, trans: i32, alpha: Ptr, a: u64, x: u64, y: u64, compute: i32, _algorithm: i32,
            descriptor: u64)
        => solve::analysis(handle, descriptor).and_then(|()| in_type!(compute, T =>
            solve::spsv::<T>(handle, trans, alpha, [a, x, y], compute)));
    [(): cusparseSpSM_createDescr]
        (out: Ptr)
        => solve::create(out);
    [(): cusparseSpSM_destroyDescr]
        (descriptor: u64)
        => solve::destroy(descriptor);
    [(): cusparseSpSM_bufferSize]
        (handle: u64, _trans_a: i32, _trans_b: i32, _alpha: Ptr, _a: u64, _b: u64, _c: u64,
            _compute: i32, _algorithm: i32, _descriptor: u64, size: Ptr)
        => buffer(handle, size);
    [(): cusparseSpSM_analysis]
        (handle: u64, _trans_a: i32, _trans_b: i32, _alpha: Ptr, _a: u64, _b: u64, _c: u64,
            _compute: i32, _algorithm: i32, descriptor: u64, _buffer: u64)
        => solve::analysis(handle, descriptor);
    [(): cusparseSpSM_solve]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, c: u64, compute: i32,
            _algorithm: i32, descriptor: u64)
        => solve::analysis(handle, descriptor).and_then(|()| in_type!(compute, T =>
            solve::spsm::<T>(handle, [trans_a, trans_b], alpha, [a, b, c], compute)));
    [(): cusparseSpGEMM_createDescr]
        (out: Ptr)
        => spgemm::create(out);
    [(): cusparseSpGEMM_destroyDescr]
        (descriptor: u64)
        => spgemm::destroy(descriptor);
    [(): cusparseSpGEMM_workEstimation]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, descriptor: u64, size: Ptr, buffer: u64)
        => spgemm::estimate(handle, Operands { ops: [trans_a, trans_b], alpha, a, b, beta, c,
            compute, descriptor }, size, buffer);
    [(): cusparseSpGEMM_compute]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, descriptor: u64, size: Ptr, buffer: u64)
        => in_type!(compute, T => spgemm::compute::<T>(handle, Operands { ops: [trans_a, trans_b],
            alpha, a, b, beta, c, compute, descriptor }, size, buffer));
    [(): cusparseSpGEMM_copy]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, descriptor: u64)
        => in_type!(compute, T => spgemm::copy::<T>(handle, Operands { ops: [trans_a, trans_b],
            alpha, a, b, beta, c, compute, descriptor }));
    [(): cusparseSpGEMM_getNumProducts]
        (descriptor: u64, out: Ptr)
        => spgemm::number(descriptor, out);
    [(): cusparseSpGEMM_estimateMemory]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, descriptor: u64, _fraction: f32, size: Ptr, buffer: u64,
            compute_size: Ptr)
        => spgemm::estimate_both(handle, Operands { ops: [trans_a, trans_b], alpha, a, b, beta, c,
            compute, descriptor }, size, buffer, compute_size);
    [(): cusparseSpGEMMreuse_workEstimation]
        (handle: u64, trans_a: i32, trans_b: i32, a: u64, b: u64, c: u64, _algorithm: i32,
            descriptor: u64, size: Ptr, buffer: u64)
        => spgemm::estimate(handle, Operands { ops: [trans_a, trans_b], alpha: 0, a, b, beta: 0, c,
            compute: sparse_type(c)?, descriptor }, size, buffer);
    [(): cusparseSpGEMMreuse_nnz]
        (handle: u64, trans_a: i32, trans_b: i32, a: u64, b: u64, c: u64, _algorithm: i32,
            descriptor: u64, size: Ptr, buffer: u64, size_2: Ptr, _buffer_2: u64, size_3: Ptr,
            _buffer_3: u64)
        => spgemm::count_places(handle, Operands { ops: [trans_a, trans_b], alpha: 0, a, b, beta: 0,
            c, compute: sparse_type(c)?, descriptor }, [size, size_2, size_3], buffer);
    [(): cusparseSpGEMMreuse_copy]
        (handle: u64, trans_a: i32, trans_b: i32, a: u64, b: u64, c: u64, _algorithm: i32,
            descriptor: u64, size: Ptr, buffer: u64)
        => spgemm::copy_places(handle, Operands { ops: [trans_a, trans_b], alpha: 0, a, b, beta: 0,
            c, compute: sparse_type(c)?, descriptor }, size, buffer);
    [(): cusparseSpGEMMreuse_compute]
        (handle: u64, trans_a: i32, trans_b: i32, alpha: Ptr, a: u64, b: u64, beta: Ptr, c: u64,
            compute: i32, _algorithm: i32, descriptor: u64)
        => in_type!(compute, T => spgemm::recompute::<T>(handle, Operands { ops: [trans_a, trans_b],
            alpha, a, b, beta, c, compute, descriptor }));
}
