"""Placements as permutations: all diagonals different."""

from itertools import permutations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save

N = 8

solutions = np.zeros(N * N, np.uint32)
for p in permutations(range(N)):
    if len({r + c for r, c in enumerate(p)}) == N and len({r - c for r, c in enumerate(p)}) == N:
        solutions[p[0] * N + p[1]] += 1
assert solutions.sum() == 92
save(__file__, expected_solutions=solutions, expected_total=np.array([solutions.sum()], np.uint32))
