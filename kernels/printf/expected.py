"""Sums of proper divisors by a sieve over the divisors."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

FIRST, COUNT = 2, 600

sums = np.zeros(FIRST + COUNT, np.uint32)
for d in range(1, len(sums)):
    sums[2 * d :: d] += d
assert [n for n in range(FIRST, FIRST + COUNT) if sums[n] == n] == [6, 28, 496]
save(__file__, expected_sums=sums[FIRST:])
