"""Four kernels of Triton: timed on the virtual device, or by Triton's interpreter (TRITON_INTERPRET=1)."""

import os

import torch
import triton
import triton.language as tl

from timing import show

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, at < columns, -float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * columns + at, e / tl.sum(e, 0), at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < columns
    v = tl.load(x + row * columns + at, inside, 0.0)
    centred = tl.where(inside, v - tl.sum(v, 0) / columns, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / columns + 1e-5)
    tl.store(out + row * columns + at, centred * scale * tl.load(weight + at, inside) + tl.load(bias + at, inside), inside)


@triton.jit
def matmul(a, b, c, n, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, n, DEPTH):
        at = k + tl.arange(0, DEPTH)
        total = tl.dot(tl.load(a + rows[:, None] * n + at[None, :]), tl.load(b + at[:, None] * n + columns[None, :]), total)
    tl.store(c + rows[:, None] * n + columns[None, :], total)


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def main():
    torch.manual_seed(1)
    n = 1 << 20
    x, y = torch.rand(n).to(DEVICE), torch.rand(n).to(DEVICE)
    out = torch.empty_like(x)
    show("sum of vectors", f"{n}", lambda: add[(n // 1024,)](x, y, out, n, BLOCK=1024), synchronize)
    torch.testing.assert_close(out.cpu(), x.cpu() + y.cpu())

    x = torch.rand(1024, 1000).to(DEVICE)
    out = torch.empty_like(x)
    show("softmax", "1024 x 1000", lambda: softmax[(1024,)](x, out, 1000, BLOCK=1024), synchronize)
    torch.testing.assert_close(out.cpu(), torch.softmax(x.cpu(), 1))

    weight, bias = torch.rand(1000).to(DEVICE), torch.rand(1000).to(DEVICE)
    show("layer norm", "1024 x 1000", lambda: layer_norm[(1024,)](x, weight, bias, out, 1000, BLOCK=1024), synchronize)
    torch.testing.assert_close(out.cpu(), torch.nn.functional.layer_norm(x.cpu(), (1000,), weight.cpu(), bias.cpu()), rtol=1e-4, atol=1e-4)

    a, b = torch.rand(256, 256).half().to(DEVICE), torch.rand(256, 256).half().to(DEVICE)
    c = torch.empty(256, 256, device=DEVICE)
    show("product of matrices", "256^3, half", lambda: matmul[(4, 4)](a, b, c, 256, BLOCK=64, DEPTH=32), synchronize)
    torch.testing.assert_close(c.cpu(), a.cpu().float() @ b.cpu().float(), rtol=1e-3, atol=1e-2)


main()
