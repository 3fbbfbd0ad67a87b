"""Triton against NumPy, without PyTorch: elementwise kernels, reductions, scans, atomics, matrix products, attention."""

import numpy as np
import triton
import triton.language as tl
from checks import check, run
from device import Tensor

rng = np.random.default_rng(0)


def to_bfloat16(values):
    """The bits of the nearest bfloat16 numbers."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@check
def vector_add():
    for n in (1, 1000, 4096):
        x, y, out = Tensor(normal(n)), Tensor(normal(n)), Tensor(np.zeros(n, np.float32))
        add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
        np.testing.assert_array_equal(out.numpy(), x.host + y.host)


@check
def vector_add_of_other_types():
    for dtype in (np.int32, np.int64, np.float64, np.float16, np.uint8):
        x = Tensor(rng.integers(0, 100, 500).astype(dtype))
        y, out = Tensor(x.host[::-1]), Tensor(np.zeros(500, dtype))
        add_kernel[(4,)](x, y, out, 500, BLOCK=128)
        np.testing.assert_array_equal(out.numpy(), x.host + y.host)


@triton.jit
def shifted_kernel(x, out, n, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    source = at + shift
    value = tl.load(x + source, mask=(source >= 0) & (source < n), other=-7.0)
    tl.store(out + at, value, mask=at < n)


@check
def masked_loads():
    n = 700
    x = Tensor(normal(n))
    for shift in (-13, 5, 1000):
        out = Tensor(np.zeros(n, np.float32))
        shifted_kernel[(triton.cdiv(n, 128),)](x, out, n, shift, BLOCK=128)
        source = np.arange(n) + shift
        inside = (source >= 0) & (source < n)
        expected = np.where(inside, x.host[np.clip(source, 0, n - 1)], np.float32(-7))
        np.testing.assert_array_equal(out.numpy(), expected)


@triton.jit
def softmax_kernel(out, x, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride + at, values / tl.sum(values, axis=0), mask=at < columns)


@check
def softmax():
    for rows, columns in ((7, 50), (16, 781)):
        x = Tensor(normal(rows, columns) * 3)
        out = Tensor(np.zeros_like(x.host))
        block = triton.next_power_of_2(columns)
        softmax_kernel[(rows,)](out, x, columns, columns, BLOCK=block, num_warps=4)
        wide = x.host.astype(np.float64)
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        np.testing.assert_allclose(out.numpy(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)


@triton.jit
def layer_norm_kernel(x, out, weight, bias, mean_of, scale_of, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + at, mask=at < columns, other=0.0).to(tl.float32)
        value = tl.where(at < columns, value - mean, 0.0)
        total += value * value
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / columns + eps)
    tl.store(mean_of + row, mean)
    tl.store(scale_of + row, scale)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(x + row * columns + at, mask=inside, other=0.0).to(tl.float32)
        factor, addend = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
        tl.store(out + row * columns + at, (value - mean) * scale * factor + addend, mask=inside)


@check
def layer_norm():
    rows, columns = 9, 600
    x, weight, bias = Tensor(normal(rows, columns) * 2 + 1), Tensor(normal(columns)), Tensor(normal(columns))
    out, mean, scale = (Tensor(np.zeros(s, np.float32)) for s in ((rows, columns), rows, rows))
    layer_norm_kernel[(rows,)](x, out, weight, bias, mean, scale, columns, 1e-5, BLOCK=256, num_warps=4)
    wide = x.host.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    factor = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out.numpy(), centred * factor * weight.host + bias.host, rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(mean.numpy(), wide.mean(axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(scale.numpy(), factor[:, 0], rtol=1e-5)


@triton.jit
def matmul_kernel(
    a, b, c, m, n, k, sam, sak, sbk, sbn, scm, scn,
    PRECISION: tl.constexpr, ACCUMULATOR: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    # Blocks are numbered so that neighbours share rows and columns.
    number = tl.program_id(0)
    across, down = tl.cdiv(n, BN), tl.cdiv(m, BM)
    group = number // (GROUP * across)
    first = group * GROUP
    size = min(down - first, GROUP)
    row, column = first + (number % (GROUP * across)) % size, (number % (GROUP * across)) // size
    rows, columns, depth = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN), tl.arange(0, BK)
    left = a + (rows % m)[:, None] * sam + depth[None, :] * sak
    right = b + depth[:, None] * sbk + (columns % n)[None, :] * sbn
    total = tl.zeros((BM, BN), dtype=ACCUMULATOR)
    for step in range(0, tl.cdiv(k, BK)):
        x = tl.load(left, mask=depth[None, :] < k - step * BK, other=0)
        y = tl.load(right, mask=depth[:, None] < k - step * BK, other=0)
        total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=ACCUMULATOR)
        left += BK * sak
        right += BK * sbk
    place = c + rows[:, None] * scm + columns[None, :] * scn
    tl.store(place, total.to(c.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


def matmul(a, b, c, precision="tf32", accumulator=tl.float32, transposed=False, blocks=(64, 64, 32), **options):
    (m, k), n = a.shape, c.shape[1]
    bm, bn, bk = blocks
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    right = (1, k) if transposed else (n, 1)
    kernel = matmul_kernel[grid](
        a, b, c, m, n, k, k, 1, *right, n, 1,
        PRECISION=precision, ACCUMULATOR=accumulator, BM=bm, BN=bn, BK=bk, GROUP=4, **options,
    )
    return kernel.asm["ptx"]


def uses(ptx, instruction):
    """Whether the compiler has made use of it: matrix instructions are what this is about."""
    assert instruction in ptx or "wgmma" in ptx, f"no {instruction}"


@check
def matmul_of_halves():
    for transposed in (False, True):
        m, n, k = 100, 72, 96
        a, b = normal(m, k).astype(np.float16), normal(k, n).astype(np.float16)
        out = Tensor(np.zeros((m, n), np.float32))
        right = Tensor(b.T if transposed else b)
        ptx = matmul(Tensor(a), right, out, transposed=transposed, num_warps=4, num_stages=3)
        uses(ptx, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        expected = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@check
def matmul_of_halves_into_halves():
    m, n, k = 64, 64, 64
    a, b = normal(m, k).astype(np.float16), normal(k, n).astype(np.float16)
    out = Tensor(np.zeros((m, n), np.float16))
    matmul(Tensor(a), Tensor(b), out, accumulator=tl.float16, num_warps=4)
    np.testing.assert_allclose(out.numpy().astype(np.float64), a.astype(np.float64) @ b, rtol=2e-2, atol=5e-2)


@check
def matmul_of_bfloat16():
    m, n, k = 64, 96, 128
    a, b = to_bfloat16(normal(m, k)), to_bfloat16(normal(k, n))
    out = Tensor(np.zeros((m, n), np.float32))
    ptx = matmul(Tensor(a, "bfloat16"), Tensor(b, "bfloat16"), out, num_warps=4, num_stages=3)
    uses(ptx, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    expected = from_bfloat16(a).astype(np.float64) @ from_bfloat16(b)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)


@check
def matmul_of_singles():
    m, n, k = 64, 64, 96
    a, b = normal(m, k), normal(k, n)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for precision, instruction, tolerance in (("tf32", "tf32.tf32.f32", 2e-2), ("tf32x3", "tf32.tf32.f32", 1e-4), ("ieee", "fma.rn", 1e-4)):
        out = Tensor(np.zeros((m, n), np.float32))
        ptx = matmul(Tensor(a), Tensor(b), out, precision=precision, num_warps=4)
        uses(ptx, instruction)
        np.testing.assert_allclose(out.numpy(), expected, rtol=tolerance, atol=tolerance)


@check
def matmul_of_bytes():
    m, n, k = 64, 64, 64
    a, b = (rng.integers(-128, 128, s, np.int8) for s in ((m, k), (k, n)))
    out = Tensor(np.zeros((m, n), np.int32))
    ptx = matmul(Tensor(a), Tensor(b), out, accumulator=tl.int32, num_warps=4)
    uses(ptx, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")
    np.testing.assert_array_equal(out.numpy(), a.astype(np.int32) @ b.astype(np.int32))


@check
def matmul_of_doubles():
    m, n, k = 32, 32, 32
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    out = Tensor(np.zeros((m, n)))
    matmul(Tensor(a), Tensor(b), out, precision="ieee", accumulator=tl.float64, blocks=(32, 32, 16), num_warps=4)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-12, atol=1e-12)


@triton.jit
def attention_kernel(
    q, k, v, out, scale, length, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    block, head = tl.program_id(0), tl.program_id(1)
    base = head * length * HEAD
    rows, columns, width = block * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, HEAD)
    query = tl.load(q + base + rows[:, None] * HEAD + width[None, :])
    greatest = tl.full([BM], -float("inf"), dtype=tl.float32)
    weight = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, HEAD], dtype=tl.float32)
    end = (block + 1) * BM if CAUSAL else length
    for start in range(0, end, BN):
        key = tl.load(k + base + (start + columns)[None, :] * HEAD + width[:, None])
        score = tl.dot(query, key) * scale
        if CAUSAL:
            score = tl.where(rows[:, None] >= (start + columns)[None, :], score, -float("inf"))
        now = tl.maximum(greatest, tl.max(score, 1))
        power = tl.math.exp2(score - now[:, None])
        shrink = tl.math.exp2(greatest - now)
        weight = weight * shrink + tl.sum(power, 1)
        value = tl.load(v + base + (start + columns)[:, None] * HEAD + width[None, :])
        total = tl.dot(power.to(tl.float16), value, total * shrink[:, None])
        greatest = now
    tl.store(out + base + rows[:, None] * HEAD + width[None, :], (total / weight[:, None]).to(tl.float16))


@check
def flash_attention():
    heads, length, width = 2, 128, 64
    for causal in (False, True):
        q, k, v = (Tensor(normal(heads, length, width).astype(np.float16)) for _ in range(3))
        out = Tensor(np.zeros((heads, length, width), np.float16))
        scale = 1 / np.sqrt(width)
        kernel = attention_kernel[(length // 64, heads)](
            q, k, v, out, float(scale * np.log2(np.e)), length,
            HEAD=width, BM=64, BN=32, CAUSAL=causal, num_warps=4, num_stages=3,
        )
        uses(kernel.asm["ptx"], "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        score = np.einsum("hid,hjd->hij", q.host.astype(np.float64), k.host.astype(np.float64)) * scale
        if causal:
            score = np.where(np.tril(np.ones((length, length), bool)), score, -np.inf)
        power = np.exp(score - score.max(axis=2, keepdims=True))
        expected = (power / power.sum(axis=2, keepdims=True)) @ v.host.astype(np.float64)
        np.testing.assert_allclose(out.numpy().astype(np.float64), expected, rtol=2e-2, atol=4e-3)


@triton.jit
def histogram_kernel(x, counts, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(counts + value, 1, mask=inside)
    tl.atomic_max(total, tl.max(tl.where(inside, value, 0), axis=0))


@check
def atomics():
    n = 3000
    x, counts, top = Tensor(rng.integers(0, 37, n, np.int32)), Tensor(np.zeros(40, np.int32)), Tensor(np.zeros(1, np.int32))
    histogram_kernel[(triton.cdiv(n, 256),)](x, counts, top, n, BLOCK=256)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(x.host, minlength=40))
    assert top.numpy()[0] == x.host.max()


@triton.jit
def lock_kernel(lock, total, BLOCK: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    at = tl.arange(0, BLOCK)
    tl.store(total + at, tl.load(total + at) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@check
def a_lock():
    lock, total = Tensor(np.zeros(1, np.int32)), Tensor(np.zeros(64, np.int32))
    lock_kernel[(10,)](lock, total, BLOCK=64)
    assert (total.numpy() == 10).all()


@triton.jit
def scan_kernel(x, sums, products, order, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(value, 0))
    tl.store(products + at, tl.cumprod(1 + (value & 1), 0))
    tl.store(order + at, tl.sort(value))


@check
def scans_and_sorting():
    n = 256
    x = Tensor(rng.integers(0, 50, n, np.int32))
    sums, products, order = (Tensor(np.zeros(n, np.int32)) for _ in range(3))
    scan_kernel[(1,)](x, sums, products, order, BLOCK=n)
    np.testing.assert_array_equal(sums.numpy(), np.cumsum(x.host))
    np.testing.assert_array_equal(products.numpy(), np.cumprod(1 + (x.host & 1), dtype=np.int32))
    np.testing.assert_array_equal(order.numpy(), np.sort(x.host))


@triton.jit
def library_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, tl.erf(value))
    tl.store(out + BLOCK + at, tl.sin(value) * tl.cos(value))
    tl.store(out + 2 * BLOCK + at, tl.log(tl.abs(value) + 1))
    tl.store(out + 3 * BLOCK + at, tl.sigmoid(value))


@check
def mathematics():
    import math

    n = 128
    x, out = Tensor(normal(n)), Tensor(np.zeros((4, n), np.float32))
    library_kernel[(1,)](x, out, BLOCK=n)
    wide = x.host.astype(np.float64)
    expected = [np.array([math.erf(v) for v in wide]), np.sin(wide) * np.cos(wide), np.log1p(abs(wide)), 1 / (1 + np.exp(-wide))]
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-5, atol=2e-6)


@check
def the_profiler_proton():
    import json
    import os
    import tempfile

    from triton import profiler

    x, out = Tensor(normal(128)), Tensor(np.zeros((4, 128), np.float32))
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "found")
        profiler.start(name)
        with profiler.scope("outer"):
            for _ in range(3):
                library_kernel[(1,)](x, out, BLOCK=128)
        profiler.finalize()
        with open(f"{name}.hatchet", encoding="utf-8") as file:
            (outer,) = json.load(file)[0]["children"]
    (kernel,) = outer["children"]
    assert (outer["frame"]["name"], kernel["frame"]["name"]) == ("outer", "library_kernel")
    assert kernel["metrics"]["count"] == 3 and kernel["metrics"]["time (ns)"] > 0


run()
