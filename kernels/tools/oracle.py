"""What the expected.py scripts share: exact single-precision arithmetic, numbers to compute on, and saving.

NumPy's float32 +, -, *, / and sqrt round once, as IEEE 754 and PTX's .rn forms do; fma is missing there, so it is
here. Run as a script, this file checks its own fma against exact rational arithmetic.
"""

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np


def rounded_to_odd(a, b, c):
    """a * b + c in float64, of arrays whose products are exact there, rounded to odd where it is not exact.

    The sum's error is known exactly, by Knuth's two-sum. A second rounding, to a type with at most 51 bits, then gives
    what a single one would.
    """
    p = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    p, c = np.broadcast_arrays(p, np.asarray(c, np.float64))
    s = np.atleast_1d(p + c)
    t = s - p
    error = (p - (s - t)) + (c - t)
    even = (s.view(np.int64) & 1) == 0
    odd = np.nextafter(s, np.copysign(np.inf, error))
    return np.where((error != 0) & even, odd, s).reshape(p.shape)


def fma32(a, b, c):
    """a * b + c of float32 arrays with finite values, rounded once to nearest even."""
    return rounded_to_odd(*(np.asarray(v, np.float32) for v in (a, b, c))).astype(np.float32)


def fma16(a, b, c):
    """a * b + c of float16 arrays with finite values, rounded once to nearest even; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return rounded_to_odd(*(np.asarray(v, np.float16) for v in (a, b, c))).astype(np.float16)


def random_bits(seed, count):
    """`count` uint64 numbers: SplitMix64, the i-th from the counter seed + (i + 1) * 0x9e3779b97f4a7c15."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(seed, shape, lo, hi):
    """float32 numbers in [lo, hi]: the top 24 bits of `random_bits` as a fraction, scaled in float64."""
    count = int(np.prod(shape))
    fraction = (random_bits(seed, count) >> np.uint64(40)).astype(np.float64) / 2.0**24
    return (lo + (hi - lo) * fraction).astype(np.float32).reshape(shape)


def save(script, **arrays):
    """Writes each array to NAME.npy, in the folder that the command line names or else beside `script`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(script).parent
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.ascontiguousarray(array))


def check_fma32(count=20_000):
    """Compares fma32 with exact sums of rationals: wide magnitudes, cancellation, and sums next to ties."""
    bits = random_bits(7, 4 * count).reshape(4, count)

    def spread(raw, exponents):
        mantissa = (raw >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0
        exponent = (raw & np.uint64(0xFFFF)).astype(np.int64) % (2 * exponents) - exponents
        return np.ldexp(mantissa, exponent).astype(np.float32)

    a, b, c = spread(bits[0], 50), spread(bits[1], 50), spread(bits[2], 100)
    cancels = -a * b
    # An odd last place worth 2^24 to 2^26 times the product's first: the product decides a tie, or just misses one.
    exponent = np.frexp(a * b)[1] + (bits[3] >> np.uint64(8)).astype(np.int64) % 3 + 23
    ties = np.ldexp(1 + 2.0**-23, exponent).astype(np.float32)
    c = np.choose((bits[3] % np.uint64(3)).astype(np.int64), [c, cancels, ties])

    for x, y, z, got in zip(a, b, c, fma32(a, b, c)):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        error = abs(Fraction(float(got)) - exact)
        for side in (-np.inf, np.inf):
            distance = abs(Fraction(float(np.nextafter(got, np.float32(side)))) - exact)
            even = got.view(np.uint32) % 2 == 0
            assert error < distance or (error == distance and even), (x, y, z, got)


if __name__ == "__main__":
    check_fma32()
    print("fma32 agrees with exact rational arithmetic")
