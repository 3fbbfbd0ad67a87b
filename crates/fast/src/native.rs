//! The native limit: some bundled kernels as vectorised Rust, for benchmarks. They compute what the kernels compute, in an
//! order of their own where that does not show.

use crate::level::wide;
use std::hint::black_box;

/// Values worked on together.
const WIDTH: usize = 32;

/// Work that can be repeated; what it reads and writes is made beforehand.
pub type Work = Box<dyn FnMut()>;

/// The kernel of this name on `n` elements (of `mandelbrot` and `sgemm` on n by n), if it is one of these:
/// `saxpy`, `mandelbrot` (256 iterations at most), `sgemm`, `reduce`, `collatz`.
#[must_use]
pub fn native(kernel: &str, n: usize) -> Option<Work> {
    Some(match kernel {
        "saxpy" => {
            let (x, mut y) = (ramp(n), ramp(n));
            Box::new(move || wide(|| saxpy(2.5, black_box(&x), black_box(&mut y))))
        }
        "mandelbrot" => {
            let mut counts = vec![0u16; n * n];
            Box::new(move || wide(|| mandelbrot(n, 256, black_box(&mut counts))))
        }
        "sgemm" => {
            let (a, b, mut c) = (ramp(n * n), ramp(n * n), ramp(n * n));
            Box::new(move || wide(|| sgemm(n, black_box(&a), black_box(&b), black_box(&mut c))))
        }
        "reduce" => {
            let x = ramp(n);
            Box::new(move || {
                black_box(wide(|| reduce(black_box(&x))));
            })
        }
        "collatz" => {
            let (mut steps, mut peaks) = (vec![0u32; n], vec![0u64; n]);
            Box::new(move || {
                wide(|| collatz(black_box(&mut steps), black_box(&mut peaks)));
            })
        }
        _ => return None,
    })
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 1000) as f32 * 0.001).collect()
}

#[inline(always)]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a.mul_add(*x, *y);
    }
}

#[inline(always)]
fn sgemm(n: usize, a: &[f32], b: &[f32], c: &mut [f32]) {
    for (i, c) in c.chunks_exact_mut(n).enumerate() {
        c.iter_mut().for_each(|c| *c *= -0.3);
        for (k, b) in b.chunks_exact(n).enumerate() {
            let a = 1.5 * a[i * n + k];
            for (c, b) in c.iter_mut().zip(b) {
                *c = a.mul_add(*b, *c);
            }
        }
    }
}

#[inline(always)]
fn reduce(x: &[f32]) -> f32 {
    let mut sums = [0f32; 4 * WIDTH];
    for chunk in x.chunks_exact(4 * WIDTH) {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x;
        }
    }
    sums.iter().sum()
}

#[inline(always)]
fn mandelbrot(n: usize, limit: u32, counts: &mut [u16]) {
    for (py, row) in counts.chunks_exact_mut(n).enumerate() {
        let ci = -1.25 + 2.5 / n as f32 * py as f32;
        for (block, out) in row.chunks_mut(WIDTH).enumerate() {
            let mut cr = [0f32; WIDTH];
            for (lane, cr) in cr.iter_mut().enumerate() {
                *cr = -2.0 + 2.5 / n as f32 * (block * WIDTH + lane) as f32;
            }
            let (mut zr, mut zi, mut count) = ([0f32; WIDTH], [0f32; WIDTH], [0u32; WIDTH]);
            for _ in 0..limit {
                let mut running = 0;
                for lane in 0..WIDTH {
                    let (rr, ii) = (zr[lane] * zr[lane], zi[lane] * zi[lane]);
                    let inside = u32::from(rr + ii <= 4.0);
                    zi[lane] = (2.0 * zr[lane]).mul_add(zi[lane], ci);
                    zr[lane] = rr - ii + cr[lane];
                    count[lane] += inside;
                    running |= inside;
                }
                if running == 0 {
                    break;
                }
            }
            for (out, count) in out.iter_mut().zip(count) {
                *out = count as u16;
            }
        }
    }
}

#[inline(always)]
fn collatz(steps: &mut [u32], peaks: &mut [u64]) {
    let blocks = steps.chunks_mut(WIDTH).zip(peaks.chunks_mut(WIDTH));
    for (block, (steps, peaks)) in blocks.enumerate() {
        let mut n = [1u64; WIDTH];
        for (lane, n) in n.iter_mut().enumerate().take(steps.len()) {
            *n = (block * WIDTH + lane + 1) as u64;
        }
        let (mut peak, mut length) = (n, [0u32; WIDTH]);
        loop {
            let mut running = 0;
            for lane in 0..WIDTH {
                let (value, on) = (n[lane], u64::from(n[lane] != 1));
                let next = if value & 1 == 0 { value / 2 } else { 3 * value + 1 };
                n[lane] = if on != 0 { next } else { value };
                peak[lane] = peak[lane].max(n[lane]);
                length[lane] += on as u32;
                running |= on;
            }
            if running == 0 {
                break;
            }
        }
        steps.copy_from_slice(&length[..steps.len()]);
        peaks.copy_from_slice(&peak[..peaks.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_compute_what_they_should() {
        let (mut steps, mut peaks) = (vec![0; 100], vec![0; 100]);
        collatz(&mut steps, &mut peaks);
        assert_eq!((steps[0], steps[26], peaks[26]), (0, 111, 9232));
        let mut counts = vec![0; 64 * 64];
        mandelbrot(64, 100, &mut counts);
        assert!(counts.contains(&100) && counts.contains(&1));
        assert_eq!(reduce(&[1.0; 256]), 256.0);
        let mut y = vec![1.0; 5];
        saxpy(2.0, &[3.0; 5], &mut y);
        assert_eq!(y, [7.0; 5]);
        let mut c = vec![10.0; 4];
        sgemm(2, &[1.0, 2.0, 3.0, 4.0], &[1.0, 0.0, 0.0, 1.0], &mut c);
        assert_eq!(c, [-1.5, 0.0, 1.5, 3.0]);
    }
}
