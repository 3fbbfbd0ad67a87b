"""CuPy against NumPy and SciPy: elementwise functions, reductions, indexing, kernels of one's own, memory, streams, mathematics libraries."""

import cupy as cp
import numpy as np
from checks import check, run

rng = np.random.default_rng(3)


def same(got, want, **tolerance):
    """Compares an array of the device with one of the host."""
    got = cp.asnumpy(got)
    if tolerance:
        np.testing.assert_allclose(got, want, **tolerance)
    else:
        np.testing.assert_array_equal(got, want)


@check
def elementwise():
    for dtype in (np.int8, np.uint16, np.int32, np.int64, np.float32, np.float64):
        a, b = (rng.random((2, 1000)) * 50 + 1).astype(dtype)
        x, y = cp.asarray(a), cp.asarray(b)
        same(x + y, a + b)
        same(x * y - x, a * b - a)
        same(x > y, a > b)
        same(cp.maximum(x, y), np.maximum(a, b))
        same(cp.where(x > y, x, -y), np.where(a > b, a, -b))
        same(x // y, a // b)
    same(cp.arange(7) << 2 | 1, np.arange(7) << 2 | 1)


@check
def functions():
    a = rng.random(500) * 3 + 0.1
    x = cp.asarray(a)
    names = "sin cos tan exp log sqrt arctan sinh tanh log1p expm1 cbrt floor ceil reciprocal square".split()
    for name in names:
        same(getattr(cp, name)(x), getattr(np, name)(a), rtol=1e-12)
    single = a.astype(np.float32)
    for name in names:
        same(getattr(cp, name)(cp.asarray(single)), getattr(np, name)(single), rtol=3e-6)
    half = a.astype(np.float16)
    same(cp.asarray(half) * 2 + 1, half * 2 + 1, rtol=2e-3)
    z = a + 1j * a[::-1]
    same(cp.exp(cp.asarray(z)) * 2, np.exp(z) * 2, rtol=1e-12)
    same(abs(cp.asarray(z)), abs(z), rtol=1e-12)


@check
def reductions():
    a = rng.random((37, 53, 11))
    x = cp.asarray(a)
    for axis in (None, 0, 1, 2, (0, 2)):
        same(x.sum(axis), a.sum(axis), rtol=1e-12)
        same(x.max(axis), a.max(axis))
        same(x.mean(axis), a.mean(axis), rtol=1e-12)
        same(x.var(axis), a.var(axis), rtol=1e-10)
        same((x > 0.99).any(axis), (a > 0.99).any(axis))
    for axis in (None, 0, 1):
        same(x.argmin(axis), a.argmin(axis))
        same(x.argmax(axis), a.argmax(axis))
    n = rng.integers(-9, 9, 10_000)
    same(cp.asarray(n).sum(), n.sum())
    same(cp.asarray(n[:20]).prod(), n[:20].prod())
    same(cp.linalg.norm(cp.asarray(a[0])), np.linalg.norm(a[0]), rtol=1e-12)
    same(cp.count_nonzero(cp.asarray(n)), np.count_nonzero(n))


@check
def scans_and_counts():
    n = rng.integers(0, 50, 3000)
    x = cp.asarray(n)
    same(cp.cumsum(x), np.cumsum(n))
    same(cp.bincount(x), np.bincount(n))
    same(cp.nonzero(x > 25)[0], np.nonzero(n > 25)[0])
    same(x[x > 25], n[n > 25])
    same(cp.histogram(x, bins=10)[0], np.histogram(n, bins=10)[0])
    same(cp.searchsorted(cp.arange(50), x), np.searchsorted(np.arange(50), n))


@check
def views_and_indices():
    a = rng.random((20, 30))
    x = cp.asarray(a)
    same(x.T[3:9, ::2], a.T[3:9, ::2])
    same(x[::-1, 5], a[::-1, 5])
    rows, columns = rng.integers(0, 20, 40), rng.integers(0, 30, 40)
    same(x[cp.asarray(rows), cp.asarray(columns)], a[rows, columns])
    y, b = x.copy(), a.copy()
    y[3:5] = 7
    b[3:5] = 7
    y[cp.asarray(rows)] += 1
    b[rows] += 1
    same(y, b)
    same(cp.concatenate([x, x * 2], axis=1), np.concatenate([a, a * 2], axis=1))
    same(cp.roll(x, 3, axis=0), np.roll(a, 3, axis=0))
    same(cp.take(x, cp.asarray(rows), axis=0), np.take(a, rows, axis=0))
    same(cp.broadcast_to(x[0], (4, 30)) + cp.arange(4)[:, None], np.broadcast_to(a[0], (4, 30)) + np.arange(4)[:, None])
    same(cp.einsum("ij->j", x), np.einsum("ij->j", a), rtol=1e-12)
    cp.add.at(y, cp.asarray(rows), 1.0)
    np.add.at(b, rows, 1.0)
    same(y, b)


@check
def raw_kernels():
    code = """
    extern "C" __global__ void blur(const float *in, float *out, int n) {
      extern __shared__ float tile[];
      int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
      tile[t] = i < n ? in[i] : 0;
      __syncthreads();
      if (i < n) out[i] = (tile[t] + tile[t > 0 ? t - 1 : 0]) / 2;
    }
    template <class T> __global__ void scale(T *data, T by) { data[threadIdx.x] *= by; }
    __constant__ int offset;
    extern "C" __global__ void shifted(int *data) { atomicAdd(data + (threadIdx.x + offset) % 8, 1); }
    """
    module = cp.RawModule(code=code, options=("-std=c++14",), name_expressions=("scale<double>", "scale<int>"))
    a = rng.random(300).astype(np.float32)
    out = cp.zeros(300, np.float32)
    module.get_function("blur")((3,), (128,), (cp.asarray(a), out, np.int32(300)), shared_mem=512)
    left = np.where(np.arange(300) % 128 > 0, np.roll(a, 1), a)
    same(out, (a + left) / 2)
    x = cp.arange(32, dtype=np.float64)
    module.get_function("scale<double>")((1,), (32,), (x, np.float64(1.5)))
    same(x, np.arange(32) * 1.5)
    n = cp.arange(32, dtype=np.int32)
    module.get_function("scale<int>")((1,), (32,), (n, np.int32(-3)))
    same(n, np.arange(32) * -3)
    constant = cp.ndarray(1, np.int32, module.get_global("offset"))
    constant[...] = 3
    bins = cp.zeros(8, np.int32)
    shifted = module.get_function("shifted")
    shifted((1,), (10,), (bins,))
    same(bins, np.bincount((np.arange(10) + 3) % 8, minlength=8))
    assert shifted.num_regs > 0 and shifted.max_threads_per_block == 1024


@check
def kernels_of_expressions():
    squares = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y) + i % 2", "squares")
    a, b = rng.random((2, 400)).astype(np.float32)
    same(squares(cp.asarray(a), cp.asarray(b)), (a - b) ** 2 + (np.arange(400) % 2).astype(np.float32), rtol=1e-6)
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "euclid")
    same(norm(cp.asarray(a)), np.sqrt((a.astype(float) ** 2).sum()), rtol=1e-5)

    @cp.fuse()
    def fused(x, y):
        return cp.sum(cp.sqrt(x * x + y * y))

    same(fused(cp.asarray(a), cp.asarray(b)), np.hypot(a, b).sum(), rtol=1e-5)


@check
def jit():
    from cupyx import jit

    @jit.rawkernel()
    def reverse(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        shared = jit.shared_memory(cp.int32, 64)
        shared[jit.threadIdx.x] = x[i]
        jit.syncthreads()
        if i < n:
            y[i] = shared[63 - jit.threadIdx.x]

    x = cp.arange(128, dtype=cp.int32)
    y = cp.zeros_like(x)
    reverse((2,), (64,), (x, y, np.uint32(128)))
    same(y, np.arange(128).reshape(2, 64)[:, ::-1].ravel())


@check
def filters_and_special_functions():
    import cupyx.scipy.ndimage
    import cupyx.scipy.special

    a = rng.random((24, 31))
    got = cp.asnumpy(cupyx.scipy.ndimage.uniform_filter(cp.asarray(a), 3, mode="constant"))
    padded = np.pad(a, 1)
    want = sum(padded[i : i + 24, j : j + 31] for i in range(3) for j in range(3)) / 9
    np.testing.assert_allclose(got, want, rtol=1e-10)
    import math

    x = rng.random(100) * 4
    same(cupyx.scipy.special.erf(cp.asarray(x)), [math.erf(v) for v in x], rtol=1e-10)
    same(cupyx.scipy.special.gammaln(cp.asarray(x + 1)), [math.lgamma(v + 1) for v in x], rtol=1e-9, atol=1e-12)


@check
def memory_and_streams():
    pool = cp.get_default_memory_pool()
    x = cp.ones(10_000)
    # Under `exec` arrays have memory of their own; the pool is there for who asks for it.
    assert pool.used_bytes() == 0
    with cp.cuda.using_allocator(pool.malloc):
        pooled = cp.ones(10_000)
        assert pool.used_bytes() >= pooled.nbytes
    del pooled
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        y = x * 3
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        y += 1
        stop.record()
    stream.synchronize()
    assert cp.cuda.get_elapsed_time(start, stop) >= 0
    same(y, np.full(10_000, 4.0))
    pinned = cp.cuda.alloc_pinned_memory(800)
    host = np.frombuffer(pinned, np.float64, 100)
    host[:] = np.arange(100)
    same(cp.asarray(host) * 2, np.arange(100) * 2)
    with cp.cuda.using_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc):
        same(cp.arange(50) ** 2, np.arange(50) ** 2)
    with cp.cuda.using_allocator(cp.cuda.MemoryAsyncPool().malloc):
        same(cp.arange(50) ** 2, np.arange(50) ** 2)
    del x, y
    pool.free_all_blocks()
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert b"Simtlab" in properties["name"] and properties["warpSize"] == 32
    assert cp.cuda.Device(0).compute_capability == "80"
    free, total = cp.cuda.runtime.memGetInfo()
    assert 0 < free <= total == properties["totalGlobalMem"]


@check
def errors():
    try:
        cp.RawKernel('extern "C" __global__ void f(int *p) { *p = 1; }', "f")((1,), (2000,), (cp.zeros(1, int),))
        raise AssertionError("a block of 2000 threads ran")
    except cp.cuda.driver.CUDADriverError as error:
        assert "INVALID_VALUE" in str(error)
    try:
        cp.cuda.runtime.malloc(1 << 60)
        raise AssertionError("an exabyte was there")
    except cp.cuda.runtime.CUDARuntimeError as error:
        assert "MemoryAllocation" in str(error)
    try:
        cp.zeros((1 << 40,), np.uint8)
        raise AssertionError("a terabyte was there")
    except cp.cuda.memory.OutOfMemoryError:
        pass


@check
def products():
    for dtype, tolerance in ((np.float16, 1e-2), (np.float32, 1e-4), (np.float64, 1e-12), (np.complex64, 1e-4), (np.complex128, 1e-12)):
        a, b = ((rng.random(shape) + (1j * rng.random(shape) if np.issubdtype(dtype, np.complexfloating) else 0)).astype(dtype) for shape in ((17, 23), (23, 9)))
        same(cp.asarray(a) @ cp.asarray(b), a @ b, rtol=tolerance)
        same(cp.asarray(a.T) @ cp.asarray(a.conj()), a.T @ a.conj(), rtol=tolerance)
        same(cp.asarray(a) @ cp.asarray(b[:, 0]), a @ b[:, 0], rtol=tolerance)
    a, b = rng.random((5, 6, 7)), rng.random((5, 7, 8))
    same(cp.matmul(cp.asarray(a), cp.asarray(b)), a @ b, rtol=1e-12)
    same(cp.tensordot(cp.asarray(a), cp.asarray(b), ((0, 2), (0, 1))), np.tensordot(a, b, ((0, 2), (0, 1))), rtol=1e-12)
    same(cp.einsum("ijk,ikl->il", cp.asarray(a), cp.asarray(b)), np.einsum("ijk,ikl->il", a, b), rtol=1e-12)
    same(cp.asfortranarray(cp.asarray(a[0])), a[0])


@check
def linear_algebra():
    a, b = rng.random((30, 30)), rng.random((30, 4))
    x = cp.asarray(a)
    same(cp.linalg.solve(x, cp.asarray(b)), np.linalg.solve(a, b), rtol=1e-8)
    same(cp.linalg.inv(x), np.linalg.inv(a), rtol=1e-8)
    same(cp.linalg.det(x), np.linalg.det(a), rtol=1e-9)
    spd = a @ a.T + np.eye(30)
    same(cp.linalg.cholesky(cp.asarray(spd)), np.linalg.cholesky(spd), rtol=1e-9)
    q, r = cp.linalg.qr(x)
    same(q @ r, a, rtol=1e-10)
    same(q.T @ q, np.eye(30), atol=1e-12, rtol=0)
    u, s, vt = cp.linalg.svd(x)
    same(s, np.linalg.svd(a, compute_uv=False), rtol=1e-10)
    same(u * s @ vt, a, rtol=1e-9)
    w, v = cp.linalg.eigh(cp.asarray(spd))
    same(w, np.linalg.eigvalsh(spd), rtol=1e-9)
    same(v * w @ v.T, spd, rtol=1e-9)
    same(cp.linalg.lstsq(cp.asarray(a[:, :7]), cp.asarray(b), rcond=None)[0], np.linalg.lstsq(a[:, :7], b, rcond=None)[0], rtol=1e-8)
    same(cp.linalg.pinv(cp.asarray(a[:, :7])), np.linalg.pinv(a[:, :7]), rtol=1e-8)
    stack = rng.random((6, 5, 5)) + 5 * np.eye(5)
    same(cp.linalg.inv(cp.asarray(stack)), np.linalg.inv(stack), rtol=1e-9)
    same(cp.linalg.matrix_power(x, 3), np.linalg.matrix_power(a, 3), rtol=1e-10)


@check
def transforms():
    a = rng.random((6, 20, 9)) + 1j * rng.random((6, 20, 9))
    x = cp.asarray(a)
    for axis in range(3):
        same(cp.fft.fft(x, axis=axis), np.fft.fft(a, axis=axis), rtol=1e-10)
        same(cp.fft.ifft(x, axis=axis), np.fft.ifft(a, axis=axis), rtol=1e-10)
    same(cp.fft.fftn(x), np.fft.fftn(a), rtol=1e-9)
    same(cp.fft.fft2(x), np.fft.fft2(a), rtol=1e-9)
    same(cp.fft.rfft(x.real), np.fft.rfft(a.real), rtol=1e-10, atol=1e-12)
    same(cp.fft.irfft(x), np.fft.irfft(a), rtol=1e-10, atol=1e-12)
    same(cp.fft.rfftn(x.real), np.fft.rfftn(a.real), rtol=1e-9, atol=1e-10)
    same(cp.fft.irfftn(cp.fft.rfftn(x.real), a.shape), a.real, rtol=1e-10)
    single = a.astype(np.complex64)
    same(cp.fft.fft(cp.asarray(single)), np.fft.fft(a), rtol=1e-3, atol=1e-4)


@check
def random_numbers():
    cp.random.seed(5)
    n = 20_000
    x = cp.asnumpy(cp.random.random(n))
    assert 0 <= x.min() and x.max() < 1 and abs(x.mean() - 0.5) < 0.01
    z = cp.asnumpy(cp.random.standard_normal(n))
    assert abs(z.mean()) < 0.05 and abs(z.std() - 1) < 0.03
    i = cp.asnumpy(cp.random.randint(3, 9, n))
    assert set(i) == set(range(3, 9))
    p = np.sort(cp.asnumpy(cp.random.permutation(1000)))
    np.testing.assert_array_equal(p, np.arange(1000))
    assert abs(cp.asnumpy(cp.random.poisson(4.0, n)).mean() - 4) < 0.1
    cp.random.seed(5)
    same(cp.random.random(n), x)


@check
def sparse_matrices():
    import cupyx.scipy.sparse
    import scipy.sparse

    a, b = (scipy.sparse.random(40, 40, 0.1, "csr", random_state=seed) for seed in (1, 2))
    x, y = cupyx.scipy.sparse.csr_matrix(a), cupyx.scipy.sparse.csr_matrix(b)
    v, m = rng.random(40), rng.random((40, 3))
    same(x @ cp.asarray(v), a @ v, rtol=1e-10)
    same(x @ cp.asarray(m), a @ m, rtol=1e-10)
    same((x @ y).toarray(), (a @ b).toarray(), rtol=1e-10)
    same((x + y).toarray(), (a + b).toarray(), rtol=1e-10)
    same(x.T.tocsr().toarray(), a.T.toarray())
    same(x.tocoo().tocsc().toarray(), a.toarray())
    same(cupyx.scipy.sparse.csr_matrix(cp.asarray(a.toarray())).toarray(), a.toarray())
    same(x.sum(axis=0), np.asarray(a.sum(axis=0)), rtol=1e-10)


@check
def sparse_systems():
    import cupyx.scipy.sparse.linalg
    import scipy.sparse

    a = scipy.sparse.random(40, 40, 0.1, random_state=3, format="csr") + scipy.sparse.eye(40, format="csr") * 4
    b = rng.random((40, 3))
    x = cupyx.scipy.sparse.csr_matrix(a.tocsr())
    same(cupyx.scipy.sparse.linalg.spsolve(x, cp.asarray(b[:, 0])), np.linalg.solve(a.toarray(), b[:, 0]), rtol=1e-9)
    same(cupyx.scipy.sparse.linalg.lsqr(x, cp.asarray(b[:, 0]))[0], np.linalg.solve(a.toarray(), b[:, 0]), rtol=1e-9)
    lower = scipy.sparse.tril(a, format="csr")
    got = cupyx.scipy.sparse.linalg.spsolve_triangular(cupyx.scipy.sparse.csr_matrix(lower), cp.asarray(b))
    same(got, np.linalg.solve(lower.toarray(), b), rtol=1e-9)
    symmetric = a @ a.T
    got, status = cupyx.scipy.sparse.linalg.cg(cupyx.scipy.sparse.csr_matrix(symmetric.tocsr()), cp.asarray(b[:, 1]), tol=1e-12)
    assert status == 0
    same(got, np.linalg.solve(symmetric.toarray(), b[:, 1]), rtol=1e-7)


run()
