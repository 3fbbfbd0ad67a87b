"""What is studied: a launch file, or one launch of a program."""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

from ._arguments import Arguments, Passed
from ._errors import LaunchError
from ._module import Extents, Ptx, choose, wanted

Names = Union[str, Sequence[str], None]
Sizes = Union[int, Sequence[int], None]

_LAUNCH_FILE = "launch.toml"


def is_launch_file(what: Ptx) -> bool:
    """Whether this is the path of a launch file, or of a directory with one."""
    try:
        path = os.fsdecode(os.fspath(what))
    except TypeError:
        return False
    return "\n" not in path and (path.endswith(".toml") or os.path.isdir(path))


def launch_file(what: Ptx) -> str:
    """The path of the launch file."""
    path = os.fsdecode(os.fspath(what))
    return os.path.join(path, _LAUNCH_FILE) if os.path.isdir(path) else path


def subject(
    what: Ptx,
    kernel: Optional[str],
    grid: Optional[Extents],
    block: Optional[Extents],
    args: Arguments,
    shared: int = 0,
    limits_of: Optional[str] = None,
) -> Any:
    """What is studied, as the native half takes it."""
    if kernel is None and is_launch_file(what):
        if args or grid is not None or block is not None or shared or limits_of is not None:
            raise LaunchError("a launch file says grid, block, arguments and options itself; with a program, name the kernel, too")
        return launch_file(what)
    if grid is None or block is None:
        raise LaunchError("a launch of a program takes a grid and a block, and a kernel if the program has several")
    program, name, given = choose(what, kernel, args, limits_of)
    return program, wanted(name, grid, block, Passed(given, None), shared)


def listed(value: Any, what: str) -> Optional[str]:
    """Names or numbers as one text with commas."""
    if value is None:
        return None
    given = [value] if isinstance(value, (str, int)) else list(value)
    if not given:
        raise LaunchError(f"{what} is empty")
    return ",".join(str(v) for v in given)
