"""Runs of one kernel, and of launch files."""

from __future__ import annotations

from typing import Optional, Sequence, Union, overload

from ._arguments import Arguments, Passed
from ._errors import LaunchError
from ._file import FileResult, run_file
from ._module import Extents, Ptx, Result, choose, launch_on, wanted
from ._subject import is_launch_file

_Check = Union[None, str, Sequence[str]]


@overload
def run(
    ptx: Ptx,
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    engine: str = "fast",
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: _Check = None,
) -> FileResult: ...


@overload
def run(
    ptx: Ptx,
    kernel: Optional[str],
    grid: Extents,
    block: Extents,
    args: Arguments = (),
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    engine: str = "fast",
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: _Check = None,
    limits_of: Optional[str] = None,
    matrix_sums: str = "device",
) -> Result: ...


@overload
def run(
    ptx: Ptx,
    kernel: Optional[str] = None,
    *,
    grid: Extents,
    block: Extents,
    args: Arguments = (),
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    engine: str = "fast",
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: _Check = None,
    limits_of: Optional[str] = None,
    matrix_sums: str = "device",
) -> Result: ...


def run(
    ptx: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    engine: str = "fast",
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: _Check = None,
    limits_of: Optional[str] = None,
    matrix_sums: str = "device",
) -> Union[Result, FileResult]:
    """Runs a kernel of a PTX file, or of PTX text, to its end, on memory of its own. A program of one kernel needs no name.

    A launch file of any machine, or a directory with a `launch.toml`, is run as it says: `simtlab.run("kernels/pmask/saxpy")` gives a
    `FileResult`. Its mechanism and warp size hold unless others are given.

    `args` are numbers, NumPy scalars and arrays, and bytes for structures, in the order of the parameters or as a dict by their
    names, those of the program or those of the CUDA source beside it. Arrays are copied in and, if they are writable and the launch ends
    well, back. `limits_of` is as for `Module`. `matrix_sums` says how products of matrices
    of floats are added: as devices do ("device"), exactly ("exact"), or by fused multiply-adds of single precision ("f32"). `check` names checks ("all", or some of "race", "init", "sync"), which run on the
    exact engine: `findings` of the result has what they find. Without a mechanism and a warp size these are `ipdom` and 32. Warns (`RuntimeWarning`) of a float64 array that the kernel takes for
    one of 32-bit floats. Raises `Fault`, `Hang`, `LaunchError` or `CompileError`.
    """
    if kernel is None and grid is None and block is None and is_launch_file(ptx):
        if args or shared or limits_of is not None or matrix_sums != "device":
            raise LaunchError("a launch file says arguments and options itself")
        return run_file(
            ptx, mechanism=mechanism, warp_size=warp_size, engine=engine, seed=seed, limit=limit, jobs=jobs, stats=stats, check=check
        )
    if grid is None or block is None:
        raise LaunchError("a launch takes a grid and a block: run(program, kernel, grid=..., block=..., args=[...])")
    program, name, given = choose(ptx, kernel, args, limits_of)
    passed = Passed(given, None)
    launch = wanted(
        name, grid, block, passed, shared, mechanism=mechanism or "ipdom", warp_size=32 if warp_size is None else warp_size, engine=engine,
        seed=seed or 0, limit=limit, jobs=jobs, stats=stats, check=check, matrix_sums=matrix_sums,
    )
    return launch_on(program, None, launch, passed)

