"""Collatz sequences in Python's own integers, with the tails of sequences already known."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

COUNT = 10_007

known = {1: (0, 1)}
for start in range(2, COUNT + 1):
    path = [start]
    while path[-1] not in known:
        n = path[-1]
        path.append(n // 2 if n % 2 == 0 else 3 * n + 1)
    length, peak = known[path.pop()]
    for n in reversed(path):
        length, peak = length + 1, max(peak, n)
        known[n] = (length, peak)

save(
    __file__,
    expected_steps=np.array([known[n][0] for n in range(1, COUNT + 1)], np.uint32),
    expected_peaks=np.array([known[n][1] for n in range(1, COUNT + 1)], np.uint64),
)
