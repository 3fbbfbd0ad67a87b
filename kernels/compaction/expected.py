"""Indexing with a mask."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, BLOCK = 2_900, 160

data = (random_bits(1, COUNT) % np.uint64(100_000)).astype(np.uint32)
mask = data % 7 < 3
output = np.zeros(COUNT, np.uint32)
output[: mask.sum()] = data[mask]
counts = [mask[start : start + BLOCK].sum() for start in range(0, COUNT, BLOCK)]
save(__file__, input=data, expected_output=output, expected_counts=np.array(counts, np.uint32))
