//! Kernels with fixed sizes, for which a native implementation may be measured too.

/// A kernel at a fixed size.
pub(super) struct BenchKernel {
    pub(super) name: &'static str,
    pub(super) program: &'static str,
    pub(super) kernel: &'static str,
    /// Elements, or the side of a square of them, or segments of 1,024 elements.
    pub(super) n: usize,
    pub(super) grid: &'static str,
    pub(super) block: &'static str,
    pub(super) args: &'static [&'static str],
}

macro_rules! bundled {
    ($name:literal) => {
        include_str!(concat!("../../../../../kernels/", $name, "/", $name, ".ptx"))
    };
}

/// A kernel without work, which measures the cost of a launch.
const EMPTY: &str =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";

pub(super) const KERNELS: [BenchKernel; 12] = [
    BenchKernel {
        name: "empty",
        program: EMPTY,
        kernel: "empty",
        n: 0,
        grid: "1",
        block: "32",
        args: &[],
    },
    BenchKernel {
        name: "saxpy",
        program: bundled!("saxpy"),
        kernel: "saxpy",
        n: 1 << 20,
        grid: "4096",
        block: "256",
        args: &["u32:1048576", "f32:2.5", "f32[1048576]:ones", "f32[1048576]:ones"],
    },
    BenchKernel {
        name: "mandelbrot",
        program: bundled!("mandelbrot"),
        kernel: "mandelbrot",
        n: 512,
        grid: "16,64",
        block: "32,8",
        args: &[
            "u16[512,512]:zeros",
            "u32:512",
            "u32:512",
            "f32:-2",
            "f32:-1.25",
            "f32:0.0048828125",
            "u32:256",
        ],
    },
    BenchKernel {
        name: "sgemm",
        program: bundled!("sgemm"),
        kernel: "sgemm",
        n: 256,
        grid: "8,32",
        block: "32,8",
        args: &[
            "u32:256",
            "u32:256",
            "u32:256",
            "f32:1.5",
            "f32[65536]:ones",
            "f32[65536]:ones",
            "f32:-0.3",
            "f32[65536]:ones",
        ],
    },
    BenchKernel {
        name: "sgemm_tiled",
        program: bundled!("sgemm_tiled"),
        kernel: "sgemm_tiled",
        n: 256,
        grid: "16,16",
        block: "16,16",
        args: &[
            "u32:256",
            "u32:256",
            "u32:256",
            "f32[65536]:ones",
            "f32[65536]:ones",
            "f32[65536]:zeros",
        ],
    },
    BenchKernel {
        name: "reduce",
        program: bundled!("reduce"),
        kernel: "reduce",
        n: 1 << 20,
        grid: "512",
        block: "256",
        args: &["f32[1048576]:ones", "u32:1048576", "f32[512]:zeros"],
    },
    BenchKernel {
        name: "collatz",
        program: bundled!("collatz"),
        kernel: "collatz",
        n: 1 << 16,
        grid: "512",
        block: "128",
        args: &["u32:65536", "u32[65536]:zeros", "u64[65536]:zeros"],
    },
    BenchKernel {
        name: "nbody",
        program: bundled!("nbody"),
        kernel: "nbody",
        n: 2048,
        grid: "32",
        block: "64",
        args: &[
            "f32[2048,4]:random(seed=1)",
            "f32[2048,4]:zeros",
            "f32[2048,4]:zeros",
            "u32:2048",
            "f32:0.01",
            "f32:0.05",
        ],
    },
    BenchKernel {
        name: "histogram",
        program: bundled!("histogram"),
        kernel: "histogram_shared",
        n: 1 << 20,
        grid: "64",
        block: "256",
        args: &["u8[1048576]:random(seed=1)", "u32:1048576", "u32[256]:zeros"],
    },
    BenchKernel {
        name: "bitonic_sort",
        program: bundled!("bitonic_sort"),
        kernel: "bitonic_sort",
        n: 64,
        grid: "64",
        block: "512",
        args: &["s32[64,1024]:random(seed=1)", "u32[64,1024]:iota"],
    },
    BenchKernel {
        name: "black_scholes",
        program: bundled!("black_scholes"),
        kernel: "black_scholes",
        n: 1 << 16,
        grid: "512",
        block: "128",
        args: &[
            "f32[65536,4]:random(seed=1,lo=0.5,hi=2)",
            "u32:65536",
            "f32:0.02",
            "f32[65536]:zeros",
            "f32[65536]:zeros",
        ],
    },
    BenchKernel {
        name: "bfs",
        program: bundled!("bfs"),
        kernel: "bfs",
        n: 1 << 16,
        grid: "512",
        block: "128",
        args: &[
            "u32[65537]:iota(step=8)",
            "u32[524288]:random(seed=3,lo=0,hi=65535)",
            "u32:65536",
            "s32:0",
            "s32[65536]:random(seed=5,lo=-1,hi=0)",
            "u32[1]:zeros",
        ],
    },
];
