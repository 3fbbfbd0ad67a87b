"""Smallest prime factors, by a sieve."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

COUNT = 180
LIMIT = 5000
smallest = list(range(LIMIT))
for p in range(2, LIMIT):
    if smallest[p] == p:
        for multiple in range(p * p, LIMIT, p):
            smallest[multiple] = min(smallest[multiple], p)
x = (random_bits(41, COUNT) % np.uint64(LIMIT - 2)).astype(np.uint32) + 2
save(__file__, x=x, expected_factor=np.array([smallest[v] for v in x.tolist()], np.uint32))
