"""Softmax of each row in double precision."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import save, uniform

x = uniform(101, (12, 50), -6, 6)
e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
save(__file__, x=x, expected_y=(e / e.sum(axis=1, keepdims=True)).astype(np.float32))
