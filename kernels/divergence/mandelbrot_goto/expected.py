"""Escape counts and cycles in NumPy's single precision, all points at once: each operation rounds as in the kernel."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import save

W, H, LIMIT = 48, 32, 200
f = np.float32
x, y = np.meshgrid(np.arange(W, dtype=f), np.arange(H, dtype=f))
cr = f(-2) + f(2.5) * x / f(W)
ci = f(-1.25) + f(2.5) * y / f(H)
zr, zi, oldr, oldi = (np.zeros((H, W), f) for _ in range(4))
result = np.zeros((H, W), np.uint32)
live = np.ones((H, W), bool)
period = 8
with np.errstate(all="ignore"):
    for n in range(LIMIT + 1):
        if n == LIMIT:
            result[live] = 0x40000 | n
            break
        r2, i2 = zr * zr, zi * zi
        gone = live & (r2 + i2 > f(4))
        result[gone] = n
        live &= ~gone
        zi = np.where(live, f(2) * zr * zi + ci, zi)
        zr = np.where(live, r2 - i2 + cr, zr)
        same = live & (zr == oldr) & (zi == oldi)
        result[same] = (0x10000 if n + 1 < 64 else 0x20000) | (n + 1)
        live &= ~same
        if n + 1 == period:
            period *= 2
            oldr, oldi = zr.copy(), zi.copy()
save(__file__, expected_counts=result)
