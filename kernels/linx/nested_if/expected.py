"""Classes of numbers: below -50, below 0, odd, above 50, the rest."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from oracle import random_bits, save

COUNT = 150
x = (random_bits(31, COUNT) % np.uint64(201)).astype(np.int32) - 100
classes = [5] * COUNT
for i, value in enumerate(x.tolist()):
    if value < 0:
        classes[i] = 1 if value < -50 else 2
    elif value % 2 == 1:
        classes[i] = 3
    elif value > 50:
        classes[i] = 4
save(__file__, x=x, expected_class=np.array(classes, np.int32))
