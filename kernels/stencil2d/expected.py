"""Three steps on whole arrays, with float32 additions in the order of the source."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save, uniform

WIDTH, HEIGHT = 100, 75


def step(plate):
    after = plate.copy()
    vertical = plate[:-2, 1:-1] + plate[2:, 1:-1]
    horizontal = plate[1:-1, :-2] + plate[1:-1, 2:]
    after[1:-1, 1:-1] = np.float32(0.25) * (vertical + horizontal)
    return after


plate = uniform(1, (HEIGHT, WIDTH), 0, 100)
two = step(step(plate))
save(__file__, plate=plate, expected_two=two, expected_three=step(two))
