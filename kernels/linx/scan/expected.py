"""Inclusive prefix sums modulo 2^32."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

x = (random_bits(61, 20 * 32) % np.uint64(1 << 29)).astype(np.uint32).reshape(20, 32)
sums, running = [], 0
for value in x.flatten().tolist():
    running = (running + value) % 2**32
    sums.append(running)
save(__file__, x=x, expected_sums=np.array(sums, np.uint32).reshape(20, 32))
