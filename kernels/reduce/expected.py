"""The same tree of float32 additions as the kernel's, so the sums are equal to the last bit."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save, uniform

COUNT, GRID, BLOCK = 10_000, 10, 256


def warp_sum(values):
    """values[..., 32] -> lane 0's sum: each lane adds the lane `offset` above it, or itself where there is none."""
    lanes = np.arange(32)
    for offset in (16, 8, 4, 2, 1):
        source = np.where(lanes + offset < 32, lanes + offset, lanes)
        values = values + values[..., source]
    return values[..., 0]


def reduce(data, grid, block):
    value = np.zeros(grid * block, np.float32)
    for start in range(0, len(data), grid * block):
        share = data[start : start + grid * block]
        value[: len(share)] += share
    warps = warp_sum(value.reshape(grid, block // 32, 32))
    last = np.zeros((grid, 32), np.float32)
    last[:, : block // 32] = warps
    return warp_sum(last)


data = uniform(1, COUNT, -1, 3)
sums = reduce(data, GRID, BLOCK)
total = reduce(sums, 1, 32)
assert sums.dtype == np.float32 and abs(float(total[0]) - data.astype(float).sum()) < 0.05
save(__file__, input=data, expected_sums=sums, expected_total=total)
