"""Programs and launches."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _simtlab, _stats
from ._arguments import Arguments, Passed, Wanted, extents, whole
from ._arrays import Device, device_or_default
from ._errors import LaunchError
from ._findings import CheckFinding, findings
from ._stats import Stats

Ptx = Union[str, "os.PathLike[str]"]
Extents = Union[int, Sequence[int]]

_MOST = (1 << 64) - 1
_MOST_JOBS = 256


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. `type` is as the program spells it (`u32`, `f32`, `b8[16]`), `kind` is `integer`, `float`, `bits` or
    `aggregate`."""

    name: str
    type: str
    size: int
    offset: int
    kind: str


@dataclass(frozen=True)
class Kernel:
    """A kernel: its parameters, and the bytes of shared and local memory that it declares."""

    name: str
    parameters: Tuple[Parameter, ...]
    shared: int
    local: int


@dataclass(frozen=True)
class Result:
    """A launch that has ended.

    stats    what it cost, unless they were not wanted
    findings what checks have found; empty without `check`
    engine   which engine ran it, and why no faster one did
    seconds  time in the launch
    output   what the kernel has printed
    """

    stats: Optional[Stats]
    engine: str
    seconds: float
    output: str
    findings: Tuple[CheckFinding, ...] = ()


def load(ptx: Ptx, kernels: Sequence[str], limits_of: Optional[str] = None) -> "_simtlab.Program":
    """A program from a path, or from text, which has line ends or nothing that paths have."""
    if limits_of is not None and not isinstance(limits_of, str):
        raise LaunchError(f"limits_of takes a compute capability such as '9.0', 'target' or 'none', not {limits_of!r}")
    if isinstance(ptx, bytes):
        try:
            ptx = ptx.decode()
        except UnicodeDecodeError as error:
            raise LaunchError(f"the program is not text: {error}") from None
    if isinstance(ptx, str) and ("\n" in ptx or ".entry" in ptx):
        return _simtlab.Program("<text>", "<text>", ptx.rstrip("\0"), list(kernels), limits_of)
    try:
        path = os.fspath(ptx)
    except TypeError:
        raise LaunchError(f"a program is a path or PTX text, not a {type(ptx).__name__}") from None
    return _simtlab.Program(str(path), path, None, list(kernels), limits_of)


def wanted(
    kernel: str,
    grid: Extents,
    block: Extents,
    passed: Passed,
    shared: int,
    *,
    mechanism: str = "ipdom",
    warp_size: int = 32,
    engine: str = "fast",
    seed: int = 0,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: Union[None, str, Sequence[str]] = None,
) -> Wanted:
    """A launch with everything that Python can check checked."""
    if engine not in ("fast", "exact"):
        raise LaunchError(f"there is no engine {engine!r}: engines are 'fast' and 'exact'")
    if not isinstance(kernel, str) or not isinstance(mechanism, str):
        raise LaunchError("kernels and mechanisms are named by strings")
    return Wanted(
        kernel=kernel,
        grid=extents(grid, "grid"),
        block=extents(block, "block"),
        shared=whole(shared, "shared", 0, (1 << 32) - 1),
        args=passed.given,
        mechanism=mechanism,
        warp_size=whole(warp_size, "warp_size", 1, 1024),
        seed=whole(seed, "seed", 0, _MOST),
        limit=None if limit is None else whole(limit, "limit", 1, _MOST),
        jobs=None if jobs is None else whole(jobs, "jobs", 1, _MOST_JOBS),
        exact=engine == "exact",
        stats=bool(stats),
        check=check if check is None or isinstance(check, str) else ",".join(check),
    )


def _launch(program: "_simtlab.Program", device: Optional[Device], launch: Wanted, passed: Passed) -> Result:
    report, output, arrays = _simtlab.launch(program, device, launch)
    passed.take_back(arrays)
    report = json.loads(report)
    for text in report["warnings"]:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    stats = None if report["stats"] is None else _stats.make(report["stats"])
    found = findings(report["findings"])
    return Result(stats, report["engine"], report["seconds"], output.decode(errors="replace"), found)


class Module:
    """A program that is loaded once and launched many times on a device, where its variables stay from launch to launch.

    `kernels` names those that are wanted: what is not supported elsewhere in the file does no harm then. `limits_of` is the compute
    capability of the device whose limits hold, such as "9.0", by default that of the program's target; "none" lifts them.
    """

    def __init__(
        self,
        ptx: Ptx,
        kernels: Sequence[str] = (),
        *,
        device: Optional[Device] = None,
        limits_of: Optional[str] = None,
    ):
        if isinstance(kernels, str):
            kernels = [kernels]
        self.device = device_or_default(device)
        self._program = load(ptx, kernels, limits_of)
        self._kernels: Dict[str, Kernel] = {}
        for kernel in json.loads(self._program.kernels()):
            parameters = tuple(Parameter(**parameter) for parameter in kernel["params"])
            self._kernels[kernel["name"]] = Kernel(kernel["name"], parameters, kernel["shared"], kernel["local"])

    @property
    def kernels(self) -> Dict[str, Kernel]:
        """Its kernels by name, in the order of the text."""
        return dict(self._kernels)

    def warnings(self) -> List[str]:
        """What may go wrong when it runs, as far as that can be told before."""
        return self._program.warnings()

    def launch(
        self, kernel: str, grid: Extents, block: Extents, args: Arguments = (), *, shared: int = 0, **options: Any
    ) -> Result:
        """Runs a kernel to its end on the module's device. Takes device arrays, and all that `simtlab.run` takes; options are those
        of `simtlab.run`."""
        passed = Passed(args, self.device)
        return _launch(self._program, self.device, wanted(kernel, grid, block, passed, shared, **options), passed)

    def __repr__(self) -> str:
        return f"<simtlab.Module {', '.join(self._kernels)}>"


def run(
    ptx: Ptx,
    kernel: str,
    grid: Extents,
    block: Extents,
    args: Arguments = (),
    *,
    mechanism: str = "ipdom",
    warp_size: int = 32,
    engine: str = "fast",
    shared: int = 0,
    seed: int = 0,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: Union[None, str, Sequence[str]] = None,
    limits_of: Optional[str] = None,
) -> Result:
    """Runs a kernel of a PTX file, or of PTX text, to its end, on memory of its own.

    `args` are numbers, NumPy scalars and arrays, and bytes for structures, in the order of the parameters or as a dict by their
    names. Arrays are copied in and, if they are writable and the launch ends well, back. `limits_of` is as for `Module`. `check` names checks
    ("all", or some of "race", "init", "sync"), which run on the exact engine: `findings` of the result has what they find. Warns
    (`RuntimeWarning`) of a float64 array that the kernel takes for one of 32-bit floats. Raises `Fault`, `Hang`, `LaunchError`
    or `CompileError`.
    """
    passed = Passed(args, None)
    options: Dict[str, Any] = dict(mechanism=mechanism, warp_size=warp_size, engine=engine, seed=seed, limit=limit, jobs=jobs, stats=stats, check=check)
    launch = wanted(kernel, grid, block, passed, shared, **options)
    return _launch(load(ptx, [kernel], limits_of), None, launch, passed)
