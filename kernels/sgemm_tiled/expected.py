"""C = A * B, each product added with one rounding. The zeros that fill up the last tile change nothing."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import fma32, save, uniform

M, N, K = 45, 61, 75

a = uniform(1, (M, K), -1, 1)
b = uniform(2, (K, N), -1, 1)
c = np.zeros((M, N), np.float32)
for i in range(K):
    c = fma32(a[:, i : i + 1], b[i : i + 1, :], c)

assert np.allclose(c, a.astype(float) @ b, atol=1e-5)
save(__file__, a=a, b=b, expected_c=c)
