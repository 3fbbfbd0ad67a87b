"""The same in float32; bfloat16 is its upper half, rounded to nearest even. NumPy stores it as uint16."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import fma32, save, uniform

ROWS, COLUMNS, EPSILON = 30, 100, np.float32(1e-5)


def to_bf16(x):
    bits = x.view(np.uint32)
    return (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16)).astype(np.uint16)


def from_bf16(h):
    return (h.astype(np.uint32) << np.uint32(16)).view(np.float32)


values = to_bf16(uniform(1, (ROWS, COLUMNS), -3, 3))
weights = to_bf16(uniform(2, COLUMNS, 0.5, 1.5))

x = from_bf16(values)
squares = np.zeros((ROWS, 32), np.float32)
for start in range(0, COLUMNS, 32):
    part = x[:, start : start + 32]
    n = part.shape[1]
    squares[:, :n] = fma32(part, part, squares[:, :n])
for distance in (16, 8, 4, 2, 1):
    squares = squares + squares[:, np.arange(32) ^ distance]
scale = np.float32(1) / np.sqrt(squares[:, :1] / np.float32(COLUMNS) + EPSILON)
result = to_bf16(x * scale * from_bf16(weights))

exact = x.astype(float) / np.sqrt((x.astype(float) ** 2).mean(1, keepdims=True) + 1e-5) * from_bf16(weights)
assert np.allclose(from_bf16(result), exact, rtol=2**-8, atol=1e-6)
save(__file__, input=values, weights=weights, expected=result)
