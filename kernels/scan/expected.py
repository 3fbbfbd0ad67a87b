"""np.cumsum, modulo 2^32."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

data = random_bits(1, 5_000).astype(np.uint32)
save(__file__, input=data, expected=np.cumsum(data, dtype=np.uint32))
