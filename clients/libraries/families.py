"""What the families of tests share: random operands, comparison, and the program that runs them.

A family is a function of a random generator that checks one case. Its bound is a multiple of the type's precision times the length of
the sums behind each element, relative to the sums of absolute values."""

import argparse
import sys
import time

import numpy as np

TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
FAMILIES = {}


def family(function):
    FAMILIES[function.__name__] = function
    return function


def exact(array):
    """An array in the type that expected values are computed in."""
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


def values(rng, shape, dtype):
    """Random numbers around zero."""
    real = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        real = real + 1j * rng.standard_normal(shape)
    return np.asarray(real).astype(dtype)


def pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def near(got, want, scale, length, dtype, factor=4):
    """Compares with a bound of `factor` times the precision times `length`, times the scale of each element."""
    eps = np.finfo(dtype).eps
    error = np.abs(exact(np.asarray(got)) - want)
    bound = factor * eps * max(length, 1) * np.maximum(scale, np.finfo(dtype).tiny)
    assert np.all(error <= bound), f"error {np.max(error / bound):.3g} of the bound"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100, help="cases of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="families whose names begin so")
    options = parser.parse_args()
    failed = 0
    for name, check in FAMILIES.items():
        if options.only and not name.startswith(options.only):
            continue
        begun = time.monotonic()
        for case in range(options.cases):
            try:
                check(np.random.default_rng([options.seed, case]))
            except Exception as error:
                failed += 1
                print(f"{name}: case {case} of seed {options.seed}: {type(error).__name__}: {error}")
                if failed > 20:
                    sys.exit(1)
        print(f"{name}: {options.cases} cases, {time.monotonic() - begun:.1f} s", flush=True)
    sys.exit(1 if failed else 0)
