"""Statistics of a launch."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, Iterator, List, Union

from . import _show, _tables

Number = Union[int, float]

_CAUSES = ("on", "predicated_off", "diverged", "waiting", "exited", "never_launched")


@dataclass(frozen=True, repr=False)
class Stats:
    """What a launch cost. Efficiencies are percentages, as profilers give them.

    The fields are those that most people ask for; `metrics` has all of them by the names of docs/statistics.md, and
    `stats["name"]` is one of those. A field with the name of a metric is that metric.
    """

    kernel: str
    mechanism: str
    warp_size: int
    engine: str
    #: Lanes in the issuing groups over lane slots: `warp_execution_efficiency`.
    simd_efficiency: float
    #: As `simd_efficiency`, without lanes that a guard or mask turned off.
    nonpred_efficiency: float
    branch_efficiency: float
    inst_executed: int
    thread_inst_executed: int
    branches: int
    divergent_branches: int
    #: The sum of the widths of all vector issues: the whole that the causes divide.
    lane_slots: int
    #: Lane slots by cause: on, predicated_off, diverged, waiting, exited, never_launched.
    slots: Dict[str, int]
    metrics: Dict[str, Number]
    #: The launch as in the JSON report of `simtlab run --stats json` (docs/stats-json.md).
    report: Dict[str, Any]

    def __getitem__(self, name: str) -> Number:
        return self.metrics[name]

    def summary(self) -> str:
        """One line: what was issued, and how much of it lanes executed."""
        return (
            f"{self.kernel} under {self.mechanism}, {self.inst_executed:,} instructions, {self.simd_efficiency:.2f} % of lanes on, "
            f"{self.divergent_branches:,} of {self.branches:,} branches diverged"
        )

    def __repr__(self) -> str:
        return f"<simtlab.Stats {self.summary()}>"

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{_show.bars(self)}"

    def _repr_html_(self) -> str:
        return _show.stats(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def to_dataframe(self, library: str = "pandas") -> Any:
        """A table of the lines of the program, by pandas or Polars: `lines()`."""
        return _tables.dataframe(self.lines(), library)

    def to_dict(self) -> Dict[str, Any]:
        """What identifies the launch, and all metrics, flat: a row of a table."""
        launch = self.report
        return {
            "kernel": self.kernel,
            "mechanism": self.mechanism,
            "warp_size": self.warp_size,
            "engine": self.engine,
            "grid": tuple(launch["grid"]),
            "block": tuple(launch["block"]),
            **self.metrics,
        }

    def lines(self) -> List[Dict[str, Any]]:
        """A record for each line (of the source, if the program has a line table): its issues, and its lane slots by cause."""
        records = []
        for line in self.report["lines"]:
            slots = line["lane_slots"]
            record = {"file": line["file"], "line": line["line"], "issues": line["issues"]}
            records.append({**record, "lane_slots": sum(slots.values()), **slots})
        return records

    def accesses(self) -> List[Dict[str, Any]]:
        """A record for each line of the program that accesses memory: requests, sectors, bank conflicts."""
        return [dict(site) for site in self.report["accesses"]]


def make(report: Dict[str, Any], index: int = 0) -> Stats:
    """A launch of a JSON report."""
    launch = report["launches"][index]
    metrics = launch["metrics"]
    return Stats(
        kernel=launch["kernel"],
        mechanism=report["mechanism"],
        warp_size=report["warp_size"],
        engine=launch.get("engine", ""),
        simd_efficiency=metrics["warp_execution_efficiency"],
        nonpred_efficiency=metrics["warp_nonpred_execution_efficiency"],
        slots={cause: metrics["slots_" + cause] for cause in _CAUSES},
        metrics=metrics,
        report=launch,
        **{field.name: metrics[field.name] for field in fields(Stats) if field.name in metrics},
    )
