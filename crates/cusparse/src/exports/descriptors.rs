//! Handles and descriptors.

use culibs::Ptr;
use culibs::device::put_host;

use crate::objects::{DENSE, Format, SPARSE, SPARSE_VECTORS, VECTORS, find};
use crate::{handle, legacy, objects};

culibs::family! {
    enter;
    [(): cusparseCreate]
        (out: Ptr)
        => handle::create(out);
    [(): cusparseDestroy]
        (handle: u64)
        => handle::destroy(handle);
    [(): cusparseGetVersion]
        (handle: u64, out: Ptr)
        => super::version(handle, out);
    [(): cusparseGetProperty]
        (kind: i32, out: Ptr)
        => super::property(kind, out);
    [(): cusparseSetStream]
        (handle: u64, stream: u64)
        => handle::set_stream(handle, stream);
    [(): cusparseGetStream]
        (handle: u64, out: Ptr)
        => handle::stream(handle, out);
    [(): cusparseSetPointerMode]
        (handle: u64, mode: i32)
        => handle::set_mode(handle, mode);
    [(): cusparseGetPointerMode]
        (handle: u64, out: Ptr)
        => handle::mode(handle, out);
    [(): cusparseCreateMatDescr]
        (out: Ptr)
        => legacy::create(out);
    [(): cusparseDestroyMatDescr]
        (descriptor: u64)
        => legacy::destroy(descriptor);
    [(): cusparseSetMatType]
        (descriptor: u64, value: i32)
        => legacy::set(descriptor, 0, value, 3);
    [(): cusparseSetMatFillMode]
        (descriptor: u64, value: i32)
        => legacy::set(descriptor, 1, value, 1);
    [(): cusparseSetMatDiagType]
        (descriptor: u64, value: i32)
        => legacy::set(descriptor, 2, value, 1);
    [(): cusparseSetMatIndexBase]
        (descriptor: u64, value: i32)
        => legacy::set(descriptor, 3, value, 1);
    [(): cusparseCreateCsr]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, first: u64, second: u64, values: u64,
            first_index: i32, second_index: i32, base: i32, dtype: i32)
        => objects::create_sparse(out, Format::Csr, [rows, cols, nnz], [first, second, values],
            [first_index, second_index, base, dtype]);
    [(): cusparseCreateCsc]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, first: u64, second: u64, values: u64,
            first_index: i32, second_index: i32, base: i32, dtype: i32)
        => objects::create_sparse(out, Format::Csc, [rows, cols, nnz], [first, second, values],
            [first_index, second_index, base, dtype]);
    [(): cusparseCreateCoo]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, first: u64, second: u64, values: u64, index: i32,
            base: i32, dtype: i32)
        => objects::create_sparse(out, Format::Coo, [rows, cols, nnz], [first, second, values],
            [index, index, base, dtype]);
    [(): cusparseCreateSpVec]
        (out: Ptr, len: i64, nnz: i64, indices: u64, values: u64, index: i32, base: i32, dtype: i32)
        => objects::create_sparse_vector(out, [len, nnz], [indices, values], [index, base, dtype]);
    [(): cusparseCreateDnVec]
        (out: Ptr, len: i64, values: u64, dtype: i32)
        => objects::create_vector(out, len, values, dtype);
    [(): cusparseCreateDnMat]
        (out: Ptr, rows: i64, cols: i64, ld: i64, values: u64, dtype: i32, order: i32)
        => objects::create_dense(out, [rows, cols, ld], values, dtype, order);
    [(): cusparseCsrGet]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr, first: Ptr, second: Ptr, values: Ptr,
            first_index: Ptr, second_index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_sparse(m, Format::Csr, [rows, cols, nnz], [first, second, values],
            &[first_index, second_index, base, dtype]);
    [(): cusparseCscGet]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr, first: Ptr, second: Ptr, values: Ptr,
            first_index: Ptr, second_index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_sparse(m, Format::Csc, [rows, cols, nnz], [first, second, values],
            &[first_index, second_index, base, dtype]);
    [(): cusparseCooGet]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr, first: Ptr, second: Ptr, values: Ptr, index: Ptr,
            base: Ptr, dtype: Ptr)
        => objects::tell_sparse(m, Format::Coo, [rows, cols, nnz], [first, second, values], &[index,
            base, dtype]);
    [(): cusparseSpMatGetValues]
        (m: u64, out: Ptr)
        => put_host(out, find(&SPARSE, m)?.values);
    [(): cusparseSpVecGet]
        (v: u64, len: Ptr, nnz: Ptr, indices: Ptr, values: Ptr, index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_sparse_vector(v, [len, nnz], [indices, values], [index, base, dtype]);
    [(): cusparseSpVecGetValues]
        (v: u64, out: Ptr)
        => put_host(out, find(&SPARSE_VECTORS, v)?.values);
    [(): cusparseDnVecGet]
        (v: u64, len: Ptr, values: Ptr, dtype: Ptr)
        => objects::tell_vector(v, len, values, dtype);
    [(): cusparseDnVecGetValues]
        (v: u64, out: Ptr)
        => put_host(out, find(&VECTORS, v)?.values);
    [(): cusparseDnMatGet]
        (m: u64, rows: Ptr, cols: Ptr, ld: Ptr, values: Ptr, dtype: Ptr, order: Ptr)
        => objects::tell_dense(m, [rows, cols, ld], values, dtype, order);
    [(): cusparseDnMatGetValues]
        (m: u64, out: Ptr)
        => put_host(out, find(&DENSE, m)?.values);
    [(): cusparseCreateConstCsr]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, first: u64, second: u64, values: u64,
            first_index: i32, second_index: i32, base: i32, dtype: i32)
        => objects::create_sparse(out, Format::Csr, [rows, cols, nnz], [first, second, values],
            [first_index, second_index, base, dtype]);
    [(): cusparseCreateConstCsc]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, first: u64, second: u64, values: u64,
            first_index: i32, second_index: i32, base: i32, dtype: i32)
        => objects::create_sparse(out, Format::Csc, [rows, cols, nnz], [first, second, values],
            [first_index, second_index, base, dtype]);
    [(): cusparseCreateConstCoo]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, first: u64, second: u64, values: u64, index: i32,
            base: i32, dtype: i32)
        => objects::create_sparse(out, Format::Coo, [rows, cols, nnz], [first, second, values],
            [index, index, base, dtype]);
    [(): cusparseCreateConstSpVec]
        (out: Ptr, len: i64, nnz: i64, indices: u64, values: u64, index: i32, base: i32, dtype: i32)
        => objects::create_sparse_vector(out, [len, nnz], [indices, values], [index, base, dtype]);
    [(): cusparseCreateConstDnVec]
        (out: Ptr, len: i64, values: u64, dtype: i32)
        => objects::create_vector(out, len, values, dtype);
    [(): cusparseCreateConstDnMat]
        (out: Ptr, rows: i64, cols: i64, ld: i64, values: u64, dtype: i32, order: i32)
        => objects::create_dense(out, [rows, cols, ld], values, dtype, order);
    [(): cusparseConstCsrGet]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr, first: Ptr, second: Ptr, values: Ptr,
            first_index: Ptr, second_index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_sparse(m, Format::Csr, [rows, cols, nnz], [first, second, values],
            &[first_index, second_index, base, dtype]);
    [(): cusparseConstCscGet]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr, first: Ptr, second: Ptr, values: Ptr,
            first_index: Ptr, second_index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_sparse(m, Format::Csc, [rows, cols, nnz], [first, second, values],
            &[first_index, second_index, base, dtype]);
    [(): cusparseConstCooGet]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr, first: Ptr, second: Ptr, values: Ptr, index: Ptr,
            base: Ptr, dtype: Ptr)
        => objects::tell_sparse(m, Format::Coo, [rows, cols, nnz], [first, second, values], &[index,
            base, dtype]);
    [(): cusparseConstSpMatGetValues]
        (m: u64, out: Ptr)
        => put_host(out, find(&SPARSE, m)?.values);
    [(): cusparseConstSpVecGet]
        (v: u64, len: Ptr, nnz: Ptr, indices: Ptr, values: Ptr, index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_sparse_vector(v, [len, nnz], [indices, values], [index, base, dtype]);
    [(): cusparseConstSpVecGetValues]
        (v: u64, out: Ptr)
        => put_host(out, find(&SPARSE_VECTORS, v)?.values);
    [(): cusparseConstDnVecGet]
        (v: u64, len: Ptr, values: Ptr, dtype: Ptr)
        => objects::tell_vector(v, len, values, dtype);
    [(): cusparseConstDnVecGetValues]
        (v: u64, out: Ptr)
        => put_host(out, find(&VECTORS, v)?.values);
    [(): cusparseConstDnMatGet]
        (m: u64, rows: Ptr, cols: Ptr, ld: Ptr, values: Ptr, dtype: Ptr, order: Ptr)
        => objects::tell_dense(m, [rows, cols, ld], values, dtype, order);
    [(): cusparseConstDnMatGetValues]
        (m: u64, out: Ptr)
        => put_host(out, find(&DENSE, m)?.values);
    [(): cusparseDestroySpMat]
        (m: u64)
        => objects::remove(&SPARSE, m);
    [(): cusparseDestroySpVec]
        (v: u64)
        => objects::remove(&SPARSE_VECTORS, v);
    [(): cusparseDestroyDnVec]
        (v: u64)
        => objects::remove(&VECTORS, v);
    [(): cusparseDestroyDnMat]
        (m: u64)
        => objects::remove(&DENSE, m);
    [(): cusparseSpMatGetFormat]
        (m: u64, out: Ptr)
        => objects::tell_format(m, out);
    [(): cusparseSpMatGetIndexBase]
        (m: u64, out: Ptr)
        => objects::tell_base(m, out);
    [(): cusparseSpMatSetValues]
        (m: u64, values: u64)
        => objects::change(&SPARSE, m, |m| m.values = values);
    [(): cusparseSpMatGetSize]
        (m: u64, rows: Ptr, cols: Ptr, nnz: Ptr)
        => objects::tell_size(m, [rows, cols, nnz]);
    [(): cusparseSpMatGetStridedBatch]
        (m: u64, out: Ptr)
        => objects::tell_sparse_batches(m, out);
    [(): cusparseSpMatGetAttribute]
        (m: u64, attribute: i32, out: Ptr, size: usize)
        => objects::attribute(m, attribute, out, size);
    [(): cusparseSpMatSetAttribute]
        (m: u64, attribute: i32, data: Ptr, size: usize)
        => objects::set_attribute(m, attribute, data, size);
    [(): cusparseCsrSetPointers]
        (m: u64, first: u64, second: u64, values: u64)
        => objects::set_pointers(m, Format::Csr, [first, second, values]);
    [(): cusparseCscSetPointers]
        (m: u64, first: u64, second: u64, values: u64)
        => objects::set_pointers(m, Format::Csc, [first, second, values]);
    [(): cusparseCooSetPointers]
        (m: u64, first: u64, second: u64, values: u64)
        => objects::set_pointers(m, Format::Coo, [first, second, values]);
    [(): cusparseSpVecGetIndexBase]
        (v: u64, out: Ptr)
        => put_host(out, find(&SPARSE_VECTORS, v)?.base as i32);
    [(): cusparseSpVecSetValues]
        (v: u64, values: u64)
        => objects::change(&SPARSE_VECTORS, v, |v| v.values = values);
    [(): cusparseDnVecSetValues]
        (v: u64, values: u64)
        => objects::change(&VECTORS, v, |v| v.values = values);
    [(): cusparseDnMatSetValues]
        (m: u64, values: u64)
        => objects::change(&DENSE, m, |m| m.values = values);
    [(): cusparseDnMatSetStridedBatch]
        (m: u64, batches: i32, distance: i64)
        => objects::set_batches(m, batches, distance);
    [(): cusparseDnMatGetStridedBatch]
        (m: u64, batches: Ptr, distance: Ptr)
        => objects::tell_batches(m, batches, distance);
    [(): cusparseCreateBsr]
        (out: Ptr, rows: i64, cols: i64, blocks: i64, height: i64, width: i64, first: u64,
            second: u64, values: u64, first_index: i32, second_index: i32, base: i32, dtype: i32,
            order: i32)
        => objects::create_bsr(out, [rows, cols, blocks], [height, width], [first, second, values],
            [first_index, second_index, base, dtype], order);
    [(): cusparseCreateBlockedEll]
        (out: Ptr, rows: i64, cols: i64, block: i64, width: i64, indices: u64, values: u64,
            index: i32, base: i32, dtype: i32)
        => objects::create_blocked_ell(out, [rows, cols, block, width], [indices, values],
            [index, base, dtype]);
    [(): cusparseCreateSlicedEll]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, stored: i64, slice: i64, first: u64, second: u64,
            values: u64, first_index: i32, second_index: i32, base: i32, dtype: i32)
        => objects::create_sliced_ell(out, [rows, cols, nnz], [stored, slice],
            [first, second, values], [first_index, second_index, base, dtype]);
    [(): cusparseBlockedEllGet]
        (m: u64, rows: Ptr, cols: Ptr, block: Ptr, width: Ptr, indices: Ptr, values: Ptr,
            index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_blocked_ell(m, [rows, cols, block, width], [indices, values],
            [index, base, dtype]);
    [(): cusparseCreateConstBsr]
        (out: Ptr, rows: i64, cols: i64, blocks: i64, height: i64, width: i64, first: u64,
            second: u64, values: u64, first_index: i32, second_index: i32, base: i32, dtype: i32,
            order: i32)
        => objects::create_bsr(out, [rows, cols, blocks], [height, width], [first, second, values],
            [first_index, second_index, base, dtype], order);
    [(): cusparseCreateConstBlockedEll]
        (out: Ptr, rows: i64, cols: i64, block: i64, width: i64, indices: u64, values: u64,
            index: i32, base: i32, dtype: i32)
        => objects::create_blocked_ell(out, [rows, cols, block, width], [indices, values],
            [index, base, dtype]);
    [(): cusparseCreateConstSlicedEll]
        (out: Ptr, rows: i64, cols: i64, nnz: i64, stored: i64, slice: i64, first: u64, second: u64,
            values: u64, first_index: i32, second_index: i32, base: i32, dtype: i32)
        => objects::create_sliced_ell(out, [rows, cols, nnz], [stored, slice],
            [first, second, values], [first_index, second_index, base, dtype]);
    [(): cusparseConstBlockedEllGet]
        (m: u64, rows: Ptr, cols: Ptr, block: Ptr, width: Ptr, indices: Ptr, values: Ptr,
            index: Ptr, base: Ptr, dtype: Ptr)
        => objects::tell_blocked_ell(m, [rows, cols, block, width], [indices, values],
            [index, base, dtype]);
    [(): cusparseCsrSetStridedBatch]
        (m: u64, batches: i32, first: i64, others: i64)
        => objects::set_sparse_batches(m, |f| matches!(f, Format::Csr | Format::Csc), batches,
            [first, others, others]);
    [(): cusparseCooSetStridedBatch]
        (m: u64, batches: i32, step: i64)
        => objects::set_sparse_batches(m, |f| f == Format::Coo, batches, [step, step, step]);
    [(): cusparseBsrSetStridedBatch]
        (m: u64, batches: i32, first: i64, second: i64, values: i64)
        => objects::set_sparse_batches(m, |f| matches!(f, Format::Bsr { .. }), batches,
            [first, second, values]);
}
