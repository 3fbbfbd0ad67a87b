"""Triton: attempts of its autotuner cost one launch each, and are ranked by what the launch issued."""

import os
import time
from typing import Any, Callable, List, Optional

from . import driver

#: The place of the count of issued instructions in the library's totals.
_ISSUES = 2

#: A variable that leaves Triton's own benchmarking as it is, if it is 0.
SWITCH = "SIMTLAB_AUTOTUNE"


def _issues(call: Callable[[], Any]) -> float:
    """The instructions that the launches of a call issue, in thousands: a measure that is the same on every machine."""
    before = driver.counts()[_ISSUES]
    call()
    return max(driver.counts()[_ISSUES] - before, 1) / 1000.0


def _answer(value: float, quantiles: Any, return_mode: str) -> Any:
    if quantiles is not None:
        given: List[float] = [value for _ in quantiles]
        return given[0] if len(given) == 1 else given
    return [value] if return_mode == "all" else value


def rank(kernel_call: Callable[[], Any], quantiles: Any = None, **_: Any) -> Any:
    """A benchmarker for the autotuner: the issues of one call."""
    return _answer(_issues(kernel_call), quantiles, "mean")


def do_bench(
    fn: Callable[[], Any],
    warmup: int = 25,
    rep: int = 100,
    grad_to_none: Optional[Any] = None,
    quantiles: Any = None,
    return_mode: str = "mean",
    **_: Any,
) -> Any:
    """Milliseconds of the host of one call after another. On a device it is repeated for `rep` milliseconds, after clearing a cache."""
    fn()
    for tensor in grad_to_none or ():
        tensor.grad = None
    begun = time.perf_counter()
    fn()
    return _answer(1e3 * (time.perf_counter() - begun), quantiles, return_mode)


def enable(testing: Any) -> None:
    """Replaces the functions by which Triton measures."""
    if os.environ.get(SWITCH, "1") == "0":
        return
    testing.do_bench = do_bench
    testing.do_bench_cudagraph = do_bench
    try:
        from triton.backends.nvidia.driver import CudaDriver
    except ImportError:
        return
    CudaDriver.get_benchmarker = lambda self: rank
