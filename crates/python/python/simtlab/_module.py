"""Programs and launches."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _nvrtc, _show, _simtlab, _source, _stats
from ._arguments import Arguments, Passed, Wanted, extents, renamed, whole
from ._arrays import Device, device_or_default
from ._errors import LaunchError, ProgramNotFound
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


@dataclass(frozen=True, repr=False)
class Kernel:
    """A kernel: its parameters, and the bytes of shared and local memory that it declares.

    A kernel of a module is launched by `kernel(grid, block, args)`, or by `kernel[grid, block](n, a, x, y)`, where the third in
    brackets, if there is one, is the bytes of dynamic shared memory.
    """

    name: str
    parameters: Tuple[Parameter, ...]
    shared: int
    local: int
    _module: Optional["Module"] = field(default=None, repr=False, compare=False)

    def __call__(
        self,
        grid: Extents,
        block: Extents,
        args: Arguments = (),
        *,
        shared: int = 0,
        mechanism: str = "ipdom",
        warp_size: int = 32,
        engine: str = "fast",
        seed: int = 0,
        limit: Optional[int] = None,
        jobs: Optional[int] = None,
        stats: bool = True,
        check: Union[None, str, Sequence[str]] = None,
        matrix_sums: str = "device",
    ) -> "Result":
        """Runs the kernel to its end on its module's device, as `Module.launch` does."""
        if self._module is None:
            raise LaunchError(f"{self.name} is only described: a kernel of a simtlab.Module can be launched")
        return self._module.launch(
            self.name, grid, block, args, shared=shared, mechanism=mechanism, warp_size=warp_size, engine=engine, seed=seed, limit=limit,
            jobs=jobs, stats=stats, check=check, matrix_sums=matrix_sums,
        )

    def __getitem__(self, shape: Tuple[Any, ...]) -> "Configured":
        if not isinstance(shape, tuple) or not 2 <= len(shape) <= 3:
            raise LaunchError(f"{self.name}[grid, block] takes a grid and a block, and may take bytes of shared memory")
        return Configured(self, *shape)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{p.type} {p.name}" for p in self.parameters)
        return f"<kernel {self.name}({parameters})>"

    def _repr_html_(self) -> str:
        return _show.kernels([self])


#: Options of a launch that `kernel[grid, block](...)` takes by name.
_OPTIONS = frozenset({"mechanism", "warp_size", "engine", "seed", "limit", "jobs", "stats", "check", "matrix_sums"})


class Configured:
    """A kernel with a grid and a block: a call launches it. Arguments are given in the parameters' order or by their names."""

    def __init__(self, kernel: Kernel, grid: Extents, block: Extents, shared: int = 0):
        self._kernel, self._grid, self._block, self._shared = kernel, grid, block, shared

    def __call__(self, *args: Any, **named: Any) -> "Result":
        names = {parameter.name for parameter in self._kernel.parameters}
        module = self._kernel._module
        known = names | set(() if module is None else module._source_names(self._kernel.name))
        options = {k: v for k, v in named.items() if k in _OPTIONS and k not in known}
        given: Arguments = args
        rest = {k: v for k, v in named.items() if k not in options}
        if rest:
            order = [p.name for p in self._kernel.parameters]
            given = {**dict(zip(order, args)), **rest}
        return self._kernel(self._grid, self._block, given, shared=self._shared, **options)

    def __repr__(self) -> str:
        return f"<kernel {self._kernel.name}[{self._grid}, {self._block}]>"


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        found = f", {len(self.findings)} findings" if self.findings else ""
        stats = "" if self.stats is None else f": {self.stats.summary()}"
        return f"<simtlab.Result in {1e3 * self.seconds:.2f} ms{found}{stats}>"

    def _repr_html_(self) -> str:
        return _show.result(self)


def load(ptx: Ptx, kernels: Sequence[str], limits_of: Optional[str] = None) -> "_simtlab.Program":
    """A program from a path, or from text, which has line ends or nothing that paths have."""
    if limits_of is not None and not isinstance(limits_of, str):
        raise LaunchError(f"limits_of takes a compute capability such as '9.0', 'target' or 'none', not {limits_of!r}")
    if isinstance(ptx, bytes):
        try:
            ptx = ptx.decode()
        except UnicodeDecodeError as error:
            raise LaunchError(f"the program is not text: {error}") from None
    if isinstance(ptx, str) and _nvrtc.is_cuda(ptx):
        ptx = _nvrtc.compile_text(ptx, "<text>", limits_of)
    if isinstance(ptx, str) and ("\n" in ptx or ".entry" in ptx):
        return _simtlab.Program("<text>", "<text>", ptx.rstrip("\0"), list(kernels), limits_of)
    try:
        path = os.fspath(ptx)
    except TypeError:
        raise LaunchError(f"a program is a path or PTX text, not a {type(ptx).__name__}") from None
    if not os.path.exists(path):
        raise ProgramNotFound(f"error[input::file]: {os.fsdecode(path)}: there is no such file", ())
    if os.fsdecode(path).endswith((".cu", ".cuh")):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = _nvrtc.compile_text(file.read(), os.fsdecode(path), limits_of)
        return _simtlab.Program(os.fsdecode(path), os.fsdecode(path), text, list(kernels), limits_of)
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
    matrix_sums: str = "device",
) -> Wanted:
    """A launch with everything that Python can check checked."""
    if engine not in ("fast", "exact"):
        raise LaunchError(f"there is no engine {engine!r}: engines are 'fast' and 'exact'")
    if not isinstance(kernel, str) or not isinstance(mechanism, str):
        raise LaunchError("kernels and mechanisms are named by strings")
    if matrix_sums not in ("device", "exact", "f32"):
        raise LaunchError(f"there is no rule of sums {matrix_sums!r}: sums of matrix products are 'device', 'exact' or 'f32'")
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
        matrix_sums=matrix_sums,
    )


def launch_on(program: "_simtlab.Program", device: Optional[Device], launch: Wanted, passed: Passed) -> Result:
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
        self._source = _source.beside(ptx)
        self._kernels: Dict[str, Kernel] = {}
        for kernel in json.loads(self._program.kernels()):
            parameters = tuple(Parameter(**parameter) for parameter in kernel["params"])
            self._kernels[kernel["name"]] = Kernel(kernel["name"], parameters, kernel["shared"], kernel["local"], self)

    @property
    def kernels(self) -> Dict[str, Kernel]:
        """Its kernels by name, in the order of the text."""
        return dict(self._kernels)

    def warnings(self) -> List[str]:
        """What may go wrong when it runs, as far as that can be told before."""
        return self._program.warnings()

    def launch(
        self,
        kernel: str,
        grid: Extents,
        block: Extents,
        args: Arguments = (),
        *,
        shared: int = 0,
        mechanism: str = "ipdom",
        warp_size: int = 32,
        engine: str = "fast",
        seed: int = 0,
        limit: Optional[int] = None,
        jobs: Optional[int] = None,
        stats: bool = True,
        check: Union[None, str, Sequence[str]] = None,
        matrix_sums: str = "device",
    ) -> Result:
        """Runs a kernel to its end on the module's device. Takes device arrays, and all that `simtlab.run` takes; options are those
        of `simtlab.run`."""
        passed = Passed(renamed(args, self._order(kernel), self._source_names(kernel)), self.device)
        launch = wanted(
            kernel, grid, block, passed, shared, mechanism=mechanism, warp_size=warp_size, engine=engine, seed=seed, limit=limit, jobs=jobs,
            stats=stats, check=check, matrix_sums=matrix_sums,
        )
        return launch_on(self._program, self.device, launch, passed)

    def _order(self, kernel: str) -> List[str]:
        known = self._kernels.get(kernel)
        return [] if known is None else [parameter.name for parameter in known.parameters]

    def _source_names(self, kernel: str) -> Tuple[str, ...]:
        """The parameters' names in the CUDA source beside the program, if they are not the program's."""
        return self._source.get(_source.plain(kernel), ())

    def get_function(self, name: str) -> Kernel:
        """A kernel by name."""
        found = self._kernels.get(name)
        if found is None:
            raise LaunchError(f"the program has no kernel `{name}`: it has {', '.join(self._kernels) or 'none'}")
        return found

    def __getattr__(self, name: str) -> Kernel:
        found = self.__dict__.get("_kernels", {}).get(name)
        if found is None:
            raise AttributeError(f"the module has no kernel or attribute {name!r}")
        return found  # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> Kernel:
        if name not in self._kernels:
            raise KeyError(name)
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *(name for name in self._kernels if name.isidentifier())})

    def __repr__(self) -> str:
        return f"<simtlab.Module {', '.join(self._kernels)}>"

    def _repr_html_(self) -> str:
        return _show.kernels(self._kernels.values())


def choose(ptx: Ptx, kernel: Optional[str], args: Arguments, limits_of: Optional[str]) -> Tuple["_simtlab.Program", str, Arguments]:
    """A program, the kernel of it that is launched, and its arguments by the program's names. A program of one kernel needs no name."""
    program = load(ptx, [] if kernel is None else [kernel], limits_of)
    name = only_kernel(program) if kernel is None else kernel
    source = _source.beside(ptx) if isinstance(args, Mapping) else {}
    names = source.get(_source.plain(name), ()) if isinstance(name, str) else ()
    return program, name, renamed(args, _parameters(program, name) if names else [], names)


def _parameters(program: "_simtlab.Program", kernel: str) -> List[str]:
    for known in json.loads(program.kernels()):
        if known["name"] == kernel:
            return [parameter["name"] for parameter in known["params"]]
    return []


def only_kernel(program: "_simtlab.Program") -> str:
    """The kernel of a program that has one."""
    names = [kernel["name"] for kernel in json.loads(program.kernels())]
    if len(names) != 1:
        raise LaunchError(f"the program has {len(names)} kernels, so that one has to be named" + (f": {', '.join(names)}" if names else ""))
    return names[0]  # type: ignore[no-any-return]
