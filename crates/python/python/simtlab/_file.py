"""Launch files, on every machine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _show, _simtlab, _stats
from ._errors import LaunchError
from ._findings import CheckFinding, findings
from ._module import Ptx
from ._stats import Stats
from ._subject import launch_file

#: NumPy's types by the laboratory's names. It has none for bfloat16, whose bits come as uint16.
_TYPES = {"bf16": np.dtype("<u2"), **{f"{kind}{8 * size}": np.dtype(f"<{letter}{size}") for kind, letter, sizes in (
    ("u", "u", (1, 2, 4, 8)), ("s", "i", (1, 2, 4, 8)), ("i", "i", (1, 2, 4, 8)), ("f", "f", (2, 4, 8)),
) for size in sizes}}


@dataclass
class _Running:
    mechanism: Optional[str]
    warp_size: Optional[int]
    seed: Optional[int]
    limit: Optional[int]
    jobs: Optional[int]
    exact: bool
    stats: bool
    check: Optional[str]


@dataclass(frozen=True)
class FileResult:
    """What the launches of a launch file have left.

    machine   which machine ran them
    met       whether all expectations of the file are met
    end       "done", or the short name of the fault or hang that the file expects
    buffers   the file's buffers by name, as NumPy arrays
    launches  statistics of each launch
    findings  what checks have found; empty without `check`
    output    what the kernels have printed
    engine    which engine ran the last launch
    told      warnings and unmet expectations, as the command prints them
    """

    machine: str
    met: bool
    end: str
    buffers: Dict[str, np.ndarray] = field(repr=False)
    launches: Tuple[Stats, ...] = field(repr=False)
    findings: Tuple[CheckFinding, ...] = field(repr=False)
    output: str = field(repr=False)
    engine: str
    told: str = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        """A buffer by name."""
        return self.buffers[name]

    def _repr_html_(self) -> str:
        return _show.file_result(self)


def run_file(
    path: Ptx,
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    engine: str = "fast",
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    jobs: Optional[int] = None,
    stats: bool = True,
    check: Union[None, str, Sequence[str]] = None,
) -> FileResult:
    """Runs what a launch file (or a directory's `launch.toml`) says, on its machine: see `simtlab.run`."""
    if engine not in ("fast", "exact"):
        raise LaunchError(f"there is no engine {engine!r}: engines are 'fast' and 'exact'")
    named = check if check is None or isinstance(check, str) else ",".join(check)
    running = _Running(mechanism, warp_size, seed, limit, jobs, engine == "exact", bool(stats), named)
    report, output, contents = _simtlab.run_file(launch_file(path), running)
    report = json.loads(report)
    return FileResult(
        machine=report["stats"]["machine"],
        met=report["met"],
        end=report["end"],
        buffers={buffer["name"]: _array(buffer, data) for buffer, data in zip(report["buffers"], contents)},
        launches=tuple(_stats.make(report["stats"], index) for index in range(len(report["stats"]["launches"]))),
        findings=findings(report["findings"]),
        output=output.decode(errors="replace"),
        engine=report["engine"],
        told=report["told"],
    )


def _array(buffer: Dict[str, Any], data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), _TYPES[buffer["type"]]).reshape(buffer["shape"])
