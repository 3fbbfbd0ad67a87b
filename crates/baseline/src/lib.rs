//! Bundled kernels as vectorised Rust, for benchmarks: the times of native code. They compute what
//! the kernels compute, in an order of their own where that does not show.

mod dense;
mod divergent;
mod options;
mod sparse;

use fast::wide;
use std::hint::black_box;

/// Values worked on together.
const WIDTH: usize = 32;

/// Work that can be repeated; what it reads and writes is made beforehand.
pub type Work = Box<dyn FnMut()>;

/// The kernel of this name on `n` elements (of `mandelbrot`, `sgemm` and `sgemm_tiled` on n by n;
/// of `bitonic_sort` on n segments of 1,024), if it is one of these: `saxpy`, `mandelbrot` (256
/// iterations at most), `sgemm`, `sgemm_tiled`, `reduce`, `collatz`, `nbody`, `histogram`,
/// `bitonic_sort`, `black_scholes`, `bfs` (one level, eight edges a vertex, half of the vertices in
/// it).
#[must_use]
pub fn kernel(name: &str, n: usize) -> Option<Work> {
    Some(match name {
        "saxpy" => {
            let (x, mut y) = (ramp(n), ramp(n));
            work(
                #[inline(always)]
                move || dense::saxpy(2.5, black_box(&x), black_box(&mut y)),
            )
        }
        "mandelbrot" => {
            let mut counts = vec![0u16; n * n];
            work(
                #[inline(always)]
                move || divergent::mandelbrot(n, 256, black_box(&mut counts)),
            )
        }
        "sgemm" | "sgemm_tiled" => {
            let (a, b, mut c) = (ramp(n * n), ramp(n * n), ramp(n * n));
            let factors = if name == "sgemm" { (1.5, -0.3) } else { (1.0, 0.0) };
            work(
                #[inline(always)]
                move || {
                    dense::sgemm(n, factors, black_box(&a), black_box(&b), black_box(&mut c));
                },
            )
        }
        "reduce" => {
            let x = ramp(n);
            work(
                #[inline(always)]
                move || {
                    black_box(dense::reduce(black_box(&x)));
                },
            )
        }
        "collatz" => {
            let (mut steps, mut peaks) = (vec![0u32; n], vec![0u64; n]);
            work(
                #[inline(always)]
                move || {
                    divergent::collatz(black_box(&mut steps), black_box(&mut peaks));
                },
            )
        }
        "nbody" => {
            let bodies: [Vec<f32>; 4] = [1, 2, 3, 4].map(|seed| random(n, seed));
            let mut forces = [(); 3].map(|()| vec![0f32; n]);
            work(
                #[inline(always)]
                move || {
                    dense::nbody(0.05, black_box(&bodies), black_box(&mut forces));
                },
            )
        }
        "histogram" => {
            let data: Vec<u8> = random(n, 1).iter().map(|x| (x * 256.0) as u8).collect();
            work(
                #[inline(always)]
                move || {
                    black_box(sparse::histogram(black_box(&data)));
                },
            )
        }
        "bitonic_sort" => {
            let keys: Vec<u64> = random(n * 1024, 1).iter().map(|x| (x * 1e18) as u64).collect();
            let mut sorted = keys.clone();
            work(
                #[inline(always)]
                move || sparse::sort(black_box(&keys), black_box(&mut sorted)),
            )
        }
        "black_scholes" => {
            let options: [Vec<f32>; 4] =
                [1, 2, 3, 4].map(|seed| random(n, seed).iter().map(|x| 0.5 + 1.5 * x).collect());
            let (mut calls, mut puts) = (vec![0f32; n], vec![0f32; n]);
            work(
                #[inline(always)]
                move || {
                    options::price(
                        0.02,
                        black_box(&options),
                        black_box(&mut calls),
                        black_box(&mut puts),
                    );
                },
            )
        }
        "bfs" => {
            let columns: Vec<u32> =
                random(8 * n, 3).iter().map(|x| (x * n as f32) as u32 % n.max(1) as u32).collect();
            let start: Vec<i32> = random(n, 5).iter().map(|x| -i32::from(*x < 0.5)).collect();
            let mut distances = start.clone();
            work(
                #[inline(always)]
                move || {
                    distances.copy_from_slice(&start);
                    black_box(sparse::bfs(black_box(&columns), 0, black_box(&mut distances)));
                },
            )
        }
        _ => return None,
    })
}

/// Work that is compiled for the best level of the host.
fn work(mut f: impl FnMut() + 'static) -> Work {
    Box::new(move || {
        wide(
            #[inline(always)]
            || {
                f();
            },
        );
    })
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 1000) as f32 * 0.001).collect()
}

/// Numbers from 0 to 1, by SplitMix64.
fn random(n: usize, seed: u64) -> Vec<f32> {
    let one = |i: u64| {
        let z = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
    };
    (0..n as u64).map(one).collect()
}
