"""Smallest prime factors by division by every prime up to 65,535, from a sieve; numbers of every kind in between."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

sieve = np.ones(65_536, bool)
sieve[:2] = False
for p in range(2, 256):
    if sieve[p]:
        sieve[p * p :: p] = False
primes = np.flatnonzero(sieve)

COUNT = 3_000
bits = random_bits(1, COUNT)
# From 2 to 24 bits long, all lengths alike, so loops end after very different numbers of steps.
numbers = ((bits & np.uint64(0xFFFFFF)) >> (bits >> np.uint64(32)) % np.uint64(23)).astype(np.uint32)
edges = [0, 1, 2, 3, 4, 5, 7, 9, 25, 35, 49, 121, 65521, 65536, 1042441, 16777213, 4294836225, 4294967291, 4294967295]
numbers[: len(edges)] = edges

factors = np.where(numbers < 2, 0, numbers).astype(np.uint32)
for p in primes[::-1]:
    factors[(numbers % p == 0) & (numbers >= p)] = p
save(__file__, numbers=numbers, expected_factors=factors)
