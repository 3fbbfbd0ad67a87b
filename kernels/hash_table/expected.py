"""A Counter. Where keys end up depends on the order of insertion, so the table is compared as a multiset."""

from collections import Counter

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, SIZE = 1_700, 2_048

inputs = (random_bits(1, COUNT) % np.uint64(5_000) + np.uint64(1)).astype(np.uint32)
inputs[::50] = 4711
queries = (random_bits(2, COUNT) % np.uint64(5_000) + np.uint64(1)).astype(np.uint32)
queries[::100] = 4711
counter = Counter(inputs.tolist())
table = np.zeros(SIZE, np.uint32)
table[: len(counter)] = sorted(counter)
save(
    __file__,
    input=inputs,
    queries=queries,
    expected_keys=table,
    expected_results=np.array([counter[q] for q in queries.tolist()], np.uint32),
)
