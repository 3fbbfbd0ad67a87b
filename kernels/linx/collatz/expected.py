"""Steps of Collatz sequences, each number on its own."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import save


def steps(n):
    count = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    return count


save(__file__, expected_steps=np.array([steps(n) for n in range(1, 151)], np.uint32))
