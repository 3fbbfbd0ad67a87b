"""A matrix of distinct numbers, transposed."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

HEIGHT, WIDTH = 75, 100

save(__file__, expected=np.arange(HEIGHT * WIDTH, dtype=np.uint32).reshape(HEIGHT, WIDTH).T)
