//! Functions of lists.

use culibs::Ptr;
use linalg::{c32, c64};

use super::wide_type;
use crate::handle::buffer;
use crate::legacy::{self, Summand};

culibs::family! {
    enter;
    [(): cusparseXcsr2coo]
        (handle: u64, from: u64, nnz: i32, lines: i32, to: u64, base: i32)
        => legacy::expand(handle, from, [nnz, lines], to, base);
    [(): cusparseXcoo2csr]
        (handle: u64, from: u64, nnz: i32, lines: i32, to: u64, base: i32)
        => legacy::compress(handle, from, [nnz, lines], to, base);
    [(): cusparseCreateIdentityPermutation]
        (handle: u64, n: i32, out: u64)
        => legacy::identity(handle, n, out);
    [(): cusparseXcoosort_bufferSizeExt; (): cusparseXcsrsort_bufferSizeExt; ():
        cusparseXcscsort_bufferSizeExt]
        (handle: u64, _m: i32, _n: i32, _nnz: i32, _first: u64, _second: u64, size: Ptr)
        => buffer(handle, size);
    [(): cusparseXcoosortByRow]
        (handle: u64, _m: i32, _n: i32, nnz: i32, rows: u64, cols: u64, order: u64, _buffer: u64)
        => legacy::sort_list(handle, nnz, rows, cols, order, false);
    [(): cusparseXcoosortByColumn]
        (handle: u64, _m: i32, _n: i32, nnz: i32, rows: u64, cols: u64, order: u64, _buffer: u64)
        => legacy::sort_list(handle, nnz, rows, cols, order, true);
    [(): cusparseXcsrsort]
        (handle: u64, m: i32, _n: i32, nnz: i32, descriptor: u64, first: u64, second: u64,
            order: u64, _buffer: u64)
        => legacy::sort_lines(handle, [m, nnz], descriptor, first, second, order);
    [(): cusparseXcscsort]
        (handle: u64, _m: i32, n: i32, nnz: i32, descriptor: u64, first: u64, second: u64,
            order: u64, _buffer: u64)
        => legacy::sort_lines(handle, [n, nnz], descriptor, first, second, order);
    [(): cusparseCsr2cscEx2_bufferSize]
        (handle: u64, _m: i32, _n: i32, _nnz: i32, _value: u64, _row: u64, _col: u64,
            _to_value: u64, _to_col: u64, _to_row: u64, _dtype: i32, _action: i32, _base: i32,
            _algorithm: i32, size: Ptr)
        => buffer(handle, size);
    [(): cusparseCsr2cscEx2]
        (handle: u64, m: i32, n: i32, nnz: i32, value: u64, row: u64, col: u64, to_value: u64,
            to_col: u64, to_row: u64, dtype: i32, action: i32, base: i32, _algorithm: i32,
            _buffer: u64)
        => in_type!(wide_type(dtype)?, T => legacy::transpose::<T>(handle, [m, n, nnz], [value, row,
            col], [to_value, to_col, to_row], (dtype, action, base)));
    [f32: cusparseScsrgeam2_bufferSizeExt; f64: cusparseDcsrgeam2_bufferSizeExt;
        c32: cusparseCcsrgeam2_bufferSizeExt; c64: cusparseZcsrgeam2_bufferSizeExt]
        (handle: u64, _m: i32, _n: i32, _alpha: Ptr, _a: u64, _nnza: i32, _valuesa: u64,
            _firsta: u64, _seconda: u64, _beta: Ptr, _b: u64, _nnzb: i32, _valuesb: u64,
            _firstb: u64, _secondb: u64, _c: u64, _valuesc: u64, _firstc: u64, _secondc: u64,
            size: Ptr)
        => buffer(handle, size);
    [(): cusparseXcsrgeam2Nnz]
        (handle: u64, m: i32, n: i32, a: u64, nnza: i32, firsta: u64, seconda: u64, b: u64,
            nnzb: i32, firstb: u64, secondb: u64, c: u64, firstc: u64, total: Ptr, _buffer: u64)
        => legacy::count_sum(handle, [m, n], Summand { descriptor: a, nnz: nnza, lists: [0, firsta,
            seconda] }, Summand { descriptor: b, nnz: nnzb, lists: [0, firstb, secondb] },
            (c, firstc), total);
    [f32: cusparseScsrgeam2; f64: cusparseDcsrgeam2; c32: cusparseCcsrgeam2; c64: cusparseZcsrgeam2]
        (handle: u64, m: i32, n: i32, alpha: Ptr, a: u64, nnza: i32, valuesa: u64, firsta: u64,
            seconda: u64, beta: Ptr, b: u64, nnzb: i32, valuesb: u64, firstb: u64, secondb: u64,
            c: u64, valuesc: u64, firstc: u64, secondc: u64, _buffer: u64)
        => legacy::sum::<T>(handle, [m, n], alpha, Summand { descriptor: a, nnz: nnza, lists:
            [valuesa, firsta, seconda] }, beta, Summand { descriptor: b, nnz: nnzb, lists: [valuesb,
            firstb, secondb] }, (c, [valuesc, firstc, secondc]));
    [f32: cusparseSnnz; f64: cusparseDnnz; c32: cusparseCnnz; c64: cusparseZnnz]
        (handle: u64, direction: i32, m: i32, n: i32, _descriptor: u64, a: u64, lda: i32, each: u64,
            total: Ptr)
        => legacy::count_dense::<T>(handle, direction, [m, n], (a, lda), each, total);
}
