"""fma in exact rational arithmetic with one rounding, the tree of additions as in the source."""

import math
from fractions import Fraction

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, GRID, BLOCK = 2_500, 6, 128


def uniform(seed):
    return (random_bits(seed, COUNT) >> np.uint64(11)).astype(float) / 2**52 - 1


x, y = uniform(1), uniform(2)
value = np.zeros(GRID * BLOCK)
for i in range(COUNT):
    slot = i % (GRID * BLOCK)
    # Division of integers, and with it float(Fraction), rounds once.
    value[slot] = float(Fraction(x[i]) * Fraction(y[i]) + Fraction(value[slot]))

partial = value.reshape(GRID, BLOCK)
while partial.shape[1] > 1:
    half = partial.shape[1] // 2
    partial = partial[:, :half] + partial[:, half:]
sums = partial[:, 0]
total = math.fsum(sums)
assert abs(total - math.fsum(x * y)) < 1e-12
save(__file__, x=x, y=y, expected_sums=sums, expected_total=np.array([total]))
