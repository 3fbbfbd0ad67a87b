"""Triton kernels: five with a defect each, and one without."""

import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)


@triton.jit
def store_beyond_the_end(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value * 2.0)  # planted: no mask


@triton.jit
def load_beyond_the_end(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)  # planted: no mask
    tl.store(out + at, value * 2.0, mask=at < n)


@triton.jit
def sum_without_atomics(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x + at, mask=at < n, other=0.0))
    tl.store(total, tl.load(total) + part)  # planted: blocks read and write one number


@triton.jit
def add_into(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(total + at, mask=at < n)
    tl.store(total + at, tl.where(before > 0.0, before, 0.0) + tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def wait_for_flag(flag, out):
    while tl.load(flag, volatile=True) == 0:  # planted: nobody sets the flag
        pass
    tl.store(out, 1)
