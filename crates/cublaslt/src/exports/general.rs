//! Handles, descriptors, products.

use culibs::Ptr;
use culibs::device::put_host;

use crate::algorithm;
use crate::handle;
use crate::layout;
use crate::matmul::{self, Addresses, Layouts};
use crate::objects::{self, Object, ObjectKind};
use crate::transform;

culibs::family! {
    enter;
    [(): cublasLtCreate](out: Ptr) => handle::create(out);
    [(): cublasLtDestroy](handle: u64) => handle::destroy(handle);
    [(): cublasLtGetProperty](kind: i32, out: Ptr) => super::property(kind, out);
    [(): cublasLtHeuristicsCacheGetCapacity](out: Ptr) => put_host(out, 0_usize);
    [(): cublasLtHeuristicsCacheSetCapacity](_capacity: usize) => Ok(());
    [(): cublasLtLoggerSetCallback; (): cublasLtLoggerSetFile; (): cublasLtLoggerOpenFile]
        (_where: Ptr) => Ok(());
    [(): cublasLtLoggerSetLevel; (): cublasLtLoggerSetMask](_what: i32) => Ok(());
    [(): cublasLtLoggerForceDisable]() => Ok(());

    [(): cublasLtMatrixLayoutInit_internal]
        (at: Ptr, size: usize, dtype: i32, rows: u64, cols: u64, ld: i64)
        => objects::make(at, size, layout::object(dtype, rows, cols, ld));
    [(): cublasLtMatrixLayoutCreate](out: Ptr, dtype: i32, rows: u64, cols: u64, ld: i64)
        => objects::create(out, layout::object(dtype, rows, cols, ld));
    [(): cublasLtMatmulDescInit_internal](at: Ptr, size: usize, compute: i32, scale: i32)
        => objects::make(at, size, matmul::object(compute, scale));
    [(): cublasLtMatmulDescCreate](out: Ptr, compute: i32, scale: i32)
        => objects::create(out, matmul::object(compute, scale));
    [(): cublasLtMatrixTransformDescInit_internal](at: Ptr, size: usize, scale: i32)
        => objects::make(at, size, transform::object(scale));
    [(): cublasLtMatrixTransformDescCreate](out: Ptr, scale: i32)
        => objects::create(out, transform::object(scale));
    [(): cublasLtMatmulPreferenceInit_internal](at: Ptr, size: usize)
        => objects::make(at, size, Object::new(ObjectKind::Preference));
    [(): cublasLtMatmulPreferenceCreate](out: Ptr)
        => objects::create(out, Object::new(ObjectKind::Preference));
    [(): cublasLtMatrixLayoutDestroy; (): cublasLtMatmulDescDestroy;
     (): cublasLtMatrixTransformDescDestroy; (): cublasLtMatmulPreferenceDestroy]
        (descriptor: u64) => objects::destroy(descriptor);
    [(): cublasLtMatrixLayoutSetAttribute](object: u64, attribute: i32, from: Ptr, size: usize)
        => objects::set(object, ObjectKind::Layout, attribute, from, size);
    [(): cublasLtMatmulDescSetAttribute](object: u64, attribute: i32, from: Ptr, size: usize)
        => objects::set(object, ObjectKind::Matmul, attribute, from, size);
    [(): cublasLtMatrixTransformDescSetAttribute]
        (object: u64, attribute: i32, from: Ptr, size: usize)
        => objects::set(object, ObjectKind::Transform, attribute, from, size);
    [(): cublasLtMatmulPreferenceSetAttribute]
        (object: u64, attribute: i32, from: Ptr, size: usize)
        => objects::set(object, ObjectKind::Preference, attribute, from, size);
    [(): cublasLtMatrixLayoutGetAttribute]
        (object: u64, attribute: i32, to: Ptr, size: usize, written: Ptr)
        => objects::get(object, ObjectKind::Layout, attribute, to, size, written);
    [(): cublasLtMatmulDescGetAttribute]
        (object: u64, attribute: i32, to: Ptr, size: usize, written: Ptr)
        => objects::get(object, ObjectKind::Matmul, attribute, to, size, written);
    [(): cublasLtMatrixTransformDescGetAttribute]
        (object: u64, attribute: i32, to: Ptr, size: usize, written: Ptr)
        => objects::get(object, ObjectKind::Transform, attribute, to, size, written);
    [(): cublasLtMatmulPreferenceGetAttribute]
        (object: u64, attribute: i32, to: Ptr, size: usize, written: Ptr)
        => objects::get(object, ObjectKind::Preference, attribute, to, size, written);

    [(): cublasLtMatmul]
        (handle: u64, description: u64, alpha: Ptr, a: u64, a_layout: u64, b: u64, b_layout: u64,
         beta: Ptr, c: u64, c_layout: u64, d: u64, d_layout: u64, _algorithm: Ptr,
         _workspace: u64, _workspace_size: usize, stream: u64)
        => matmul::run(handle, description,
            Layouts { a: a_layout, b: b_layout, c: c_layout, d: d_layout },
            Addresses { alpha, a, b, beta, c, d }, stream);
    [(): cublasLtMatrixTransform]
        (handle: u64, description: u64, alpha: Ptr, a: u64, a_layout: u64, beta: Ptr, b: u64,
         b_layout: u64, c: u64, c_layout: u64, stream: u64)
        => transform::run(handle, description, (alpha, (a, a_layout)), (beta, (b, b_layout)),
            (c, c_layout), stream);
    [(): cublasLtMatmulAlgoGetHeuristic]
        (handle: u64, description: u64, a: u64, b: u64, c: u64, d: u64, _preference: u64,
         requested: i32, out: Ptr, count: Ptr)
        => algorithm::heuristic(handle, description, Layouts { a, b, c, d }, requested, out, count);
    [(): cublasLtMatmulAlgoGetIds]
        (handle: u64, _compute: i32, _scale: i32, _a: i32, _b: i32, _c: i32, _d: i32,
         requested: i32, out: Ptr, count: Ptr)
        => algorithm::ids(handle, requested, out, count);
    [(): cublasLtMatmulAlgoInit]
        (handle: u64, _compute: i32, _scale: i32, _a: i32, _b: i32, _c: i32, _d: i32, id: i32,
         out: Ptr)
        => algorithm::make(handle, id, out);
    [(): cublasLtMatmulAlgoCheck]
        (handle: u64, description: u64, a: u64, b: u64, c: u64, d: u64, algorithm: Ptr, out: Ptr)
        => algorithm::check_for(handle, description, Layouts { a, b, c, d }, algorithm, out);
    [(): cublasLtMatmulAlgoConfigSetAttribute]
        (algorithm: Ptr, attribute: i32, from: Ptr, size: usize)
        => algorithm::set(algorithm, attribute, from, size);
    [(): cublasLtMatmulAlgoConfigGetAttribute]
        (algorithm: Ptr, attribute: i32, out: Ptr, size: usize, written: Ptr)
        => algorithm::get(algorithm, attribute, out, size, written);
    [(): cublasLtMatmulAlgoCapGetAttribute]
        (algorithm: Ptr, attribute: i32, out: Ptr, size: usize, written: Ptr)
        => algorithm::capability(algorithm, attribute, out, size, written);
}
