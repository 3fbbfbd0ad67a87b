"""y = 3 x where x is positive, else 7 - x."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

COUNT = 200
x = (random_bits(21, COUNT) % np.uint64(2001)).astype(np.int32) - 1000
# One group takes one side only, one the other.
x[64:96] = abs(x[64:96]) + 1
x[128:160] = -abs(x[128:160])
save(__file__, x=x, expected_y=np.where(x > 0, 3 * x, 7 - x).astype(np.int32))
