"""One kernel in many schedules."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from . import _simtlab
from ._arguments import Arguments
from ._errors import LaunchError
from ._findings import CheckFinding, findings
from ._module import Extents, Ptx
from ._show import Shown
from ._subject import Names, listed, subject

_RANDOM = 256
_EXHAUSTIVE = 10_000


@dataclass
class _Exploring:
    mechanisms: Optional[str]
    order: Optional[str]
    schedules: int
    exhaustive: bool
    preemptions: Optional[int]
    seed: Optional[int]
    limit: Optional[int]


@dataclass(frozen=True)
class Exploration(Shown):
    """How a kernel ends in many schedules.

    rows       a dict for each mechanism and order of branch sides: schedules, whether these are all, and how many end in which way
    findings   results, hangs and faults that depend on the schedule
    schedules  for each of them the shortest schedule that shows it, as `simtlab run --schedule FILE` reads it
    text       the table that `simtlab explore` prints
    """

    rows: List[Dict[str, Any]]
    findings: Tuple[CheckFinding, ...]
    schedules: Tuple[str, ...] = field(repr=False)
    text: str = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether all schedules were run, up to the order of what commutes, and within the bound on preemptions."""
        return all(row["complete"] for row in self.rows)


def explore(
    what: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanisms: Names = None,
    order: Optional[str] = None,
    schedules: Optional[int] = None,
    exhaustive: bool = False,
    preemptions: Optional[int] = None,
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    limits_of: Optional[str] = None,
) -> Exploration:
    """Runs a launch in other orders of threads, and says whether results, hangs and faults depend on them.

    `what`, `kernel`, `grid`, `block`, `args`, `shared` and `limits_of` are as for `simtlab.compare`. `schedules` is the most schedules under
    a mechanism and an order: random ones, or with `exhaustive` all that differ in more than the order of what commutes; with `preemptions`
    only those that take a path off that could go on at most so often. The arrays do not change.
    """
    if schedules is not None and schedules < 1:
        raise LaunchError("schedules is at least 1")
    if preemptions is not None and not exhaustive:
        raise LaunchError("preemptions are bounded in an exhaustive exploration: add exhaustive=True")
    most = schedules if schedules is not None else _EXHAUSTIVE if exhaustive else _RANDOM
    exploring = _Exploring(listed(mechanisms, "mechanisms"), order, most, bool(exhaustive), preemptions, seed, limit)
    return _exploration(_simtlab.explore(subject(what, kernel, grid, block, args, shared, limits_of), exploring))


def _exploration(made: Any) -> Exploration:
    rows, found, schedules, text = made
    return Exploration(json.loads(rows), findings(json.loads(found)), tuple(schedules), text)
