"""a * x + y with one rounding to half precision, subnormals and overflow included."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import fma16, random_bits, save

COUNT = 2_001
A = np.float16(-1.732)

x, y = (random_bits(seed, COUNT).astype(np.uint16).view(np.float16) for seed in (1, 2))
# Every finite bit pattern may occur; infinities and NaN are tested elsewhere.
x, y = (np.where(np.isfinite(v), v, np.float16(0.5)) for v in (x, y))
result = fma16(A, x, y)
assert np.isinf(result).any() and (np.abs(result) < 2.0**-14).any()
save(__file__, x=x, y=y, expected_y=result)
