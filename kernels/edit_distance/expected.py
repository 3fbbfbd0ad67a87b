"""The textbook's table, row by row, over words that are edited copies of each other."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

PAIRS, LONGEST = 12, 96


def distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(row[-1] + 1, before[j] + 1, before[j - 1] + (x != y)))
        before = row
    return before[-1]


words = []
for pair in range(PAIRS):
    bits = random_bits(100 + pair, 200).astype(np.uint32)
    a = [int(v % 4) + ord("a") for v in bits[: bits[199] % (LONGEST + 1)]]
    b = [x if v % 5 else int(v % 3) + ord("a") for x, v in zip(a, bits[100:]) if v % 11]
    words += [a, b]
words[4] = []
words[7] = list(b"kitten")
words[6] = list(b"sitting")

starts = np.cumsum([0] + [len(w) for w in words]).astype(np.uint32)
distances = [distance(a, b) for a, b in zip(words[::2], words[1::2])]
assert distances[3] == 3 and max(map(len, words)) <= LONGEST
save(
    __file__,
    words=np.array([x for w in words for x in w], np.uint8),
    starts=starts,
    expected_distances=np.array(distances, np.uint32),
)
