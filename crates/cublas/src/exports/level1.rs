//! Functions of vectors.

use culibs::Ptr;
use linalg::{c32, c64};

use super::{Part, is_wide};
use crate::checked::vectors;

culibs::family! {
    enter;
    [f32: cublasSnrm2_v2 cublasSnrm2_v2_64;
     f64: cublasDnrm2_v2 cublasDnrm2_v2_64;
     c32: cublasScnrm2_v2 cublasScnrm2_v2_64;
     c64: cublasDznrm2_v2 cublasDznrm2_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, result: Ptr)
        => vectors::nrm2::<T>(handle, n.into(), (x, incx.into()), result);
    [f32: cublasSasum_v2 cublasSasum_v2_64;
     f64: cublasDasum_v2 cublasDasum_v2_64;
     c32: cublasScasum_v2 cublasScasum_v2_64;
     c64: cublasDzasum_v2 cublasDzasum_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, result: Ptr)
        => vectors::asum::<T>(handle, n.into(), (x, incx.into()), result);
    [f32: cublasSdot_v2 cublasSdot_v2_64;
     f64: cublasDdot_v2 cublasDdot_v2_64;
     c32: cublasCdotu_v2 cublasCdotu_v2_64;
     c64: cublasZdotu_v2 cublasZdotu_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int, result: Ptr)
        => vectors::dot::<T>(handle, n.into(), (x, incx.into()), (y, incy.into()), result, false);
    [c32: cublasCdotc_v2 cublasCdotc_v2_64;
     c64: cublasZdotc_v2 cublasZdotc_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int, result: Ptr)
        => vectors::dot::<T>(handle, n.into(), (x, incx.into()), (y, incy.into()), result, true);
    [f32: cublasIsamax_v2 cublasIsamax_v2_64;
     f64: cublasIdamax_v2 cublasIdamax_v2_64;
     c32: cublasIcamax_v2 cublasIcamax_v2_64;
     c64: cublasIzamax_v2 cublasIzamax_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, result: Ptr)
        => vectors::extreme::<T>(handle, n.into(), (x, incx.into()), result, true,
            is_wide::<Int>());
    [f32: cublasIsamin_v2 cublasIsamin_v2_64;
     f64: cublasIdamin_v2 cublasIdamin_v2_64;
     c32: cublasIcamin_v2 cublasIcamin_v2_64;
     c64: cublasIzamin_v2 cublasIzamin_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, result: Ptr)
        => vectors::extreme::<T>(handle, n.into(), (x, incx.into()), result, false,
            is_wide::<Int>());
    [f32: cublasSaxpy_v2 cublasSaxpy_v2_64;
     f64: cublasDaxpy_v2 cublasDaxpy_v2_64;
     c32: cublasCaxpy_v2 cublasCaxpy_v2_64;
     c64: cublasZaxpy_v2 cublasZaxpy_v2_64]
        (handle: u64, n: Int, alpha: Ptr, x: u64, incx: Int, y: u64, incy: Int)
        => vectors::axpy::<T>(handle, n.into(), alpha, (x, incx.into()), (y, incy.into()));
    [f32: cublasSscal_v2 cublasSscal_v2_64;
     f64: cublasDscal_v2 cublasDscal_v2_64;
     c32: cublasCscal_v2 cublasCscal_v2_64;
     c64: cublasZscal_v2 cublasZscal_v2_64]
        (handle: u64, n: Int, alpha: Ptr, x: u64, incx: Int)
        => vectors::scal::<T, T>(handle, n.into(), alpha, (x, incx.into()));
    [c32: cublasCsscal_v2 cublasCsscal_v2_64;
     c64: cublasZdscal_v2 cublasZdscal_v2_64]
        (handle: u64, n: Int, alpha: Ptr, x: u64, incx: Int)
        => vectors::scal::<T, Part<T>>(handle, n.into(), alpha, (x, incx.into()));
    [f32: cublasScopy_v2 cublasScopy_v2_64;
     f64: cublasDcopy_v2 cublasDcopy_v2_64;
     c32: cublasCcopy_v2 cublasCcopy_v2_64;
     c64: cublasZcopy_v2 cublasZcopy_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int)
        => vectors::copy::<T>(handle, n.into(), (x, incx.into()), (y, incy.into()));
    [f32: cublasSswap_v2 cublasSswap_v2_64;
     f64: cublasDswap_v2 cublasDswap_v2_64;
     c32: cublasCswap_v2 cublasCswap_v2_64;
     c64: cublasZswap_v2 cublasZswap_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int)
        => vectors::swap::<T>(handle, n.into(), (x, incx.into()), (y, incy.into()));
    [f32: cublasSrot_v2 cublasSrot_v2_64;
     f64: cublasDrot_v2 cublasDrot_v2_64;
     c32: cublasCrot_v2 cublasCrot_v2_64;
     c64: cublasZrot_v2 cublasZrot_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int, c: Ptr, s: Ptr)
        => vectors::rot::<T, T>(handle, n.into(), (x, incx.into()), (y, incy.into()), c, s);
    [c32: cublasCsrot_v2 cublasCsrot_v2_64;
     c64: cublasZdrot_v2 cublasZdrot_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int, c: Ptr, s: Ptr)
        => vectors::rot::<T, Part<T>>(handle, n.into(), (x, incx.into()), (y, incy.into()), c, s);
    [f32: cublasSrotg_v2;
     f64: cublasDrotg_v2;
     c32: cublasCrotg_v2;
     c64: cublasZrotg_v2]
        (handle: u64, a: Ptr, b: Ptr, c: Ptr, s: Ptr)
        => vectors::rotg::<T>(handle, a, b, c, s);
    [f32: cublasSrotm_v2 cublasSrotm_v2_64;
     f64: cublasDrotm_v2 cublasDrotm_v2_64]
        (handle: u64, n: Int, x: u64, incx: Int, y: u64, incy: Int, param: Ptr)
        => vectors::rotm::<T>(handle, n.into(), (x, incx.into()), (y, incy.into()), param);
    [f32: cublasSrotmg_v2;
     f64: cublasDrotmg_v2]
        (handle: u64, d1: Ptr, d2: Ptr, x1: Ptr, y1: Ptr, param: Ptr)
        => vectors::rotmg::<T>(handle, [d1, d2, x1, y1, param]);
    [(): cublasNrm2Ex cublasNrm2Ex_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, result: Ptr, result_type: i32,
            execution: i32)
        => vectors::nrm2_ex(handle, n.into(), (x, xtype, incx.into()), result, result_type,
            execution);
    [(): cublasAsumEx cublasAsumEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, result: Ptr, result_type: i32,
            execution: i32)
        => vectors::asum_ex(handle, n.into(), (x, xtype, incx.into()), result, result_type,
            execution);
    [(): cublasDotEx cublasDotEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, y: u64, ytype: i32, incy: Int,
            result: Ptr, result_type: i32, execution: i32)
        => vectors::dot_ex(handle, n.into(), (x, xtype, incx.into()), (y, ytype, incy.into()),
            (result, result_type), execution, false);
    [(): cublasDotcEx cublasDotcEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, y: u64, ytype: i32, incy: Int,
            result: Ptr, result_type: i32, execution: i32)
        => vectors::dot_ex(handle, n.into(), (x, xtype, incx.into()), (y, ytype, incy.into()),
            (result, result_type), execution, true);
    [(): cublasAxpyEx cublasAxpyEx_64]
        (handle: u64, n: Int, alpha: Ptr, alpha_type: i32, x: u64, xtype: i32, incx: Int, y: u64,
            ytype: i32, incy: Int, execution: i32)
        => vectors::axpy_ex(handle, n.into(), (alpha, alpha_type), (x, xtype, incx.into()),
            (y, ytype, incy.into()), execution);
    [(): cublasScalEx cublasScalEx_64]
        (handle: u64, n: Int, alpha: Ptr, alpha_type: i32, x: u64, xtype: i32, incx: Int,
            execution: i32)
        => vectors::scal_ex(handle, n.into(), (alpha, alpha_type), (x, xtype, incx.into()),
            execution);
    [(): cublasRotEx cublasRotEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, y: u64, ytype: i32, incy: Int, c: Ptr,
            s: Ptr, cs_type: i32, execution: i32)
        => vectors::rot_ex(handle, n.into(), (x, xtype, incx.into()), (y, ytype, incy.into()),
            (c, s, cs_type), execution);
    [(): cublasCopyEx cublasCopyEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, y: u64, ytype: i32, incy: Int)
        => vectors::copy_ex(handle, n.into(), (x, xtype, incx.into()), (y, ytype, incy.into()));
    [(): cublasSwapEx cublasSwapEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, y: u64, ytype: i32, incy: Int)
        => vectors::swap_ex(handle, n.into(), (x, xtype, incx.into()), (y, ytype, incy.into()));
    [(): cublasIamaxEx cublasIamaxEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, result: Ptr)
        => vectors::extreme_ex(handle, n.into(), (x, xtype, incx.into()), result, true,
            is_wide::<Int>());
    [(): cublasIaminEx cublasIaminEx_64]
        (handle: u64, n: Int, x: u64, xtype: i32, incx: Int, result: Ptr)
        => vectors::extreme_ex(handle, n.into(), (x, xtype, incx.into()), result, false,
            is_wide::<Int>());
}
