//! Every kernel that has a time of native code can be run.

#[test]
fn every_named_kernel_runs() {
    for name in [
        "saxpy",
        "mandelbrot",
        "sgemm",
        "sgemm_tiled",
        "reduce",
        "collatz",
        "nbody",
        "histogram",
        "bitonic_sort",
        "black_scholes",
        "bfs",
    ] {
        baseline::kernel(name, 64).expect("it is there")();
    }
    assert!(baseline::kernel("nothing", 64).is_none());
}
