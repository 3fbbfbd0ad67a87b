"""Counts steps of Collatz sequences, on numba-cuda: lanes leave the loop one after another."""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def steps(out):
    thread = cuda.grid(1)
    n, count = thread + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    out[thread] = count


out = cuda.to_device(np.zeros(8, dtype=np.int64))
for _ in range(3):
    steps[1, 8](out)
print(out.copy_to_host().tolist())
