"""Multiples of three in order, in a ring of 41 words of which one stays free."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

CAPACITY = 41
x = (random_bits(111, 150) % np.uint64(10000)).astype(np.uint32)
found = [v for v in x.tolist() if v % 3 == 0]
kept = found[: CAPACITY - 1]
assert len(found) > len(kept), "the queue must run full"
queue = np.zeros(4 + CAPACITY, np.uint32)
queue[2] = CAPACITY
full = queue.copy()
full[1] = len(kept) % CAPACITY
full[4 : 4 + len(kept)] = kept
save(
    __file__,
    x=x,
    queue=queue,
    expected_queue=full,
    expected_lost=np.array([len(found) - len(kept)], np.uint32),
)
