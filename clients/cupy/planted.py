"""Planted defects in kernels of CuPy, one a name, and each without the defect: planted.py NAME [mended].

`clients/cpp/planted.py` runs them with `simtlab exec --check`. `//@ NAME KIND` at the end of a line says that the defect of that name
is found there, as of that kind; where the defect is in the host's part, the comment stands there.
"""

import pathlib
import sys

import cupy as cp

MENDED = len(sys.argv) > 2
TEXT = pathlib.Path(__file__).read_text()

KERNELS = r"""
extern "C" {

__global__ void shared_race(int *out) {
    __shared__ int tile[128];
    int i = threadIdx.x;
    tile[i] = i;  //@ shared_race race-in-block
    if (MENDED) __syncthreads();
    out[i] = tile[(i + 40) % 128];
}

__global__ void blocks_race(int *out) {
    if (threadIdx.x != 0) return;
    if (MENDED) atomicAdd(out, 1);
    else out[0] += 1;  //@ blocks_race race-between-blocks
}

__global__ void divergent_barrier(int *out) {
    int i = threadIdx.x;
    if (i % 2 == 0) {
        out[i] = i;
        if (!MENDED) __syncthreads();  //@ divergent_barrier divergent-barrier
    }
    if (MENDED) __syncthreads();
    out[i] += 1;
}

__global__ void absent_lanes(int *out) {
    int i = threadIdx.x;
    if (i % 32 < 16) out[i] = __shfl_xor_sync(MENDED ? 0xffff : 0xffffffff, i, 1);  //@ absent_lanes absent-lanes
    else out[i] = -i;
}

__global__ void uninitialised_global(int *out, const int *values) {
    int i = threadIdx.x;
    if (values[i] > 0) out[i] = 1;  //@ uninitialised_global uninitialised-global
    else out[i + 128] = 2;
}

__global__ void uninitialised_shared(int *out) {
    __shared__ int tile[128];
    int i = threadIdx.x;
    if (MENDED || i < 64) tile[i] = i;
    __syncthreads();
    if (tile[127 - i] > 40) atomicAdd(out + 1, 1);  //@ uninitialised_shared uninitialised-shared
}

__global__ void beyond(int *out) {
    out[threadIdx.x + (MENDED ? 0 : 4096)] = threadIdx.x;  //@ beyond fault
}

}
"""


def kernel(name):
    """A kernel whose lines are those of this file."""
    first = TEXT[: TEXT.index(KERNELS)].count("\n") + 1
    code = f'#define MENDED {int(MENDED)}\n#line {first} "{__file__}"\n{KERNELS}'
    return cp.RawModule(code=code, options=("-lineinfo",)).get_function(name)


def main(name):
    out = cp.zeros(256, cp.int32)
    if name == "uninitialised_global":
        values = (cp.zeros if MENDED else cp.empty)(128, cp.int32)
        kernel(name)((1,), (128,), (out, values))
    elif name == "copy_of_nothing":  #@ copy_of_nothing uninitialised-copy
        (out if MENDED else cp.empty(256, cp.int32)).get()
    else:
        blocks = 4 if name == "blocks_race" else 1
        kernel(name)((blocks,), (64 if name in ("divergent_barrier", "absent_lanes") else 128,), (out,))
    try:
        cp.cuda.runtime.deviceSynchronize()
    except cp.cuda.runtime.CUDARuntimeError as error:
        if name != "beyond":
            raise error


main(sys.argv[1])
