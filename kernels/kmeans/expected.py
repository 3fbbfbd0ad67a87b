"""Four rounds of k-means in Python integers."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, CLUSTERS, ROUNDS = 2_000, 6, 4

bits = random_bits(1, COUNT)
blob = (bits % np.uint64(CLUSTERS)).astype(int)
spread = np.stack([(bits >> np.uint64(8 + 12 * i) & np.uint64(4095)).astype(int) - 2048 for i in range(2)], axis=1)
hubs = np.array([[-20000, 5000], [-5000, -12000], [0, 9000], [7000, 0], [15000, 15000], [20000, -9000]])
points = (hubs[blob] + 3 * spread).astype(np.int16)
start = points[[5, 17, 100, 101, 102, 1500]].astype(np.int32)

centres = start.astype(int).copy()
labels = np.full(COUNT, 255, np.uint8)
moved = []
for _ in range(ROUNDS):
    distances = ((points[:, None, :].astype(int) - centres[None]) ** 2).sum(-1)
    nearest = distances.argmin(1).astype(np.uint8)
    moved.append((nearest != labels).sum())
    labels = nearest
    for c in range(CLUSTERS):
        members = points[labels == c].astype(int)
        if len(members):
            # Integer division in Python rounds down, in CUDA toward zero.
            total = members.sum(0)
            centres[c] = np.sign(total) * (abs(total) // len(members))

assert moved[0] == COUNT and 0 < moved[-1] < COUNT // 2, moved
save(
    __file__,
    points=points,
    centres=start,
    expected_centres=centres.astype(np.int32),
    expected_labels=labels,
    expected_moved=np.array([sum(moved)], np.uint32),
)
