"""One launch looked at closely: what it loses, where two mechanisms part, when its lanes ran."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple, Union

from . import _simtlab, _tables
from ._arguments import Arguments
from ._errors import LaunchError
from ._module import Extents, Ptx, load, only_kernel
from ._show import Shown
from ._subject import Names, listed, subject

_EVENTS = 200_000


@dataclass
class _Conditions:
    mechanisms: Optional[str]
    warp_size: Optional[int]
    order: Optional[str]
    seed: Optional[int]
    limit: Optional[int]


@dataclass(frozen=True)
class Explanation(Shown):
    """Where a launch loses lane slots.

    end       "done", or the short name of the fault or hang in which it ended
    text      what `simtlab explain` prints
    document  the JSON of `simtlab explain` (docs/explain.md)
    """

    end: str
    text: str = field(repr=False)
    document: Dict[str, Any] = field(repr=False)

    def lines(self) -> List[Dict[str, Any]]:
        """A record for each line of the source, or of the program if it has no line table: issues, splits, lane slots by cause."""
        lines = self.document["source"] or self.document["text"]
        return [{**{key: value for key, value in line.items() if key != "lane_slots"}, **line["lane_slots"]} for line in lines]

    def branches(self) -> List[Dict[str, Any]]:
        """A record for each branch: how often it was executed, lanes each way, slots lost because of it."""
        return [dict(branch) for branch in self.document["by_branch"]["branches"]]

    def to_dataframe(self, library: str = "pandas") -> Any:
        """A table of the lines, by pandas or Polars."""
        return _tables.dataframe(self.lines(), library)


@dataclass(frozen=True)
class Difference(Shown):
    """Where two mechanisms first issue something else.

    equal     whether they issue the same, lane by lane, as far as was recorded
    text      what `simtlab diff` prints
    document  the JSON of `simtlab diff` (docs/explain.md)
    """

    equal: bool
    text: str = field(repr=False)
    document: Dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Trace:
    """When lanes ran, as events of https://ui.perfetto.dev.

    complete  whether all events are in it
    end       "done", or the short name of the fault or hang in which it ended
    document  the text: JSON of trace events
    """

    complete: bool
    end: str
    document: str = field(repr=False)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file that Perfetto opens."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.document)

    def events(self) -> List[Dict[str, Any]]:
        """The events."""
        return list(json.loads(self.document)["traceEvents"])


def _conditions(mechanisms: Names, warp_size: Optional[int], order: Optional[str], seed: Optional[int], limit: Optional[int]) -> _Conditions:
    if warp_size is not None and not isinstance(warp_size, int):
        raise LaunchError(f"warp_size is a whole number, not {warp_size!r}")
    return _Conditions(listed(mechanisms, "mechanisms"), warp_size, order, seed, limit)


def explain(
    what: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    order: Optional[str] = None,
    lines: int = 10,
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    limits_of: Optional[str] = None,
) -> Explanation:
    """Runs a launch and says where lane slots are lost: by cause, branch and line.

    `what`, `kernel`, `grid`, `block`, `args`, `shared` and `limits_of` are as for `simtlab.compare`; mechanism and warp size are the
    launch's if they are not given. The text lists as many `lines`. A launch that faults or hangs is explained up to there. The arrays do not change.
    """
    conditions = _conditions(mechanism, warp_size, order, seed, limit)
    if lines < 1:
        raise LaunchError("lines is at least 1")
    document, text = _simtlab.explain(subject(what, kernel, grid, block, args, shared, limits_of), conditions, lines)
    document = json.loads(document)
    return Explanation(document["end"], text, document)


def diff(
    what: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanisms: Tuple[str, str],
    warp_size: Optional[int] = None,
    order: Optional[str] = None,
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    limits_of: Optional[str] = None,
) -> Difference:
    """Runs a launch under two mechanisms and finds the first issue in which they differ, and the first merge that one of them lacks.

    `what`, `kernel`, `grid`, `block`, `args`, `shared` and `limits_of` are as for `simtlab.compare`. The arrays do not change.
    """
    conditions = _conditions(mechanisms, warp_size, order, seed, limit)
    document, text = _simtlab.diff(subject(what, kernel, grid, block, args, shared, limits_of), conditions)
    document = json.loads(document)
    return Difference(document["parted"] is None, text, document)


def trace(
    what: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    order: Optional[str] = None,
    events: int = _EVENTS,
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    limits_of: Optional[str] = None,
) -> Trace:
    """Runs a launch and records when the paths of its warps ran, for https://ui.perfetto.dev: at most so many `events`.

    `what`, `kernel`, `grid`, `block`, `args`, `shared` and `limits_of` are as for `simtlab.compare`. The arrays do not change.
    """
    conditions = _conditions(mechanism, warp_size, order, seed, limit)
    document, complete, end = _simtlab.trace(subject(what, kernel, grid, block, args, shared, limits_of), conditions, events)
    return Trace(complete, end, document)


def cfg(ptx: Ptx, kernel: Optional[str] = None, format: str = "text") -> str:
    """The control-flow graph of a kernel with immediate post-dominators: as text, or with "dot" as a graph of Graphviz."""
    if format not in ("text", "dot"):
        raise LaunchError(f"formats are 'text' and 'dot', not {format!r}")
    program = load(ptx, [] if kernel is None else [kernel])
    return program.control_flow(only_kernel(program) if kernel is None else kernel, format == "dot")


def check(ptx: Ptx, *, limits_of: Optional[str] = None) -> Tuple[str, ...]:
    """Checks a program without running it, as `simtlab check` does: its warnings. Raises CompileError, whose `findings` are all that is wrong or
    not supported."""
    return tuple(load(ptx, [], limits_of).warnings())
