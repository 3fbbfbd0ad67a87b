"""bytes.find in a text of two letters, with a pattern that overlaps itself."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

LENGTH, PATTERN = 10_000, b"abaababaaba"

bits = random_bits(1, LENGTH)
text = np.where(bits >> np.uint64(63), ord("b"), ord("a")).astype(np.uint8)
# The pattern itself in some places, and many near misses.
for start, cut in zip(range(0, LENGTH - 40, 40), bits % np.uint64(len(PATTERN) + 4)):
    piece = PATTERN[: int(cut)]
    text[start + 3 : start + 3 + len(piece)] = np.frombuffer(piece, np.uint8)

found = np.zeros(LENGTH, np.uint8)
start = text.tobytes().find(PATTERN)
while start >= 0:
    found[start] = 1
    start = text.tobytes().find(PATTERN, start + 1)

assert found.sum() > 50
save(
    __file__,
    text=text,
    pattern=np.frombuffer(PATTERN, np.uint8),
    expected_found=found,
    expected_count=np.array([found.sum()], np.uint32),
)
