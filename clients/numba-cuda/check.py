"""numba-cuda against NumPy: shared memory, atomics, device functions, warps, linked PTX, streams, faults."""

import math
import os
import tempfile

import numpy as np
from checks import check, run
from numba import cuda, float32, int32

rng = np.random.default_rng(2)


@cuda.jit(device=True)
def polynomial(x):
    return x * x * x - 2 * x + 1


@check
def vectors():
    @cuda.jit
    def add(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    for dtype in (np.float32, np.float64, np.int32, np.int64):
        a, b = (rng.random(1000) * 100).astype(dtype), (rng.random(1000) * 100).astype(dtype)
        c = np.zeros_like(a)
        add[(1000 + 127) // 128, 128](a, b, c)
        np.testing.assert_array_equal(c, a + b)


@check
def device_functions():
    @cuda.jit
    def apply(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = polynomial(a[i])

    a = rng.random(300)
    want = a**3 - 2 * a + 1
    apply[3, 128](a)
    np.testing.assert_allclose(a, want, rtol=1e-12)


@check
def tiles_in_shared_memory():
    size = 16

    @cuda.jit
    def multiply(a, b, c):
        ta = cuda.shared.array((size, size), float32)
        tb = cuda.shared.array((size, size), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for i in range(a.shape[1] // size):
            ta[ty, tx] = a[y, tx + i * size]
            tb[ty, tx] = b[ty + i * size, x]
            cuda.syncthreads()
            for j in range(size):
                total += ta[ty, j] * tb[j, tx]
            cuda.syncthreads()
        c[y, x] = total

    a, b = rng.random((32, 48)).astype(np.float32), rng.random((48, 64)).astype(np.float32)
    c = np.zeros((32, 64), np.float32)
    multiply[(4, 2), (size, size)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@check
def dynamic_shared_memory():
    @cuda.jit
    def reverse(a):
        s = cuda.shared.array(0, int32)
        i = cuda.threadIdx.x
        s[i] = a[i]
        cuda.syncthreads()
        a[i] = s[cuda.blockDim.x - 1 - i]

    a = np.arange(200, dtype=np.int32)
    reverse[1, 200, 0, 800](a)
    np.testing.assert_array_equal(a, np.arange(200)[::-1])


@check
def atomics():
    @cuda.jit
    def histogram(x, bins, lowest, highest):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(bins, x[i] % bins.size, 1)
            cuda.atomic.min(lowest, 0, x[i])
            cuda.atomic.max(highest, 0, x[i])

    x = rng.integers(0, 10_000, 5000).astype(np.int32)
    bins = np.zeros(17, np.int32)
    lowest, highest = np.full(1, 10**6, np.int32), np.zeros(1, np.int32)
    histogram[20, 256](x, bins, lowest, highest)
    np.testing.assert_array_equal(bins, np.bincount(x % 17, minlength=17))
    assert (lowest[0], highest[0]) == (x.min(), x.max())

    @cuda.jit
    def swap(a, old):
        old[0] = cuda.atomic.cas(a, 0, 5, 9)

    a, old = np.array([5], np.int32), np.zeros(1, np.int32)
    swap[1, 1](a, old)
    assert (a[0], old[0]) == (9, 5)


@check
def warps():
    @cuda.jit
    def sums(x, out):
        value = x[cuda.grid(1)]
        for step in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
        if cuda.laneid == 0:
            out[cuda.grid(1) // 32] = value
        votes = cuda.ballot_sync(0xFFFFFFFF, x[cuda.grid(1)] % 2 == 0)
        if cuda.laneid == 1:
            out[4 + cuda.grid(1) // 32] = cuda.popc(votes)

    x = rng.integers(0, 100, 128).astype(np.int32)
    out = np.zeros(8, np.int32)
    sums[2, 64](x, out)
    np.testing.assert_array_equal(out[:4], x.reshape(4, 32).sum(1))
    np.testing.assert_array_equal(out[4:], (x.reshape(4, 32) % 2 == 0).sum(1))


@check
def functions_of_math():
    @cuda.jit
    def several(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[0, i] = math.sin(x[i])
            out[1, i] = math.exp(-x[i])
            out[2, i] = math.log(x[i] + 1)
            out[3, i] = math.sqrt(x[i])
            out[4, i] = math.atan2(x[i], 2.0)
            out[5, i] = math.erf(x[i])

    x = rng.random(100) * 5
    out = np.zeros((6, 100))
    several[1, 128](x, out)
    erf = np.array([math.erf(v) for v in x])
    want = [np.sin(x), np.exp(-x), np.log(x + 1), np.sqrt(x), np.arctan2(x, 2.0), erf]
    np.testing.assert_allclose(out, want, rtol=1e-10)


@check
def arrays_stay_on_the_device():
    @cuda.jit
    def double(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] *= 2

    stream = cuda.stream()
    host = np.arange(100, dtype=np.float32)
    a = cuda.to_device(host, stream=stream)
    for _ in range(3):
        double[1, 128, stream](a)
    np.testing.assert_array_equal(a.copy_to_host(stream=stream), host * 8)
    view = a[10:20]
    np.testing.assert_array_equal(view.copy_to_host(), host[10:20] * 8)
    pinned = cuda.pinned_array(100, np.float32)
    a.copy_to_host(pinned)
    np.testing.assert_array_equal(pinned, host * 8)
    managed = cuda.managed_array(100, np.float32)
    managed[:] = 1
    double[1, 128](managed)
    cuda.synchronize()
    assert (managed == 2).all()


@check
def constants_and_local_memory():
    table = np.arange(10, dtype=np.float32) ** 2

    @cuda.jit
    def look_up(out):
        constant = cuda.const.array_like(table)
        local = cuda.local.array(10, float32)
        for j in range(10):
            local[j] = constant[j] + cuda.threadIdx.x
        out[cuda.threadIdx.x] = local[cuda.threadIdx.x % 10]

    out = np.zeros(32, np.float32)
    look_up[1, 32](out)
    lanes = np.arange(32)
    np.testing.assert_array_equal(out, table[lanes % 10] + lanes)


@check
def functions_of_another_ptx():
    text = """
        .version 7.0
        .target sm_50
        .address_size 64
        .global .align 4 .u32 calls;
        .visible .func (.param .b32 status) triple(.param .b64 result, .param .b32 x) {
            .reg .b32 %r<3>; .reg .b64 %d;
            ld.param.b64 %d, [result];
            ld.param.b32 %r0, [x];
            mul.lo.s32 %r0, %r0, 3;
            atom.global.add.u32 %r2, [calls], 1;
            st.b32 [%d], %r0;
            mov.b32 %r1, 0;
            st.param.b32 [status], %r1;
            ret;
        }
    """
    triple = cuda.declare_device("triple", "int32(int32)")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "triple.ptx")
        with open(path, "w") as file:
            file.write(text)

        @cuda.jit(link=[path])
        def kernel(a):
            i = cuda.grid(1)
            a[i] = triple(a[i]) + polynomial(int32(2))

        a = np.arange(64, dtype=np.int32)
        kernel[2, 32](a)
    np.testing.assert_array_equal(a, np.arange(64) * 3 + 5)


@check
def recursion_and_divergence():
    @cuda.jit
    def collatz(out):
        i = cuda.grid(1)
        n, steps = i + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        out[i] = steps

    def host(n):
        steps = 0
        while n != 1:
            n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
        return steps

    out = np.zeros(256, np.int64)
    collatz[2, 128](out)
    np.testing.assert_array_equal(out, [host(i + 1) for i in range(256)])


@check
def ufuncs():
    from numba import vectorize

    @vectorize(["float32(float32, float32)"], target="cuda")
    def mixed(a, b):
        return a * b + a

    a, b = rng.random(500).astype(np.float32), rng.random(500).astype(np.float32)
    np.testing.assert_allclose(mixed(a, b), a * b + a, rtol=1e-6)


@check
def reductions():
    # Warps of it wait with full masks for lanes that have returned.
    add = cuda.reduce(lambda a, b: a + b)
    largest = cuda.reduce(lambda a, b: max(a, b))
    for size in (1, 31, 32, 33, 1000, 5000):
        x = rng.integers(-100, 100, size).astype(np.int64)
        assert add(x) == x.sum()
        assert largest(x, init=-1000) == x.max()
        device = cuda.to_device(x)
        assert add(device, size=(size + 1) // 2) == x[: (size + 1) // 2].sum()
    x = rng.random(3000)
    np.testing.assert_allclose(add(x, init=1.0), x.sum() + 1, rtol=1e-12)


run()
