"""A search with a queue, over a sparse graph with a few hubs and vertices that cannot be reached."""

from collections import deque

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

VERTICES, LEVELS = 1_500, 12

bits = random_bits(1, 4 * VERTICES)
degrees = (bits[:VERTICES] % np.uint64(5)).astype(int)
degrees[::97] = 40
targets = (random_bits(2, int(degrees.sum())) % np.uint64(VERTICES)).astype(np.uint32)
rows = np.concatenate([[0], np.cumsum(degrees)]).astype(np.uint32)

distances = np.full(VERTICES, -1, np.int32)
distances[0] = 0
queue = deque([0])
while queue:
    v = queue.popleft()
    for w in targets[rows[v] : rows[v + 1]]:
        if distances[w] < 0:
            distances[w] = distances[v] + 1
            queue.append(w)

found = np.bincount(distances[distances > 0] - 1, minlength=LEVELS).astype(np.uint32)
assert 4 <= distances.max() < LEVELS and (distances < 0).sum() > 50, (distances.max(), (distances < 0).sum())
start = np.full(VERTICES, -1, np.int32)
start[0] = 0
save(__file__, rows=rows, columns=targets, distances=start, expected_distances=distances, expected_found=found)
