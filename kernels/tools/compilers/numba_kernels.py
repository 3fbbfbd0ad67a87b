"""Kernels for Numba: Python functions with their signatures."""

import math

from numba import cuda, float32, float64, int32, uint32


def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def mandelbrot(image, limit):
    i = cuda.grid(1)
    if i < image.size:
        cx, cy = (i % 64) / 24.0 - 2.0, (i // 64) / 24.0 - 1.3
        x, y, count = 0.0, 0.0, 0
        while count < limit and x * x + y * y < 4.0:
            x, y = x * x - y * y + cx, 2.0 * x * y + cy
            count += 1
        image[i] = count


def block_maximum(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            tile[t] = max(tile[t], tile[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


def histogram(x, bins):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i] % bins.size, 1)


def waves(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sin(x[i]) * math.exp(-x[i]) + math.sqrt(x[i])


KERNELS = [
    (saxpy, (float32[::1], float32[::1], float32)),
    (mandelbrot, (int32[::1], int32)),
    (block_maximum, (float32[::1], float32[::1])),
    (histogram, (uint32[::1], uint32[::1])),
    (waves, (float64[::1], float64[::1])),
]
