"""Smallest elements by sorting; contents of each segment as a multiset by sorting, too; rounds by the algorithm in Python."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

COUNT, LENGTH = 200, 37
data = (random_bits(3, COUNT * LENGTH) >> np.uint64(40)).astype(np.uint32).reshape(COUNT, LENGTH)
data[0] = np.arange(LENGTH)
data[1] = np.arange(LENGTH)[::-1]
data[2] = 5


def partition(a, n):
    pivot, i, j = a[n // 2], 0, n - 1
    while True:
        while a[i] < pivot:
            i += 1
        while a[j] > pivot:
            j -= 1
        if i >= j:
            return j + 1
        a[i], a[j] = a[j], a[i]
        i, j = i + 1, j - 1


after, rounds = data.copy(), []
for row in after:
    a, n, r = row.tolist(), LENGTH, 0
    while n > 1:
        left = partition(a, n)
        n = left if left < n else n - 1
        r += 1
    assert sorted(a) == sorted(row.tolist())
    assert a[0] == min(a)
    row[:] = a
    rounds.append(r)
save(__file__, data=data, expected_data=after, expected_rounds=np.array(rounds, np.uint32))
