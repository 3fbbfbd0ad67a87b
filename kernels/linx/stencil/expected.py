"""Sums of each element and its neighbours, on a plate with a rim of zeros."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

plate = (random_bits(91, 20 * 48) % np.uint64(1000)).astype(np.uint32).reshape(20, 48)
rim = np.pad(plate, 1)
sums = rim[1:-1, 1:-1] + rim[:-2, 1:-1] + rim[2:, 1:-1] + rim[1:-1, :-2] + rim[1:-1, 2:]
save(__file__, plate=plate, expected_sums=sums.astype(np.uint32))
