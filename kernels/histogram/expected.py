"""np.bincount over bytes that crowd in a few bins: the low byte of the product of two random nibbles and a constant."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

bits = random_bits(1, 20_011)
data = ((bits & np.uint64(15)) * (bits >> np.uint64(60)) + np.uint64(40)).astype(np.uint8)
bins = np.bincount(data, minlength=256).astype(np.uint32)
assert bins.sum() == len(data) and (bins == 0).any() and bins.max() > 1000
save(__file__, data=data, expected_bins=bins)
