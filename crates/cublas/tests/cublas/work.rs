//! Streams, captures, pointer modes, threads, and what must not be accessed.

use culibs::driver::{
    cuCtxSynchronize, cuGraphInstantiateWithFlags, cuGraphLaunch, cuStreamBeginCapture_v2,
    cuStreamCreate, cuStreamEndCapture,
};

use crate::common::{
    address, cublasDestroy_v2, cublasSaxpy_v2, cublasSdot_v2, cublasSetPointerMode_v2,
    cublasSetStream_v2, cublasSgemm_v2_64, cublasXtCreate, cublasXtDestroy, cublasXtDeviceSelect,
    cublasXtDtrsm, cublasXtSetBlockDim, cublasXtSgemm, device, handle, host, start,
};

/// In one test, for a fault ends the context of the process.
#[test]
fn work_is_ordered_checked_and_captured() {
    start();
    scalars_on_the_device();
    a_captured_call_runs_with_each_launch();
    handles_that_are_not_valid();
    calls_from_many_threads();
    results_where_operands_are();
    sizes_of_zero();
    matrices_on_the_host();
    sizes_beyond_memory_do_not_panic();
    an_access_out_of_bounds_is_a_fault();
}

fn scalars_on_the_device() {
    let blas = handle();
    let (x, y) = (device(&[1.0_f32, 2.0, 3.0]), device(&[10.0_f32, 20.0, 30.0]));
    let mut alpha = 2.0_f32;
    assert_eq!(cublasSaxpy_v2(blas, 3, address(&mut alpha), x, 1, y, -1), 0);
    assert_eq!(host::<f32>(y, 3), [16.0, 24.0, 32.0]);
    assert_eq!(cublasSetPointerMode_v2(blas, 1), 0);
    let (scalar, out) = (device(&[-1.0_f32]), device(&[0.0_f32]));
    assert_eq!(cublasSaxpy_v2(blas, 3, scalar as usize, x, 1, y, 1), 0);
    assert_eq!(host::<f32>(y, 3), [15.0, 22.0, 29.0]);
    assert_eq!(cublasSdot_v2(blas, 3, x, 1, y, 1, out as usize), 0);
    assert_eq!(host::<f32>(out, 1), [15.0 + 44.0 + 87.0]);
    assert_eq!(cublasSetPointerMode_v2(blas, 2), 7);
    assert_eq!(cublasDestroy_v2(blas), 0);
}

fn a_captured_call_runs_with_each_launch() {
    let blas = handle();
    let (mut stream, mut graph, mut exec) = (0_u64, 0_u64, 0_u64);
    cuStreamCreate(address(&mut stream), 0).unwrap();
    assert_eq!(cublasSetStream_v2(blas, stream), 0);
    let (x, y) = (device(&[1.0_f32, 2.0]), device(&[0.0_f32, 0.0]));
    cuStreamBeginCapture_v2(stream, 2).unwrap();
    let mut alpha = 3.0_f32;
    assert_eq!(cublasSaxpy_v2(blas, 2, address(&mut alpha), x, 1, y, 1), 0);
    // The scalar was read when the call was made.
    alpha = 1000.0;
    cuStreamEndCapture(stream, address(&mut graph)).unwrap();
    assert_eq!(host::<f32>(y, 2), [0.0, 0.0], "captured work is not done");
    cuGraphInstantiateWithFlags(address(&mut exec), graph, 0).unwrap();
    for launches in 1..=3 {
        cuGraphLaunch(exec, stream).unwrap();
        let all = launches as f32;
        assert_eq!(host::<f32>(y, 2), [3.0 * all, 6.0 * all]);
    }
    assert!(alpha > 999.0);
    assert_eq!(cublasSetStream_v2(blas, 12345), 7);
}

fn handles_that_are_not_valid() {
    let blas = handle();
    assert_eq!(cublasDestroy_v2(blas), 0);
    assert_eq!(cublasDestroy_v2(blas), 1);
    assert_eq!(cublasSetPointerMode_v2(blas, 0), 1);
    assert_eq!(cublasSetPointerMode_v2(0, 0), 1);
}

fn calls_from_many_threads() {
    let blas = handle();
    let (x, alpha) = (device(&[1.0_f32; 64]), 1.0_f32);
    let each: Vec<u64> = (0..8).map(|_| device(&[0.0_f32; 64])).collect();
    std::thread::scope(|scope| {
        for &y in &each {
            scope.spawn(move || {
                start();
                let mut alpha = alpha;
                for _ in 0..20 {
                    assert_eq!(cublasSaxpy_v2(blas, 64, address(&mut alpha), x, 1, y, 1), 0);
                }
            });
        }
    });
    assert!(each.iter().all(|&y| host::<f32>(y, 64) == [20.0; 64]));
}

/// Operands are read before results are written.
fn results_where_operands_are() {
    let blas = handle();
    let (a, mut one, mut zero) = (device(&[1.0_f32, 2.0, 3.0, 4.0]), 1.0_f32, 0.0_f32);
    let (one, zero) = (address(&mut one), address(&mut zero));
    assert_eq!(cublasSgemm_v2_64(blas, 0, 0, 2, 2, 2, one, a, 2, a, 2, zero, a, 2), 0);
    assert_eq!(host::<f32>(a, 4), [7.0, 10.0, 15.0, 22.0]);
    // The second element of x is the first of y.
    assert_eq!(cublasSaxpy_v2(blas, 3, one, a, 1, a + 4, 1), 0);
    assert_eq!(host::<f32>(a, 4), [7.0, 17.0, 25.0, 37.0]);
}

fn sizes_of_zero() {
    let blas = handle();
    let (a, c, mut two) = (device(&[f32::NAN; 4]), device(&[1.0_f32, 2.0, 3.0, 4.0]), 2.0_f32);
    let two = address(&mut two);
    let gemm = |m, n, k| cublasSgemm_v2_64(blas, 0, 0, m, n, k, two, a, 2, a, k.max(1), two, c, 2);
    assert_eq!([gemm(0, 2, 2), gemm(2, 0, 2), gemm(0, 0, 0)], [0; 3]);
    assert_eq!(host::<f32>(c, 4), [1.0, 2.0, 3.0, 4.0], "nothing is written");
    // A product without terms is beta times what was there.
    assert_eq!(gemm(2, 2, 0), 0);
    assert_eq!(host::<f32>(c, 4), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(cublasSaxpy_v2(blas, 0, two, 0, 1, 0, 1), 0);
}

/// Sizes whose products do not fit, or need more memory than there is: these calls fault or fail,
/// and the next ones would see a failed context, so sizes are of matrices with no elements.
fn sizes_beyond_memory_do_not_panic() {
    let blas = handle();
    let (a, mut one) = (device(&[1.0_f32]), 1.0_f32);
    let scalar = address(&mut one);
    let huge = i64::MAX / 2;
    let gemm =
        |m, n, k, ld| cublasSgemm_v2_64(blas, 0, 0, m, n, k, scalar, a, ld, a, ld, scalar, a, ld);
    assert_eq!(gemm(0, huge, huge, huge), 0, "no rows: nothing is done");
    assert_eq!(gemm(1 << 31, 1, 1, 1), 7, "the leading dimension is too small");
    assert_eq!(gemm(-1, 1, 1, 1), 7);
    assert_eq!(gemm(i64::MIN, 1, 1, 1), 7);
    assert_ne!(gemm(huge, huge, 1, huge), 0, "a size that does not fit");
}

fn an_access_out_of_bounds_is_a_fault() {
    let blas = handle();
    let (x, y, mut alpha) = (device(&[1.0_f32; 4]), device(&[1.0_f32; 4]), 1.0_f32);
    // As on hardware, the call succeeds, and the next one that waits tells.
    assert_eq!(cublasSaxpy_v2(blas, 5, address(&mut alpha), x, 1, y, 1), 0);
    assert_eq!(cuCtxSynchronize().unwrap_err(), cuda_abi::Status::ILLEGAL_ADDRESS);
    assert_eq!(cublasSaxpy_v2(blas, 4, address(&mut alpha), x, 1, y, 1), 13);
}

/// Operands on the host and on the device in one call; what is beside a matrix stays.
fn matrices_on_the_host() {
    let mut xt = 0_u64;
    assert_eq!(cublasXtCreate(address(&mut xt)), 0);
    let mut devices = [0_i32];
    assert_eq!(cublasXtDeviceSelect(xt, 1, address(&mut devices)), 0);
    devices[0] = 99;
    assert_eq!(cublasXtDeviceSelect(xt, 1, address(&mut devices)), 7);
    assert_eq!([cublasXtSetBlockDim(xt, 64), cublasXtSetBlockDim(xt, 0)], [0, 7]);
    // The first factor is transposed: 2 x 3 with columns of 4, from 3 x 2 in memory.
    let mut a = [1.0_f32, 2.0, 3.0, -9.0, 4.0, 5.0, 6.0];
    let b = [1.0_f32, 0.0, 2.0, 0.0, 1.0, -1.0];
    let mut c = [100.0_f32, 200.0, 7.0, 300.0, 400.0, 7.0];
    let (mut alpha, mut beta) = (2.0_f32, 0.5_f32);
    let [alpha_at, beta_at] = [address(&mut alpha), address(&mut beta)];
    let (b_at, c_at) = (device(&b), address(&mut c) as u64);
    let a_at = address(&mut a) as u64;
    let product = |handle: u64, a: u64, lda: usize| {
        cublasXtSgemm(handle, 1, 0, 2, 2, 3, alpha_at, a, lda, b_at, 3, beta_at, c_at, 3)
    };
    assert_eq!(product(xt, a_at, 4), 0);
    // [1 2 3; 4 5 6] times [1 0; 0 1; 2 -1] is [7 -1; 16 -1].
    let wanted = [50.0 + 14.0, 100.0 + 32.0, 7.0, 150.0 - 2.0, 200.0 - 2.0, 7.0];
    assert_eq!(*std::hint::black_box(&c), wanted);
    assert_eq!(product(xt, a_at, 2), 7);
    assert_eq!(product(xt, 0, 4), 7);
    assert_eq!(product(xt + 1, a_at, 4), 1);
    assert_eq!(product(xt, a_at, usize::MAX), 7);
    assert_eq!(*std::hint::black_box(&c), wanted);
    // A triangle on the right: x [2 0; 1 4] = [4 8].
    let (mut triangle, mut right, mut one) = ([2.0_f64, 1.0, 99.0, 4.0], [4.0_f64, 8.0], 1.0_f64);
    let (one_at, t_at, right_at) = (address(&mut one), address(&mut triangle), address(&mut right));
    let solved = cublasXtDtrsm(xt, 1, 0, 0, 0, 1, 2, one_at, t_at as u64, 2, right_at as u64, 1);
    assert_eq!((solved, *std::hint::black_box(&right)), (0, [1.0, 2.0]));
    assert_eq!([cublasXtDestroy(xt), cublasXtDestroy(xt)], [0, 1]);
}
