//! Handles, modes, versions, transfers.

use culibs::Ptr;

use super::MATH_MODES;
use crate::settings;
use crate::transfer::{self, Shape};

culibs::family! {
    enter;
    [(): cublasCreate_v2]
        (out: Ptr)
        => settings::create(out);
    [(): cublasDestroy_v2]
        (handle: u64)
        => settings::destroy(handle);
    [(): cublasGetVersion_v2]
        (handle: u64, out: Ptr)
        => settings::get_version(handle, out);
    [(): cublasGetProperty]
        (kind: i32, out: Ptr)
        => settings::property(kind, out);
    [(): cublasSetWorkspace_v2]
        (handle: u64, workspace: u64, size: usize)
        => settings::set_workspace(handle, workspace, size);
    [(): cublasSetStream_v2]
        (handle: u64, stream: u64)
        => settings::set_stream(handle, stream);
    [(): cublasGetStream_v2]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.stream);
    [(): cublasSetPointerMode_v2]
        (handle: u64, mode: i32)
        => settings::set(handle, mode, &[0, 1], |h, mode| h.on_device = mode == 1);
    [(): cublasGetPointerMode_v2]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| i32::from(h.on_device));
    [(): cublasSetAtomicsMode]
        (handle: u64, mode: i32)
        => settings::set(handle, mode, &[0, 1], |h, mode| h.atomics = mode);
    [(): cublasGetAtomicsMode]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.atomics);
    [(): cublasSetMathMode]
        (handle: u64, mode: i32)
        => settings::set(handle, mode, MATH_MODES, |h, mode| h.math = mode);
    [(): cublasGetMathMode]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.math);
    [(): cublasSetSmCountTarget]
        (handle: u64, count: i32)
        => settings::set_multiprocessors(handle, count);
    [(): cublasGetSmCountTarget]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.multiprocessors);
    [(): cublasSetEmulationStrategy]
        (handle: u64, strategy: i32)
        => settings::set(handle, strategy, &[0, 1, 2], |h, strategy| h.emulation = strategy);
    [(): cublasGetEmulationStrategy]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.emulation);
    [(): cublasLoggerConfigure]
        (_on: i32, _out: i32, _err: i32, _file: Ptr)
        => Ok(());
    [(): cublasSetLoggerCallback]
        (_callback: Ptr)
        => Ok(());
    [(): cublasGetLoggerCallback]
        (out: Ptr)
        => culibs::device::put_host(out, 0_u64);
    [(): cublasSetVector cublasSetVector_64]
        (n: Int, size: Int, from: Ptr, incx: Int, to: u64, incy: Int)
        => transfer::set(Shape::vector(n.into(), size.into(), incx.into(), incy.into()), from, to,
            0);
    [(): cublasGetVector cublasGetVector_64]
        (n: Int, size: Int, from: u64, incx: Int, to: Ptr, incy: Int)
        => transfer::get(Shape::vector(n.into(), size.into(), incx.into(), incy.into()), from, to,
            0);
    [(): cublasSetVectorAsync cublasSetVectorAsync_64]
        (n: Int, size: Int, from: Ptr, incx: Int, to: u64, incy: Int, stream: u64)
        => transfer::set(Shape::vector(n.into(), size.into(), incx.into(), incy.into()), from, to,
            stream);
    [(): cublasGetVectorAsync cublasGetVectorAsync_64]
        (n: Int, size: Int, from: u64, incx: Int, to: Ptr, incy: Int, stream: u64)
        => transfer::get(Shape::vector(n.into(), size.into(), incx.into(), incy.into()), from, to,
            stream);
    [(): cublasSetMatrix cublasSetMatrix_64]
        (rows: Int, cols: Int, size: Int, from: Ptr, lda: Int, to: u64, ldb: Int)
        => transfer::set(Shape { element: size.into(), rows: rows.into(), cols: cols.into(),
            from: lda.into(), to: ldb.into() }, from, to, 0);
    [(): cublasGetMatrix cublasGetMatrix_64]
        (rows: Int, cols: Int, size: Int, from: u64, lda: Int, to: Ptr, ldb: Int)
        => transfer::get(Shape { element: size.into(), rows: rows.into(), cols: cols.into(),
            from: lda.into(), to: ldb.into() }, from, to, 0);
    [(): cublasSetMatrixAsync cublasSetMatrixAsync_64]
        (rows: Int, cols: Int, size: Int, from: Ptr, lda: Int, to: u64, ldb: Int, stream: u64)
        => transfer::set(Shape { element: size.into(), rows: rows.into(), cols: cols.into(),
            from: lda.into(), to: ldb.into() }, from, to, stream);
    [(): cublasGetMatrixAsync cublasGetMatrixAsync_64]
        (rows: Int, cols: Int, size: Int, from: u64, lda: Int, to: Ptr, ldb: Int, stream: u64)
        => transfer::get(Shape { element: size.into(), rows: rows.into(), cols: cols.into(),
            from: lda.into(), to: ldb.into() }, from, to, stream);
    [(): cublasSetFixedPointEmulationMantissaControl]
        (handle: u64, value: i32)
        => settings::set(handle, value, &[0, 1], |h, value| h.fixed_point.control = value);
    [(): cublasGetFixedPointEmulationMantissaControl]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.fixed_point.control);
    [(): cublasSetFixedPointEmulationMaxMantissaBitCount]
        (handle: u64, value: i32)
        => settings::set_if(handle, value, |&value| value >= 0,
            |h, value| h.fixed_point.most_bits = value);
    [(): cublasGetFixedPointEmulationMaxMantissaBitCount]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.fixed_point.most_bits);
    [(): cublasSetFixedPointEmulationMantissaBitOffset]
        (handle: u64, value: i32)
        => settings::set_if(handle, value, |_| true, |h, value| h.fixed_point.bit_offset = value);
    [(): cublasGetFixedPointEmulationMantissaBitOffset]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.fixed_point.bit_offset);
    [(): cublasSetEmulationSpecialValuesSupport]
        (handle: u64, value: i32)
        => settings::set_if(handle, value, |value| (0..=0xffff).contains(value),
            |h, value| h.fixed_point.special_values = value);
    [(): cublasGetEmulationSpecialValuesSupport]
        (handle: u64, out: Ptr)
        => settings::read(handle, out, |h| h.fixed_point.special_values);
}
