"""C = alpha * A * B + beta * C, each product added to the sum with one rounding, in the order of the source."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import fma32, save, uniform

M, N, K = 53, 70, 45
ALPHA, BETA = np.float32(1.5), np.float32(-0.3)

a = uniform(1, (M, K), -1, 1)
b = uniform(2, (K, N), -1, 1)
c = uniform(3, (M, N), -1, 1)

total = np.zeros((M, N), np.float32)
for i in range(K):
    total = fma32(a[:, i : i + 1], b[i : i + 1, :], total)
result = fma32(ALPHA, total, BETA * c)

# The rounding errors of 45 additions are small: a matrix product in float64 is close.
assert np.allclose(result, 1.5 * (a.astype(float) @ b) + float(BETA) * c, atol=1e-5)
save(__file__, a=a, b=b, c=c, expected_c=result)
