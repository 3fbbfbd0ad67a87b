"""np.median over windows of the padded signal, for two radii."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT = 1_100

bits = random_bits(1, COUNT)
signal = (2000 * np.sin(np.arange(COUNT) / 40)).astype(np.int32)
signal += (bits % np.uint64(300)).astype(np.int32)
# Spikes, which a median takes out.
signal[bits >> np.uint64(60) == 0] = 100_000


def median(data, radius):
    padded = np.pad(data, radius, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1), axis=1).astype(np.int32)


save(__file__, input=signal, expected_narrow=median(signal, 2), expected_wide=median(signal, 9))
