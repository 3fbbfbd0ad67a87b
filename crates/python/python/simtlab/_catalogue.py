"""What there is: convergence mechanisms and metrics."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import List

from . import _simtlab


@dataclass(frozen=True)
class Mechanism:
    """A convergence mechanism: which path of a warp runs next, and where paths meet again."""

    name: str
    about: str
    source: str
    state: str
    limits: str
    aliases: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Metric:
    """A metric of statistics: its unit is `count`, `mean` or `percent`."""

    name: str
    unit: str
    definition: str


def mechanisms() -> List[Mechanism]:
    """All mechanisms of PTX, the default one first."""
    return [Mechanism(**entry) for entry in json.loads(_simtlab.mechanisms())]


def metrics() -> List[Metric]:
    """All metrics, in the order of reports."""
    return [Metric(**entry) for entry in json.loads(_simtlab.metrics())]
