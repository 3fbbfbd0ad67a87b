"""Sums and the maximum; the float sum in the order of groups of 64."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save, uniform

COUNT = 500
x = (random_bits(51, COUNT) % np.uint64(1 << 20)).astype(np.int32) - (1 << 19)
f = uniform(52, COUNT, 0, 1)
total = np.float32(0)
for start in range(0, COUNT, 64):
    part = np.float32(0)
    for value in f[start : start + 64]:
        part = part + value
    total = total + part
result = np.array([x.astype(np.int64).sum(), x.max()], np.int64)
save(__file__, x=x, f=f, expected_result=result, expected_total=np.array([total], np.float32))
