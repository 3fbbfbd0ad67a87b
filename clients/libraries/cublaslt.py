"""cuBLASLt against NumPy: layouts, orders, types, batches, pointer modes, epilogues; cuBLAS's handles."""

import ctypes as c

import numpy as np
from device import Memory, handle, library
from families import TYPES, exact, family, main, near, pick, values

call = library("libcublasLt.so.12")
blas = library("libcublas.so.12")
light = handle(call, "cublasLtCreate")
heavy = handle(blas, "cublasCreate_v2")
wide = c.c_longlong
NUMBERS = {np.float32: (68, 0, 0), np.float64: (70, 1, 1), np.complex64: (68, 4, 4), np.complex128: (70, 5, 5), np.float16: (68, 0, 2)}


def attribute(name, object, number, value):
    value = np.atleast_1d(value)
    call(f"cublasLt{name}SetAttribute", object, number, value, c.c_size_t(value.nbytes))


class Matrix:
    """A batch of matrices on the device in a random order with a leading dimension."""

    def __init__(self, rng, stack, number):
        batch, rows, cols = stack.shape
        self.by_rows = bool(rng.integers(2))
        inner, outer = (cols, rows) if self.by_rows else (rows, cols)
        ld = inner + int(rng.integers(0, 3))
        whole = values(rng, (batch, outer, ld), stack.dtype)
        whole[:, :, :inner] = stack if self.by_rows else stack.transpose(0, 2, 1)
        self.inner, self.memory, self.layout = inner, Memory(whole), c.c_uint64()
        call("cublasLtMatrixLayoutCreate", c.byref(self.layout), number, c.c_uint64(rows), c.c_uint64(cols), wide(ld))
        attribute("MatrixLayout", self.layout, 1, np.int32(self.by_rows))
        attribute("MatrixLayout", self.layout, 5, np.int32(batch))
        attribute("MatrixLayout", self.layout, 6, np.int64(outer * ld))
        self.data = self.memory
        if rng.random() < 0.2:
            # A list of addresses.
            bytes_of = outer * ld * stack.itemsize
            self.memory = Memory(np.asarray([self.data.address.value + i * bytes_of for i in range(batch)], np.uint64))
            attribute("MatrixLayout", self.layout, 8, np.int32(1))

    def get(self):
        part = self.data.get()[:, :, : self.inner]
        return part if self.by_rows else part.transpose(0, 2, 1)


def op(stack, flag):
    turned = stack.transpose(0, 2, 1)
    return [stack, turned, turned.conj()][flag]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@family
def products(rng):
    dtype = pick(rng, list(NUMBERS))
    compute, scale, number = NUMBERS[dtype]
    scalar = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}[scale]
    m, n, k, batch = (int(rng.integers(1, 12)) for _ in range(4))
    batch = batch % 3 + 1
    flags = [int(rng.integers(3)), int(rng.integers(3))]
    shapes = [(batch, m, k) if flags[0] == 0 else (batch, k, m), (batch, k, n) if flags[1] == 0 else (batch, n, k)]
    left, right, old = (values(rng, shape, dtype) for shape in (*shapes, (batch, m, n)))
    a, b, d = Matrix(rng, left, number), Matrix(rng, right, number), Matrix(rng, old, number)
    description = c.c_uint64()
    call("cublasLtMatmulDescCreate", c.byref(description), compute, scale)
    attribute("MatmulDesc", description, 3, np.int32(flags[0]))
    attribute("MatmulDesc", description, 4, np.int32(flags[1]))
    alpha, beta = values(rng, 1, scalar), pick(rng, [values(rng, 1, scalar), np.zeros(1, scalar)])
    epilogue, bias = 1, np.zeros(m, dtype)
    if not np.iscomplexobj(left):
        epilogue = pick(rng, [1, 2, 4, 6, 32, 36])
        if epilogue & 4:
            bias = values(rng, m, dtype)
            memory = Memory(bias)
            attribute("MatmulDesc", description, 8, np.uint64(memory.address.value))
        attribute("MatmulDesc", description, 7, np.int32(epilogue))
    result, count = np.zeros(96, np.uint8), np.zeros(1, np.int32)
    preference = handle(call, "cublasLtMatmulPreferenceCreate")
    which = pick(rng, [light, heavy])
    call("cublasLtMatmulAlgoGetHeuristic", which, description, a.layout, b.layout, d.layout, d.layout, preference, 3, result, count)
    assert count[0] == 1
    setting, told = np.asarray([rng.integers(1, 99)], np.uint32), np.zeros(1, np.uint32)
    call("cublasLtMatmulAlgoConfigSetAttribute", result, 1, setting, c.c_size_t(4))
    call("cublasLtMatmulAlgoConfigGetAttribute", result, 1, told, c.c_size_t(4), None)
    assert told[0] == setting[0]
    written = np.full(1, 9, np.uint64)
    call("cublasLtMatmulAlgoCapGetAttribute", result, 6, None, c.c_size_t(0), written)
    assert written[0] == 0
    arguments = (alpha, a.memory, a.layout, b.memory, b.layout, beta, d.memory, d.layout, d.memory, d.layout)
    call("cublasLtMatmul", which, description, *arguments, result, None, c.c_size_t(0), None)
    x, y = op(exact(left), flags[0]), op(exact(right), flags[1])
    al, be = exact(alpha)[0], exact(beta)[0]
    want = al * (x @ y) + be * exact(old) + exact(bias)[:, None]
    size = abs(al) * (np.abs(x) @ np.abs(y)) + np.abs(be * exact(old)) + np.abs(exact(bias))[:, None]
    if epilogue & 2:
        want = np.maximum(want, 0)
    if epilogue & 32:
        want, size = gelu(want), size * 2
    if dtype == np.float16:
        assert np.all(np.abs(exact(d.get()) - want) <= 2.0**-10 * np.abs(want) + 1e-5 * size * (k + 2) + 1e-7)
    else:
        near(d.get(), want, size, k + 4, dtype)


@family
def gradients(rng):
    m, n, k = (int(rng.integers(1, 20)) for _ in range(3))
    left, right = values(rng, (1, m, k), np.float32), values(rng, (1, k, n), np.float32)
    a, b, d = Matrix(rng, left, 0), Matrix(rng, right, 0), Matrix(rng, np.zeros((1, m, n), np.float32), 0)
    one, zero, product = np.ones(1, np.float32), np.zeros(1, np.float32), (exact(left) @ exact(right))[0]
    scale = (np.abs(exact(left)) @ np.abs(exact(right)))[0]

    def run(epilogue, auxiliary, ld, bias=None):
        description = c.c_uint64()
        call("cublasLtMatmulDescCreate", c.byref(description), 68, 0)
        attribute("MatmulDesc", description, 7, np.int32(epilogue))
        if auxiliary is not None:
            attribute("MatmulDesc", description, 11, np.uint64(auxiliary.address.value))
            attribute("MatmulDesc", description, 12, np.int64(ld))
        if bias is not None:
            attribute("MatmulDesc", description, 8, np.uint64(bias.address.value))
        arguments = (one, a.memory, a.layout, b.memory, b.layout, zero, d.memory, d.layout, d.memory, d.layout)
        call("cublasLtMatmul", light, description, *arguments, None, None, c.c_size_t(0), None)
        return d.get()[0]

    ld = (m + 127) // 128 * 128
    inputs, bits, bias = Memory(np.zeros((n, ld), np.float32)), Memory(np.zeros((n, ld // 8), np.uint8)), Memory(np.zeros(m, np.float32))
    near(run(32 | 128, inputs, ld), gelu(product), 2 * scale, k + 4, np.float32)
    near(inputs.get()[:, :m].T, product, scale, k + 2, np.float32)
    x = exact(inputs.get()[:, :m].T)
    slope = (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5
    got = run(64 | 128 | 16, inputs, ld, bias)
    np.testing.assert_allclose(got, product * slope, rtol=1e-3, atol=1e-3 * scale.max())
    np.testing.assert_allclose(bias.get(), got.sum(1), rtol=1e-4, atol=1e-4 * scale.max() * n)
    run(2 | 128, bits, ld)
    mask = np.unpackbits(bits.get(), axis=1, bitorder="little")[:, :m].T
    np.testing.assert_array_equal(run(8 | 128, bits, ld) != 0, (mask == 1) & (run(1, None, 0) != 0))
    run(256, None, 0, bias)
    near(bias.get(), exact(left)[0].sum(1), np.abs(exact(left)[0]).sum(1), k + 2, np.float32)


@family
def transforms(rng):
    dtype = pick(rng, [np.float32, np.float64])
    _, scale, number = NUMBERS[dtype]
    m, n, flag = int(rng.integers(1, 12)), int(rng.integers(1, 12)), int(rng.integers(2))
    source = values(rng, (1, m, n) if flag == 0 else (1, n, m), dtype)
    a, out, description = Matrix(rng, source, number), Matrix(rng, np.zeros((1, m, n), dtype), number), c.c_uint64()
    call("cublasLtMatrixTransformDescCreate", c.byref(description), scale)
    attribute("MatrixTransformDesc", description, 2, np.int32(flag))
    alpha = values(rng, 1, dtype)
    call("cublasLtMatrixTransform", light, description, alpha, a.memory, a.layout, None, None, None, out.memory, out.layout, None)
    want = exact(alpha)[0] * op(exact(source), flag)
    near(out.get(), want, np.abs(want), 2, dtype)


if __name__ == "__main__":
    main()
