"""Row by row, with the roundings and the order of additions of each of the two kernels."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import fma32, random_bits, save, uniform

ROWS, COLUMNS = 300, 250

# Lengths fall off quickly: most rows are short, a few are as long as a hundred or more.
u = uniform(1, ROWS, 0, 1).astype(float)
lengths = np.minimum((2 / (u + 0.015)).astype(int) - 1, 150)
starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
columns = (random_bits(2, int(starts[-1])) % np.uint64(COLUMNS)).astype(np.uint32)
values = uniform(3, int(starts[-1]), -1, 1)
x = uniform(4, COLUMNS, -1, 1)

scalar = np.zeros(ROWS, np.float32)
vector = np.zeros(ROWS, np.float32)
for row in range(ROWS):
    share = slice(starts[row], starts[row + 1])
    v, w = values[share], x[columns[share]]
    for i in range(len(v)):
        scalar[row] = fma32(v[i], w[i], scalar[row])
    lanes = np.zeros(32, np.float32)
    for start in range(0, len(v), 32):
        n = len(v[start : start + 32])
        lanes[:n] = fma32(v[start : start + 32], w[start : start + 32], lanes[:n])
    for distance in (16, 8, 4, 2, 1):
        lanes = lanes + lanes[np.arange(32) ^ distance]
    vector[row] = lanes[0]

assert lengths.min() == 0 and np.allclose(scalar, vector, atol=1e-4) and (scalar != vector).any()
save(
    __file__,
    starts=starts,
    columns=columns,
    values=values,
    x=x,
    expected_scalar=scalar,
    expected_vector=vector,
)
