//! Device memory, and the functions that the tests call.

use std::sync::OnceLock;

use cublas as _;
use cuda as _;
use culibs::Pod;
use culibs::driver::{
    cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit, cuMemAlloc_v2, cuMemcpyDtoH_v2,
    cuMemcpyHtoD_v2,
};

unsafe extern "C" {
    safe fn cublasCreate_v2(out: usize) -> i32;
    pub(crate) safe fn cublasDestroy_v2(handle: u64) -> i32;
    pub(crate) safe fn cublasSetStream_v2(handle: u64, stream: u64) -> i32;
    pub(crate) safe fn cublasSetPointerMode_v2(handle: u64, mode: i32) -> i32;
    pub(crate) safe fn cublasSaxpy_v2(
        handle: u64,
        n: i32,
        alpha: usize,
        x: u64,
        incx: i32,
        y: u64,
        incy: i32,
    ) -> i32;
    pub(crate) safe fn cublasSdot_v2(
        handle: u64,
        n: i32,
        x: u64,
        incx: i32,
        y: u64,
        incy: i32,
        out: usize,
    ) -> i32;
    pub(crate) safe fn cublasXtCreate(out: usize) -> i32;
    pub(crate) safe fn cublasXtDestroy(handle: u64) -> i32;
    pub(crate) safe fn cublasXtDeviceSelect(handle: u64, count: i32, list: usize) -> i32;
    pub(crate) safe fn cublasXtSetBlockDim(handle: u64, block: i32) -> i32;
    pub(crate) safe fn cublasXtSgemm(
        handle: u64,
        transa: i32,
        transb: i32,
        m: usize,
        n: usize,
        k: usize,
        alpha: usize,
        a: u64,
        lda: usize,
        b: u64,
        ldb: usize,
        beta: usize,
        c: u64,
        ldc: usize,
    ) -> i32;
    pub(crate) safe fn cublasXtDtrsm(
        handle: u64,
        side: i32,
        uplo: i32,
        trans: i32,
        diag: i32,
        m: usize,
        n: usize,
        alpha: usize,
        a: u64,
        lda: usize,
        b: u64,
        ldb: usize,
    ) -> i32;
    pub(crate) safe fn cublasSgemm_v2_64(
        handle: u64,
        transa: i32,
        transb: i32,
        m: i64,
        n: i64,
        k: i64,
        alpha: usize,
        a: u64,
        lda: i64,
        b: u64,
        ldb: i64,
        beta: usize,
        c: u64,
        ldc: i64,
    ) -> i32;
}

/// Loads the driver library once, and makes the primary context current in this thread.
pub(crate) fn start() {
    static LOADED: OnceLock<bool> = OnceLock::new();
    let loaded = *LOADED.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        culibs::driver::load(&test.parent().unwrap().join("libcuda.so"))
    });
    assert!(loaded, "the driver library is not beside the test");
    cuInit(0).unwrap();
    let mut context = 0_u64;
    cuDevicePrimaryCtxRetain(address(&mut context), 0).unwrap();
    cuCtxSetCurrent(context).unwrap();
}

pub(crate) fn address<T>(value: &mut T) -> usize {
    (&raw mut *value).expose_provenance()
}

pub(crate) fn handle() -> u64 {
    let mut handle = 0_u64;
    assert_eq!(cublasCreate_v2(address(&mut handle)), 0);
    handle
}

/// Allocates device memory with these elements.
pub(crate) fn device<T: Pod>(list: &[T]) -> u64 {
    let mut at = 0_u64;
    cuMemAlloc_v2(address(&mut at), size_of_val(list)).unwrap();
    cuMemcpyHtoD_v2(at, list.as_ptr().expose_provenance(), size_of_val(list)).unwrap();
    at
}

/// Reads device memory.
pub(crate) fn host<T: Pod>(at: u64, len: usize) -> Vec<T> {
    let mut list = vec![T::zeroed(); len];
    cuMemcpyDtoH_v2(list.as_mut_ptr().expose_provenance(), at, len * size_of::<T>()).unwrap();
    list
}
