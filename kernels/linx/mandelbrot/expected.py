"""Escape counts in single precision, each operation rounded as the kernel rounds it."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import fma32, save

WIDTH, HEIGHT, ROUNDS = 64, 24, 40
X0, DX, Y0, DY = (np.float32(v) for v in (-2.0, 0.046875, -1.2, 0.1))

cx = fma32(np.arange(WIDTH, dtype=np.float32)[None, :], DX, X0) + np.zeros((HEIGHT, 1), np.float32)
cy = fma32(np.arange(HEIGHT, dtype=np.float32)[:, None], DY, Y0) + np.zeros((1, WIDTH), np.float32)
x, y = np.zeros_like(cx), np.zeros_like(cy)
counts = np.zeros((HEIGHT, WIDTH), np.uint32)
alive = np.ones((HEIGHT, WIDTH), bool)
with np.errstate(over="ignore", invalid="ignore"):
    for _ in range(ROUNDS):
        x2, y2 = x * x, y * y
        alive &= (x2 + y2) <= np.float32(4)
        counts[alive] += 1
        xy = x * y
        x, y = (x2 - y2) + cx, (xy + xy) + cy
save(__file__, expected_counts=counts)
