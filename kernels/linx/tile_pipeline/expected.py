"""C = 2 relu(A B + bias), products summed with one rounding a step in ascending order; the largest of each row."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import fma32, save, uniform

BIAS = np.float32(0.25)
a, b = uniform(81, (16, 24), -1, 1), uniform(82, (24, 20), -1, 1)
acc = np.zeros((16, 20), np.float32)
for k in range(24):
    acc = fma32(a[:, k : k + 1], b[k : k + 1, :], acc)
c = np.maximum(acc + BIAS, np.float32(0)) * np.float32(2)
save(__file__, a=a, b=b, expected_c=c, expected_largest=c.max(axis=1, keepdims=True))
