"""Times cublasSgemm beside the crate that computes it: speed.py SGEMM [ORDER], where SGEMM is the program of crates/linalg/examples/sgemm.rs.

Both compute on one thread; cuBLAS copies its operands from device memory and the result to it, and checks each access. Fails below a half."""

import ctypes as c
import subprocess
import sys
import time

import numpy as np
from device import Memory, handle, library

RUNS = 7


def main(program, order=1024):
    call = library("libcublas.so.12")
    blas, one, zero = handle(call, "cublasCreate_v2"), np.ones(1, np.float32), np.zeros(1, np.float32)
    rng = np.random.default_rng(1)
    a, b = (np.asfortranarray(rng.standard_normal((order, order)).astype(np.float32)) for _ in range(2))
    x, y, z = Memory(a), Memory(b), Memory(np.zeros((order, order), np.float32, order="F"))
    ours, theirs = [], []
    # In turns, so that both see the same load of the machine.
    for _ in range(RUNS):
        begun = time.perf_counter()
        call("cublasSgemm_v2", blas, 0, 0, order, order, order, one, x, order, y, order, zero, z, order)
        ours.append(time.perf_counter() - begun)
        theirs.append(float(subprocess.run([program, str(order)], capture_output=True, check=True, text=True).stdout))
    np.testing.assert_allclose(z.get(), a @ b, atol=order * 1e-5)
    operations = 2 * order**3
    share = min(theirs) / min(ours)
    print(f"sgemm {order}: {operations / min(ours) / 1e9:.1f} GFLOP/s, the crate alone {operations / min(theirs) / 1e9:.1f} GFLOP/s, {share:.2f} of it")
    return 0 if share >= 0.5 else 1


sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
