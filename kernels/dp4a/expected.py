"""A matrix product in wide integers."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

OUTPUTS, INPUTS, SHIFT = 100, 144, 9

weights = random_bits(1, OUTPUTS * INPUTS).astype(np.uint8).view(np.int8).reshape(OUTPUTS, INPUTS)
inputs = random_bits(2, INPUTS).astype(np.uint8).view(np.int8)
bias = (random_bits(3, OUTPUTS) % np.uint64(100_000)).astype(np.int32) - 30_000
total = weights.astype(int) @ inputs.astype(int) + bias
result = np.clip((total + 2 ** (SHIFT - 1)) >> SHIFT, 0, 255).astype(np.uint8)
assert (result == 0).any() and (result == 255).any() and len(np.unique(result)) > 20
save(__file__, weights=weights, input=inputs, bias=bias, expected_result=result)
