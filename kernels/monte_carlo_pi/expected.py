"""The same generators in NumPy's uint64, points in float32: equal counts, and a value of pi to be seen in them."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

THREADS, SAMPLES, SEED = 1024, 200, 42


def next_number(state, stream):
    old = state
    state = old * np.uint64(6364136223846793005) + stream
    mixed = (((old >> np.uint64(18)) ^ old) >> np.uint64(27)).astype(np.uint32)
    turn = (old >> np.uint64(59)).astype(np.uint32)
    return state, mixed >> turn | mixed << ((np.uint32(32) - turn) & np.uint32(31))


stream = 2 * np.arange(THREADS, dtype=np.uint64) + np.uint64(1)
state, _ = next_number(np.uint64(SEED) + stream, stream)
hits = np.zeros(THREADS, np.uint32)
for _ in range(SAMPLES):
    state, x = next_number(state, stream)
    state, y = next_number(state, stream)
    x, y = ((v >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24) for v in (x, y))
    hits += x * x + y * y < np.float32(1)

total = hits.sum(dtype=np.uint64)
assert abs(4 * total / (THREADS * SAMPLES) - np.pi) < 0.02
save(__file__, expected_hits=hits, expected_total=np.array([total], np.uint64))
