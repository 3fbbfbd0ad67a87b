"""A matrix product of numbers of which every sum is exact."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

M, N, K = 120, 96, 392


def matrix(seed, rows, columns):
    """Eighths from -4 to almost 4."""
    bits = random_bits(seed, rows * columns).astype(np.int64) % 64 - 32
    return (bits / 8).astype(np.float16).reshape(rows, columns)


a, b = matrix(11, M, K), matrix(12, N, K)
result = (a.astype(np.float64) @ b.T.astype(np.float64)).astype(np.float32)
# Products are 64ths below 16; all sums of them, in any order, fit 24 bits.
assert (np.abs(a.astype(np.float64)) @ np.abs(b.T.astype(np.float64))).max() * 64 < 2**24
save(__file__, a=a, b=b, expected_c=result)
