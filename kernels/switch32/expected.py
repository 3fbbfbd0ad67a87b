"""The same interpreter over Python integers, cut to 32 bits after each operation."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

THREADS, LENGTH = 400, 40


def signed(x):
    return x - 2**32 if x >= 2**31 else x


OPERATIONS = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * (y | 1),
    lambda x, y: x ^ y,
    lambda x, y: x & (y | 0xFFFF0000),
    lambda x, y: x | (y & 0xFF),
    lambda x, y: ~x,
    lambda x, y: -x,
    lambda x, y: x << (y & 7),
    lambda x, y: x >> (y & 7),
    lambda x, y: x << 11 | x >> 21,
    lambda x, y: x.bit_count() + y,
    lambda x, y: (32 - x.bit_length()) ^ y,
    lambda x, y: int(f"{x:032b}"[::-1], 2),
    lambda x, y: x % 1000003 + y,
    lambda x, y: x // 7 + y,
    lambda x, y: abs(x - y),
    lambda x, y: min(x, y) + 17,
    lambda x, y: max(x, y) - 17,
    lambda x, y: x * y >> 32,
    lambda x, y: x * x + y,
    lambda x, y: x * 69069 + 1,
    lambda x, y: (x & 0x00FF00FF) << 8 | (x >> 8 & 0x00FF00FF),
    lambda x, y: x << 16 | x >> 16,
    lambda x, y: signed(x) >> 3,
    lambda x, y: int(signed(x) / 5),
    lambda x, y: x if signed(x) < signed(y) else y,
    lambda x, y: x ^ x >> 15,
    lambda x, y: x ^ x << 7,
    lambda x, y: (x & 0xFFFF) * (y & 0xFFFF),
    lambda x, y: x // 2 ^ 0xEDB88320 if x & 1 else x // 2,
    lambda x, y: x + (x << 3 ^ y >> 5),
]

programs = (random_bits(1, THREADS * LENGTH) % np.uint64(32)).astype(np.uint8).reshape(THREADS, LENGTH)
# The first warp runs one program in all its lanes, the second one in lanes that differ in their last five steps.
programs[:32] = programs[0]
programs[32:64, :-5] = programs[32, :-5]

results = []
for thread, program in enumerate(programs):
    x, y = thread, 0x9E3779B9
    for operation in program:
        x, y = y, OPERATIONS[operation](x, y) & 0xFFFFFFFF
    results.append(x ^ y)

assert set(programs.flat) == set(range(32))
save(__file__, programs=programs, expected_results=np.array(results, np.uint32))
