"""A matrix product of numbers of which every sum is exact."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

M, N, K = 128, 64, 96


def matrix(seed, rows, columns):
    """Eighths from -4 to almost 4."""
    bits = random_bits(seed, rows * columns).astype(np.int64) % 64 - 32
    return (bits / 8).astype(np.float16).reshape(rows, columns)


a, b = matrix(1, M, K), matrix(2, K, N)
# Products are 64ths below 16; 96 of them and their sums fit 24 bits.
result = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
assert (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))).max() * 64 < 2**24
save(__file__, a=a, b=b, expected_c=result)
