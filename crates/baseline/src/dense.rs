//! The same for all elements.

use super::WIDTH;

#[inline(always)]
pub(super) fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = a.mul_add(*x, *y);
    }
}

/// `C = alpha * A * B + beta * C`.
#[inline(always)]
pub(super) fn sgemm(n: usize, (alpha, beta): (f32, f32), a: &[f32], b: &[f32], c: &mut [f32]) {
    for (i, c) in c.chunks_exact_mut(n).enumerate() {
        c.iter_mut().for_each(|c| *c *= beta);
        for (k, b) in b.chunks_exact(n).enumerate() {
            let a = alpha * a[i * n + k];
            for (c, b) in c.iter_mut().zip(b) {
                *c = a.mul_add(*b, *c);
            }
        }
    }
}

#[inline(always)]
pub(super) fn reduce(x: &[f32]) -> f32 {
    let mut sums = [0f32; 4 * WIDTH];
    for chunk in x.chunks_exact(4 * WIDTH) {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += x;
        }
    }
    sums.iter().sum()
}

/// Accelerations of bodies (x, y, z, mass) by all others; a multiple of [`WIDTH`] bodies.
#[inline(always)]
pub(super) fn nbody(softening: f32, [x, y, z, mass]: &[Vec<f32>; 4], forces: &mut [Vec<f32>; 3]) {
    for first in (0..x.len() / WIDTH).map(|block| block * WIDTH) {
        let own = [x, y, z].map(|row| {
            let mut own = [0f32; WIDTH];
            own.copy_from_slice(&row[first..first + WIDTH]);
            own
        });
        let mut sums = [[0f32; WIDTH]; 3];
        for j in 0..x.len() {
            for lane in 0..WIDTH {
                let (dx, dy, dz) = (x[j] - own[0][lane], y[j] - own[1][lane], z[j] - own[2][lane]);
                let square = dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, softening)));
                let inverse = 1.0 / square.sqrt();
                let factor = mass[j] * inverse * inverse * inverse;
                sums[0][lane] = dx.mul_add(factor, sums[0][lane]);
                sums[1][lane] = dy.mul_add(factor, sums[1][lane]);
                sums[2][lane] = dz.mul_add(factor, sums[2][lane]);
            }
        }
        for (to, sums) in forces.iter_mut().zip(sums) {
            to[first..first + WIDTH].copy_from_slice(&sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_compute_reference_results() {
        assert_eq!(reduce(&[1.0; 256]), 256.0);
        let mut y = vec![1.0; 5];
        saxpy(2.0, &[3.0; 5], &mut y);
        assert_eq!(y, [7.0; 5]);
        let mut c = vec![10.0; 4];
        sgemm(2, (1.5, -0.3), &[1.0, 2.0, 3.0, 4.0], &[1.0, 0.0, 0.0, 1.0], &mut c);
        assert_eq!(c, [-1.5, 0.0, 1.5, 3.0]);
        // Two bodies at (0, 0, 0) and (2, 0, 0), the others without mass.
        let mut bodies = [(); 4].map(|()| vec![0.0; WIDTH]);
        (bodies[0][1], bodies[3][0], bodies[3][1]) = (2.0, 1.0, 4.0);
        let mut forces = [(); 3].map(|()| vec![0.0; WIDTH]);
        nbody(0.0001, &bodies, &mut forces);
        assert!((forces[0][0] - 1.0).abs() < 1e-3 && (forces[0][1] + 0.25).abs() < 1e-3);
        assert_eq!(forces[1][0], 0.0);
    }
}
