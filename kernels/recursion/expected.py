"""The same recursion over Python's floats (IEEE doubles), and a check against the integral in closed form."""

import math

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import random_bits, save

COUNT, TOLERANCE = 200, 1e-9


def integrate(e, a, width, fa, fm, fb, whole, tolerance):
    """The integral and the number of calls."""
    half = 0.5 * width
    fl, fr = function(a + 0.5 * half, e), function(a + 1.5 * half, e)
    left, right = simpson(fa, fl, fm, half), simpson(fm, fr, fb, half)
    error = left + right - whole
    if abs(error) <= 15.0 * tolerance:
        return left + right + error / 15.0, 1
    first, calls1 = integrate(e, a, half, fa, fl, fm, left, 0.5 * tolerance)
    second, calls2 = integrate(e, a + half, half, fm, fr, fb, right, 0.5 * tolerance)
    return first + second, 1 + calls1 + calls2


def function(x, e):
    return 1.0 / (x * x + e)


def simpson(fa, fm, fb, width):
    return width / 6.0 * (fa + 4.0 * fm + fb)


# From 2^-8 to 1: the smaller, the steeper.
parameters = 2.0 ** -(8 * (random_bits(1, COUNT) >> np.uint64(40)).astype(float) / 2**24)
results, calls = [], []
for e in map(float, parameters):
    fa, fm, fb = (function(x, e) for x in (0.0, 0.5, 1.0))
    result, count = integrate(e, 0.0, 1.0, fa, fm, fb, simpson(fa, fm, fb, 1.0), TOLERANCE)
    assert abs(result - math.atan(1 / math.sqrt(e)) / math.sqrt(e)) < 1e-8
    results.append(result)
    calls.append(count)

save(
    __file__,
    parameters=parameters,
    expected_results=np.array(results),
    expected_calls=np.array(calls, np.uint32),
)
