"""Escape counts, every operation in float32 in the order of the source: equal to the last bit."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

F = np.float32


def counts(width, height, left, top, step, limit=1000):
    cr, ci = np.meshgrid(
        F(left) + F(step) * np.arange(width, dtype=F),
        F(top) + F(step) * np.arange(height, dtype=F),
    )
    zr, zi = np.zeros_like(cr), np.zeros_like(cr)
    n = np.zeros(cr.shape, np.uint16)
    alive = np.ones(cr.shape, bool)
    for _ in range(limit):
        rr, ii = zr * zr, zi * zi
        alive &= ~(rr + ii > F(4))
        n[alive] += 1
        # A pixel that has left keeps its z, as its lane does.
        zi = np.where(alive, F(2) * zr * zi + ci, zi)
        zr = np.where(alive, rr - ii + cr, zr)
    return n


save(
    __file__,
    expected_counts=counts(384, 256, -2.25, -1.0, 2.0**-7),
    expected_small=counts(60, 44, -0.78125, 0.125, 2.0**-10, limit=256),
)
