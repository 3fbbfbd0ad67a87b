"""Planted defects in Python, one a name, and each without the defect: planted.py NAME [mended].

`clients/cpp/planted.py` runs them with `simtlab exec --check`. `#@ NAME KIND` at the end of a line says that the defect of that name
is found there, as of that kind; without a line in a kernel, the comment stands where the host's part is.
"""

import sys

import numpy as np
from numba import cuda, int32

MENDED = len(sys.argv) > 2


@cuda.jit(lineinfo=True)
def shared_race(out):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    tile[i] = i  #@ shared_race race-in-block
    if MENDED:
        cuda.syncthreads()
    out[i] = tile[(i + 40) % 128]


@cuda.jit(lineinfo=True)
def blocks_race(out):
    if cuda.threadIdx.x == 0:
        if MENDED:
            cuda.atomic.add(out, 0, 1)
        else:
            out[0] += 1  #@ blocks_race race-between-blocks


@cuda.jit(lineinfo=True)
def divergent_barrier(out):
    i = cuda.threadIdx.x
    if i % 2 == 0:
        out[i] = i
        if not MENDED:
            cuda.syncthreads()  #@ divergent_barrier divergent-barrier
    if MENDED:
        cuda.syncthreads()
    out[i] += 1


@cuda.jit(lineinfo=True)
def absent_lanes(out):
    i = cuda.threadIdx.x
    if i % 32 < 16:
        out[i] = cuda.shfl_xor_sync(0xFFFF if MENDED else 0xFFFFFFFF, i, 1)  #@ absent_lanes absent-lanes
    else:
        out[i] = -i


@cuda.jit(lineinfo=True)
def uninitialised_global(values, out):
    i = cuda.threadIdx.x
    if values[i] > 0:  #@ uninitialised_global uninitialised-global
        out[i] = 1
    else:
        out[i + 64] = 2


@cuda.jit(lineinfo=True)
def uninitialised_shared(out):
    tile = cuda.shared.array(128, int32)
    i = cuda.threadIdx.x
    if MENDED or i < 64:
        tile[i] = i
    cuda.syncthreads()
    if tile[127 - i] > 40:  #@ uninitialised_shared uninitialised-shared
        cuda.atomic.add(out, 1, 1)


@cuda.jit(lineinfo=True)
def beyond(out):
    i = cuda.threadIdx.x
    out[i if MENDED else i + 4096] = i  #@ beyond fault


def main(name):
    out = cuda.to_device(np.zeros(256, np.int32))
    if name == "uninitialised_global":
        values = cuda.device_array(64, np.int32)
        if MENDED:
            values = cuda.to_device(np.zeros(64, np.int32))
        uninitialised_global[1, 64](values, out)
    elif name == "copy_of_nothing":  #@ copy_of_nothing uninitialised-copy
        (out if MENDED else cuda.device_array(256, np.int32)).copy_to_host()
    else:
        blocks = 4 if name == "blocks_race" else 1
        globals()[name][blocks, 64 if name in ("divergent_barrier", "absent_lanes") else 128](out)
    try:
        cuda.synchronize()
    except Exception as error:
        if name != "beyond":
            raise error


main(sys.argv[1])
