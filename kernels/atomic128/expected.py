"""Sums of squares in Python integers, modulo 2^128, as pairs of uint64 (low half first)."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, BUCKETS = 300, 7

values = random_bits(1, COUNT)
sums = [sum(int(v) ** 2 for v in values[b::BUCKETS]) % 2**128 for b in range(BUCKETS)]
halves = [[s % 2**64, s >> 64] for s in sums]
save(__file__, values=values, expected_sums=np.array(halves, np.uint64))
