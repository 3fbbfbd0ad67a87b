"""A matrix times a vector, of integers."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

ROWS, COLUMNS = 300, 320


def numbers(seed, *shape):
    bits = random_bits(seed, int(np.prod(shape))).astype(np.int64)
    return (bits % 2001 - 1000).astype(np.int32).reshape(shape)


a, x = numbers(31, ROWS, COLUMNS), numbers(32, COLUMNS)
product = np.array([sum(int(p) * int(q) for p, q in zip(row, x)) for row in a])
assert np.abs(product).max() < 2**31
save(__file__, a=a.astype(np.int16), x=x, expected_y=product.astype(np.int32))
