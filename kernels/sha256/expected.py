"""hashlib."""

import hashlib

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT = 150

bits = random_bits(1, COUNT)
lengths = (bits % np.uint64(200)).astype(int)
lengths[:8] = [0, 1, 55, 56, 63, 64, 119, 120]
starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
data = random_bits(2, int(starts[-1])).astype(np.uint8)
digests = [hashlib.sha256(data[a:b].tobytes()).digest() for a, b in zip(starts, starts[1:])]
save(
    __file__,
    messages=data,
    starts=starts,
    expected_digests=np.frombuffer(b"".join(digests), ">u4").astype(np.uint32).reshape(COUNT, 8),
)
