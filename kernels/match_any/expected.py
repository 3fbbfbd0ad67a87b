"""np.bincount, and the number of distinct keys in each warp's share."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, KEYS = 3_010, 40

bits = random_bits(1, COUNT)
# Runs of equal keys in the first half, scattered ones in the second.
keys = np.where(np.arange(COUNT) < COUNT // 2, np.arange(COUNT) // 23 % KEYS, (bits % np.uint64(KEYS)).astype(int))
shares = [keys[start : start + 32] for start in range(0, COUNT, 32)]
save(
    __file__,
    keys=keys.astype(np.uint32),
    expected_counts=np.bincount(keys, minlength=KEYS).astype(np.uint32),
    expected_additions=np.array([sum(len(set(share.tolist())) for share in shares)], np.uint32),
)
