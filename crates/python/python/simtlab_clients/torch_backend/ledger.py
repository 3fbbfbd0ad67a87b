"""Which operators ran on the host, how often, and how long: told to the driver library, which reports them at the end of the run, and profiling
tools when they are computed."""

import atexit
import os
from typing import Any, Callable, Dict, List

import torch

from .. import driver

_work: Dict[str, List[int]] = {}
_told: Dict[str, List[int]] = {}


def entry(operator: str) -> List[int]:
    """The calls and nanoseconds of an operator, to add to."""
    return _work.setdefault(operator, [0, 0])


def profiled(operator: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of an operator, with profiling tools told when it is computed, if PyTorch's profiler is on."""
    is_on, label = torch._C._autograd._profiler_enabled, operator.encode()

    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_on():
            return kernel(*args, **kwargs)
        library = driver.library()
        library.simtlab_operator_begins(label)
        try:
            return kernel(*args, **kwargs)
        finally:
            library.simtlab_operator_ends(label)

    return call


def totals() -> Dict[str, List[int]]:
    """Calls and nanoseconds by operator."""
    return {name: list(work) for name, work in _work.items() if work[0]}


def tell() -> None:
    """Tells the driver library what it has not been told yet."""
    library = driver.library()
    for name, (calls, spent) in _work.items():
        known = _told.setdefault(name, [0, 0])
        if calls > known[0]:
            library.simtlab_host_work(name.encode(), calls - known[0], spent - known[1])
            _told[name] = [calls, spent]


def _forget() -> None:
    # A child of fork has done nothing yet, and its driver library does not answer.
    _work.clear()
    _told.clear()
    atexit.unregister(tell)


def start() -> None:
    """Tells the driver library at the end of the process."""
    atexit.register(tell)
    os.register_at_fork(after_in_child=_forget)
