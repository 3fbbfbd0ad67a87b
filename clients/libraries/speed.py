"""Times cublasSgemm beside the crate that computes it: speed.py SGEMM [ORDER], where SGEMM is the program of crates/linalg/examples/sgemm.rs.

Both compute on one thread; cuBLAS copies its operands from device memory and the result to it, and checks each access. They run in turns, so
that both see the same load of the machine. Prints medians, and fails if cuBLAS is below a half of the crate."""

import statistics
import subprocess
import sys
import time

import numpy as np
from device import Memory, handle, library

RUNS = 31


def main(program, order=1024):
    call = library("libcublas.so.12")
    blas, one, zero = handle(call, "cublasCreate_v2"), np.ones(1, np.float32), np.zeros(1, np.float32)
    rng = np.random.default_rng(1)
    a, b = (np.asfortranarray(rng.standard_normal((order, order)).astype(np.float32)) for _ in range(2))
    x, y, z = Memory(a), Memory(b), Memory(np.zeros((order, order), np.float32, order="F"))
    crate = subprocess.Popen([program, str(order)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def alone():
        print(file=crate.stdin, flush=True)
        return float(crate.stdout.readline())

    def through_cublas():
        begun = time.perf_counter()
        call("cublasSgemm_v2", blas, 0, 0, order, order, order, one, x, order, y, order, zero, z, order)
        return time.perf_counter() - begun

    alone(), through_cublas()
    theirs, ours = zip(*((alone(), through_cublas()) for _ in range(RUNS)))
    crate.stdin.close()
    assert crate.wait() == 0
    np.testing.assert_allclose(z.get(), a @ b, atol=order * 1e-5)
    speeds = [2 * order**3 / statistics.median(times) / 1e9 for times in (ours, theirs)]
    share = statistics.median(their / our for their, our in zip(theirs, ours))
    print(f"sgemm {order}: medians of {RUNS}: cuBLAS {speeds[0]:.1f} GFLOP/s, the crate alone {speeds[1]:.1f} GFLOP/s; {share:.2f} of it")
    return 0 if share >= 0.5 else 1


sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
