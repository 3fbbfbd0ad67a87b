"""Taichi's CUDA back end beside NumPy."""

import math

import numpy as np
import taichi as ti

from checks import check, run

ti.init(arch=ti.cuda, device_memory_GB=0.5, log_level=ti.WARN)


@check
def atomics():
    total = ti.field(ti.i32, shape=())

    @ti.kernel
    def count(n: ti.i32):
        for i in range(n):
            total[None] += i

    count(1000)
    assert total[None] == 499500


@check
def matrix_product():
    a, b = (np.random.default_rng(s).random((24, 16), np.float32) for s in (1, 2))
    c = np.zeros((24, 24), np.float32)

    @ti.kernel
    def product(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
        for i, j in ti.ndrange(24, 24):
            s = 0.0
            for k in range(16):
                s += a[i, k] * b[j, k]
            c[i, j] = s

    product(a, b, c)
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-5)


@check
def divergent_loops():
    steps = ti.field(ti.i32, shape=256)

    @ti.kernel
    def collatz():
        for i in steps:
            n, s = i + 1, 0
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                s += 1
            steps[i] = s

    collatz()

    def wanted(n):
        s = 0
        while n != 1:
            n, s = (n // 2 if n % 2 == 0 else 3 * n + 1), s + 1
        return s

    assert list(steps.to_numpy()) == [wanted(i + 1) for i in range(256)]


@check
def functions():
    x = ti.field(ti.f32, shape=100)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.sin(i * 0.1) + ti.exp(-i * 0.01) + ti.sqrt(ti.cast(i, ti.f32))

    fill()
    np.testing.assert_allclose(x.to_numpy(), [math.sin(i * 0.1) + math.exp(-i * 0.01) + math.sqrt(i) for i in range(100)], rtol=1e-4, atol=1e-5)


@check
def gradients():
    x = ti.field(ti.f32, shape=8, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += 0.5 * x[i] ** 2

    x.from_numpy(np.arange(8, dtype=np.float32))
    with ti.ad.Tape(loss):
        energy()
    np.testing.assert_allclose(x.grad.to_numpy(), np.arange(8), rtol=1e-6)


@check
def shared_memory():
    x, y = ti.field(ti.f32, shape=256), ti.field(ti.f32, shape=256)

    @ti.kernel
    def reverse():
        ti.loop_config(block_dim=64)
        for i in range(256):
            pad = ti.simt.block.SharedArray((64,), ti.f32)
            at = i % 64
            pad[at] = x[i]
            ti.simt.block.sync()
            y[i] = pad[63 - at]

    x.from_numpy(np.arange(256, dtype=np.float32))
    reverse()
    assert np.array_equal(y.to_numpy(), np.arange(256, dtype=np.float32).reshape(4, 64)[:, ::-1].reshape(-1))


run()
