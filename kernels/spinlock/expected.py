"""Each of 160 threads gets the lock once, in any order."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

THREADS = 160

save(
    __file__,
    expected_order=np.arange(THREADS, dtype=np.uint32),
    expected_sum=np.array([sum(3 * t + 1 for t in range(THREADS))], np.uint32),
)
