"""The formula in double precision with the error function in place of the polynomial."""

from math import erfc, sqrt

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from oracle import save, uniform

COUNT, RATE = 1_000, 0.02

options = np.column_stack(
    [uniform(1, COUNT, 5, 30), uniform(2, COUNT, 5, 50), uniform(3, COUNT, 0.25, 5), uniform(4, COUNT, 0.1, 0.5)]
)
price, strike, years, volatility = options.astype(float).T
normal = np.vectorize(lambda d: 0.5 * erfc(-d / sqrt(2)))
deviation = volatility * np.sqrt(years)
d1 = (np.log(price / strike) + (RATE + 0.5 * volatility**2) * years) / deviation
d2 = d1 - deviation
discounted = strike * np.exp(-RATE * years)
calls = price * normal(d1) - discounted * normal(d2)
puts = discounted * normal(-d2) - price * normal(-d1)
assert np.allclose(calls - puts, price - discounted)
save(
    __file__,
    options=options,
    expected_calls=calls.astype(np.float32),
    expected_puts=puts.astype(np.float32),
)
