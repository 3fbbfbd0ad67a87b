"""y = a * x + y with one rounding an element."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import fma32, save, uniform

COUNT = 1000
A = np.float32(2.7182817)

x = uniform(11, COUNT, -1, 1)
y = uniform(12, COUNT, -8, 8)
save(__file__, x=x, y=y, expected_y=fma32(A, x, y))
