"""The four functions over Python integers."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, ROUNDS = 500, 6


def murmur(h, _):
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def fnv(h, key):
    for byte in key.to_bytes(4, "little"):
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return h


def xorshift(h, key):
    h ^= h << 13 & 0xFFFFFFFF
    h ^= h >> 17
    return (h ^ h << 5 & 0xFFFFFFFF) + key & 0xFFFFFFFF


def crc(h, key):
    h ^= key
    for _ in range(32):
        h = h >> 1 ^ 0xEDB88320 if h & 1 else h >> 1
    return h


mixers = [murmur, fnv, xorshift, crc]
which = (random_bits(1, COUNT) % np.uint64(4)).astype(np.uint8)
which[:32] = 2
results = []
for i, first in enumerate(map(int, which)):
    h = 0x811C9DC5 + i
    for step in range(ROUNDS):
        h = mixers[(first + step) % 4](h, step)
    results.append(h)
save(__file__, which=which, expected_results=np.array(results, np.uint32))
