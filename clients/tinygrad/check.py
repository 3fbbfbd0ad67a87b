"""tinygrad against NumPy. All data is put on the device, as constants would be computed by the host."""

import numpy as np
from checks import check, run
from tinygrad import Device, Tensor, TinyJit, dtypes
from tinygrad.helpers import Context

rng = np.random.default_rng(1)


def device(array):
    return Tensor(array).to("CUDA").realize()


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def close(tensor, wanted, rtol=1e-4, atol=1e-5):
    np.testing.assert_allclose(tensor.numpy(), wanted, rtol=rtol, atol=atol)


@check
def arithmetic():
    x, y = floats(1000), floats(1000)
    a, b = device(x), device(y)
    close(a + b, x + y)
    close(a * b - a / (b * b + 1), x * y - x / (y * y + 1))
    close((a - b).abs().sqrt(), np.sqrt(np.abs(x - y)))
    close(a.maximum(b), np.maximum(x, y))
    close((a > b).where(a, -b), np.where(x > y, x, -y))


@check
def integers():
    x = rng.integers(-1000, 1000, 777).astype(np.int32)
    y = rng.integers(1, 50, 777).astype(np.int32)
    a, b = device(x), device(y)
    np.testing.assert_array_equal((a * b + 3).numpy(), x * y + 3)
    np.testing.assert_array_equal((a & b).numpy(), x & y)
    np.testing.assert_array_equal((a ^ (b << 3)).numpy(), x ^ (y << 3))
    np.testing.assert_array_equal(a.cast(dtypes.int64).sum().numpy(), x.astype(np.int64).sum())


@check
def functions():
    x = floats(500)
    a = device(x)
    close(a.exp(), np.exp(x))
    close((a.abs() + 1).log(), np.log(np.abs(x) + 1))
    close(a.sin(), np.sin(x), atol=1e-5)
    close(a.sigmoid(), 1 / (1 + np.exp(-x)))
    close(a.tanh(), np.tanh(x))


@check
def reductions():
    x = floats(33, 257)
    a = device(x)
    close(a.sum(), x.sum(), rtol=1e-3, atol=1e-3)
    close(a.sum(0), x.sum(0), atol=1e-4)
    close(a.max(1), x.max(1))
    close(a.mean(1), x.mean(1), atol=1e-5)
    close(a.softmax(1), np.exp(x) / np.exp(x).sum(1, keepdims=True))
    np.testing.assert_array_equal(a.argmax(1).numpy(), x.argmax(1))


@check
def matrices():
    for m, k, n in [(1, 1, 1), (16, 16, 16), (37, 65, 29), (64, 128, 96)]:
        x, y = floats(m, k), floats(k, n)
        close(device(x) @ device(y), x @ y, rtol=1e-3, atol=1e-4)


@check
def optimised_matrices():
    # Tiles in shared memory with barriers, as hand-written optimisations make them.
    x, y = floats(128, 128), floats(128, 128)
    with Context(NOOPT=0):
        close(device(x) @ device(y), x @ y, rtol=1e-3, atol=1e-3)


@check
def convolution():
    x, w = floats(2, 3, 12, 12), floats(4, 3, 3, 3)
    got = device(x).conv2d(device(w)).numpy()
    want = np.zeros((2, 4, 10, 10), np.float32)
    for i in range(3):
        for j in range(3):
            want += np.einsum("nchw,oc->nohw", x[:, :, i : i + 10, j : j + 10], w[:, :, i, j])
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@check
def views():
    x = floats(6, 10, 4)
    a = device(x)
    close(a.permute(2, 0, 1).contiguous(), x.transpose(2, 0, 1))
    close(a[1:5, ::2].contiguous(), x[1:5, ::2])
    close(a.pad(((1, 1), (0, 2), (3, 0))).contiguous(), np.pad(x, ((1, 1), (0, 2), (3, 0))))
    index = rng.integers(0, 6, 20)
    close(a[Tensor(index.astype(np.int32)).to("CUDA")], x[index])
    close(a.flip(1).contiguous(), x[:, ::-1])


@check
def gradients():
    x, y = floats(8, 5), floats(5, 3)
    a, b = device(x), device(y)
    a.requires_grad = b.requires_grad = True
    loss = ((a @ b) ** 2).sum()
    ga, gb = loss.gradient(a, b)
    close(ga, 2 * (x @ y) @ y.T, rtol=1e-3, atol=1e-4)
    close(gb, 2 * x.T @ (x @ y), rtol=1e-3, atol=1e-4)


@check
def graphs():
    @TinyJit
    def step(a, b):
        c = (a @ b).relu().realize()
        d = (c * 2 + 1).realize()
        return (d.sum(0) - c.sum(0)).realize()

    for _ in range(5):
        x, y = floats(24, 16), floats(16, 8)
        c = np.maximum(x @ y, 0)
        close(step(device(x), device(y)), (2 * c + 1).sum(0) - c.sum(0), rtol=1e-3, atol=1e-3)


@check
def sorting_and_scans():
    x = floats(300)
    a = device(x)
    close(a.cumsum(), np.cumsum(x), rtol=1e-3, atol=1e-4)
    close(a.sort()[0], np.sort(x))


@check
def it_was_this_device():
    assert Device.DEFAULT == "CUDA"
    libraries = open("/proc/self/maps").read()
    assert "libcuda.so" in libraries or "libsimtlab.so" in libraries or "libgpuocelot" in libraries


run()
