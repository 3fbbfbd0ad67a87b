"""Four kernels of Numba: timed on the virtual device, or by Numba's simulator (NUMBA_ENABLE_CUDASIM=1)."""

import numpy as np
from numba import cuda, float32

from timing import show

SIZE, BLOCK = 4096, 128


@cuda.jit
def saxpy(a, x, y):
    at = cuda.grid(1)
    if at < x.size:
        y[at] = a * x[at] + y[at]


@cuda.jit
def block_sums(x, sums):
    part = cuda.shared.array(BLOCK, float32)
    lane, at = cuda.threadIdx.x, cuda.grid(1)
    part[lane] = x[at]
    cuda.syncthreads()
    step = BLOCK // 2
    while step > 0:
        if lane < step:
            part[lane] += part[lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def mandelbrot(counts, width, steps):
    at = cuda.grid(1)
    re, im = -2.0 + 3.0 * (at % width) / width, -1.5 + 3.0 * (at // width) / width
    zr, zi, n = 0.0, 0.0, 0
    while n < steps and zr * zr + zi * zi < 4.0:
        zr, zi, n = zr * zr - zi * zi + re, 2.0 * zr * zi + im, n + 1
    counts[at] = n


@cuda.jit
def histogram(values, bins):
    at = cuda.grid(1)
    if at < values.size:
        cuda.atomic.add(bins, values[at], 1)


def main():
    random = np.random.default_rng(1)
    x = random.random(SIZE, dtype=np.float32)
    grid = SIZE // BLOCK

    y = cuda.to_device(np.zeros(SIZE, np.float32))
    device_x = cuda.to_device(x)
    runs = show("saxpy", f"{SIZE}", lambda: saxpy[grid, BLOCK](np.float32(2), device_x, y), cuda.synchronize)
    assert np.allclose(y.copy_to_host(), runs * 2 * x)

    sums = cuda.to_device(np.zeros(grid, np.float32))
    show("sums of blocks", f"{SIZE}", lambda: block_sums[grid, BLOCK](device_x, sums), cuda.synchronize)
    assert np.allclose(sums.copy_to_host(), x.reshape(grid, BLOCK).sum(1), rtol=1e-4)

    width = 32
    counts = cuda.to_device(np.zeros(width * width, np.int32))
    show("Mandelbrot", f"{width} x {width}, 50 steps", lambda: mandelbrot[width * width // BLOCK, BLOCK](counts, width, 50), cuda.synchronize)
    assert counts.copy_to_host().max() == 50

    values = random.integers(0, 64, SIZE).astype(np.int32)
    bins, device_values = cuda.to_device(np.zeros(64, np.int32)), cuda.to_device(values)
    runs = show("histogram", f"{SIZE} in 64 bins", lambda: histogram[grid, BLOCK](device_values, bins), cuda.synchronize)
    assert np.array_equal(bins.copy_to_host(), runs * np.bincount(values, minlength=64))


main()
