"""How often each byte value occurs."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

COUNT = 3000
# A product of two numbers, so that some values are frequent.
bits = random_bits(71, COUNT)
data = (((bits & np.uint64(15)) * ((bits >> np.uint64(8)) & np.uint64(15)))).astype(np.uint8)
save(__file__, data=data, expected_bins=np.bincount(data, minlength=256).astype(np.uint32))
