"""Rows of integers less the largest of their row."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

ROWS, COLUMNS = 5, 1800

rows = (random_bits(21, ROWS * COLUMNS).astype(np.int64) % 200_001 - 150_000).astype(np.int32).reshape(ROWS, COLUMNS)
# The largest number is in another quarter, so in another block, in each row but the last.
for row in range(4):
    rows[row, 450 * row + 7] = 60_000 + row
largest = np.array([max(row.tolist()) for row in rows], np.int32)
save(__file__, rows=rows, expected_largest=largest, expected_out=rows - largest[:, None])
