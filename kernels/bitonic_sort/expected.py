"""np.argsort of distinct keys, segment by segment."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

SEGMENTS, KEYS = 4, 1024

keys = random_bits(1, SEGMENTS * KEYS).astype(np.uint32).view(np.int32).reshape(SEGMENTS, KEYS)
values = np.arange(SEGMENTS * KEYS, dtype=np.uint32).reshape(SEGMENTS, KEYS)
order = np.argsort(keys, axis=1)
assert all(len(np.unique(segment)) == KEYS for segment in keys)
save(
    __file__,
    keys=keys,
    expected_keys=np.take_along_axis(keys, order, axis=1),
    expected_values=np.take_along_axis(values, order, axis=1),
)
