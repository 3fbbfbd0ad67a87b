"""Run, test and compare GPU kernels without a GPU.

    >>> import numpy as np, simtlab
    >>> result = simtlab.run("saxpy.ptx", "saxpy", grid=4, block=256, args=[1000, 2.0, x, y])  # doctest: +SKIP

Arrays of NumPy are copied in before a launch and, if they are writable, back after it. See docs/python.md.
"""

from ._arrays import Device, DeviceArray, array, empty, zeros
from ._catalogue import Mechanism, Metric, mechanisms, metrics
from ._compare import Comparison, compare
from ._debug import DebugError, DebugSession, DebugStop, debug
from ._enable import capture, enable
from ._errors import CompileError, DeviceError, Fault, Finding, Hang, LaunchError, ProgramNotFound, SimtlabError, Stopped
from ._explore import Exploration, explore
from ._findings import CheckFinding
from ._file import FileResult
from ._module import Kernel, Module, Parameter, Result
from ._run import run
from ._session import Path, Row, Session, SessionStats
from ._simtlab import __version__
from ._stats import Stats
from ._study import Difference, Explanation, Trace, cfg, check, diff, explain, trace
from ._sweep import Sweep, sweep

__all__ = [
    "CheckFinding",
    "Comparison",
    "CompileError",
    "DebugError",
    "DebugSession",
    "DebugStop",
    "Device",
    "DeviceArray",
    "DeviceError",
    "Difference",
    "Explanation",
    "Exploration",
    "Fault",
    "FileResult",
    "Finding",
    "Hang",
    "Kernel",
    "LaunchError",
    "Mechanism",
    "Metric",
    "Module",
    "Parameter",
    "Path",
    "ProgramNotFound",
    "Result",
    "Row",
    "Session",
    "SessionStats",
    "SimtlabError",
    "Stats",
    "Stopped",
    "Sweep",
    "Trace",
    "__version__",
    "array",
    "capture",
    "cfg",
    "check",
    "compare",
    "debug",
    "diff",
    "empty",
    "enable",
    "explain",
    "explore",
    "mechanisms",
    "metrics",
    "run",
    "sweep",
    "trace",
    "zeros",
]
