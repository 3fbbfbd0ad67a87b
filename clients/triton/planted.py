"""Planted defects in Triton, one a name, and each without the defect: planted.py NAME [mended].

`clients/cpp/planted.py` runs them with `simtlab exec --check`. `#@ NAME KIND` at the end of a line says that the defect of that name
is found there, as of that kind; without a line in a kernel, the comment stands where the host's part is.
"""

import sys

import numpy as np
import triton
import triton.language as tl
from device import Tensor, cuda

MENDED = len(sys.argv) > 2


@triton.jit
def programs_race(out, MENDED: tl.constexpr):
    at = tl.arange(0, 128)
    if MENDED:
        tl.atomic_add(out + at, 1)
    else:
        tl.store(out + at, tl.load(out + at) + 1)  #@ programs_race race-between-blocks


@triton.jit
def missing_barrier(out, MENDED: tl.constexpr):
    at = tl.arange(0, 256)
    tl.store(out + at, at)  #@ missing_barrier race-in-block
    if MENDED:
        tl.debug_barrier()
    tl.store(out + 256 + at, tl.load(out + (at + 96) % 256))


@triton.jit
def relaxed_lock(lock, out, MENDED: tl.constexpr):
    at = tl.arange(0, 128)
    while tl.atomic_cas(lock, 0, 1, sem="acquire" if MENDED else "relaxed") == 1:
        pass
    tl.store(out + at, tl.load(out + at) + 1)  #@ relaxed_lock race-between-blocks
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release" if MENDED else "relaxed")


@triton.jit
def uninitialised_global(values, out, BLOCK: tl.constexpr):
    # Triton's line table has the load at the line behind.
    index = tl.load(values + tl.arange(0, BLOCK))
    tl.store(out + (index & 7) * BLOCK + tl.arange(0, BLOCK), index)  #@ uninitialised_global uninitialised-global


@triton.jit
def beyond(out, n, MENDED: tl.constexpr):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    if MENDED:
        tl.store(out + at, at, mask=at < n)
    else:
        tl.store(out + at, at)  #@ beyond fault


def main(name):
    out = Tensor(np.zeros(1024, np.int32))
    if name == "programs_race":
        programs_race[(4,)](out, MENDED)
    elif name == "missing_barrier":
        missing_barrier[(1,)](out, MENDED)
    elif name == "relaxed_lock":
        relaxed_lock[(3,)](Tensor(np.zeros(1, np.int32)), out, MENDED)
    elif name == "uninitialised_global":
        values = Tensor(np.zeros(64, np.int32)) if MENDED else Tensor.empty(64, np.int32)
        uninitialised_global[(1,)](values, out, BLOCK=64)
    elif name == "beyond":
        beyond[(9,)](out, 1024, MENDED)
    elif name == "copy_of_nothing":  #@ copy_of_nothing uninitialised-copy
        (out if MENDED else Tensor.empty(64, np.int32)).numpy()
    cuda.cuCtxSynchronize()


main(sys.argv[1])
