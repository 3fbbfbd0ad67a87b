"""A matrix product and sum of numbers of which every sum is exact; B is stored by columns."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

M, N, K = 48, 64, 80


def matrix(seed, rows, columns):
    """Eighths from -4 to almost 4."""
    bits = random_bits(seed, rows * columns).astype(np.int64) % 64 - 32
    return (bits / 8).astype(np.float16).reshape(rows, columns)


a, b, c = matrix(3, M, K), matrix(4, N, K), matrix(5, M, N).astype(np.float32)
wide = [x.astype(np.float64) for x in (a, b, c)]
# Products are 64ths below 16; 80 of them and their sums fit 24 bits.
assert (np.abs(wide[0]) @ np.abs(wide[1]).T + np.abs(wide[2])).max() * 64 < 2**24
result = (wide[0] @ wide[1].T + wide[2]).astype(np.float32)
save(__file__, a=a, b=b, c=c, expected_d=result)
