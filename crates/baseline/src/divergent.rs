//! Loops of different lengths in neighbouring elements.

use super::WIDTH;

#[inline(always)]
pub(super) fn mandelbrot(n: usize, limit: u32, counts: &mut [u16]) {
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
pub(super) fn collatz(steps: &mut [u32], peaks: &mut [u64]) {
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
    fn kernels_compute_reference_results() {
        let (mut steps, mut peaks) = (vec![0; 100], vec![0; 100]);
        collatz(&mut steps, &mut peaks);
        assert_eq!((steps[0], steps[26], peaks[26]), (0, 111, 9232));
        let mut counts = vec![0; 64 * 64];
        mandelbrot(64, 100, &mut counts);
        assert!(counts.contains(&100) && counts.contains(&1));
    }
}
