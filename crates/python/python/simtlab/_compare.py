"""One kernel under many mechanisms."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from . import _show, _simtlab, _tables
from ._arguments import Arguments
from ._errors import LaunchError
from ._module import Extents, Ptx
from ._subject import Names, Sizes, listed, subject


@dataclass
class _Variations:
    mechanisms: Optional[str]
    warp_sizes: Optional[str]
    order: Optional[str]
    seed: Optional[int]
    limit: Optional[int]
    report: bool


@dataclass(frozen=True, repr=False)
class Comparison:
    """What each mechanism does to a kernel.

    rows      a dict for each mechanism and warp size, as in the JSON of `simtlab compare` (docs/compare.md)
    text      the table that `simtlab compare` prints
    document  all of the JSON
    """

    rows: List[Dict[str, Any]]
    text: str
    document: Dict[str, Any] = field(repr=False)
    _html: Optional[str] = field(repr=False, default=None)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        names = [f"{row['mechanism']}/{row['warp_size']}: {row['verdict']}" for row in self.rows]
        more = f", and {len(names) - 4} more" if len(names) > 4 else ""
        return f"<simtlab.Comparison of {len(self.rows)} runs: {', '.join(names[:4])}{more}>"

    def _repr_html_(self) -> str:
        return _show.comparison(self)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, which: Union[int, str, Tuple[str, int]]) -> Dict[str, Any]:
        """A row: by its place, a mechanism, or a mechanism and a warp size."""
        if isinstance(which, int):
            return self.rows[which]
        return self.row(*which) if isinstance(which, tuple) else self.row(which)

    def to_dataframe(self, library: str = "pandas") -> Any:
        """A table of the rows, by pandas or Polars: `to_records()`."""
        return _tables.dataframe(self.to_records(), library)

    def plot(self, metric: str = "simd_efficiency", axes: Any = None) -> Any:
        """A bar for each run, of one number of the rows, by Matplotlib; the axes."""
        return _show.plot(self, metric, axes)

    @property
    def sound(self) -> bool:
        """Whether no mechanism computes something else than serial execution without the kernel asking for it."""
        return all(row["verdict"] != "unsound" or row["equal_to_serial"] is not False for row in self.rows)

    def row(self, mechanism: str, warp_size: Optional[int] = None) -> Dict[str, Any]:
        """The row of a mechanism: the first, or that of a warp size."""
        for row in self.rows:
            if row["mechanism"] == mechanism and warp_size in (None, row["warp_size"]):
                return row
        known = ", ".join(dict.fromkeys(f"{row['mechanism']} / {row['warp_size']}" for row in self.rows))
        raise KeyError(f"no run of {mechanism!r}" + (f" at warp size {warp_size}" if warp_size else "") + f": there are {known}")

    def html(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the report: one HTML file that needs nothing else."""
        if self._html is None:
            raise LaunchError("the comparison was made without a report: leave report=False away")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self._html)

    def to_records(self) -> List[Dict[str, Any]]:
        """The rows without nesting, for tables: nested values have names such as `lane_slots.diverged`, lists are left out."""
        return [_flat(row) for row in self.rows]


def _flat(row: Dict[str, Any], before: str = "") -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(_flat(value, f"{before}{key}."))
        elif not isinstance(value, list):
            out[before + key] = value
    return out


def compare(
    what: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanisms: Names = None,
    warp_sizes: Sizes = None,
    order: Optional[str] = None,
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    report: bool = True,
    limits_of: Optional[str] = None,
) -> Comparison:
    """Runs a launch under mechanisms and warp sizes, and holds each against fair serial execution.

    `what` is a launch file, a directory with a `launch.toml`, or, with a grid and a block, PTX as `simtlab.run` takes it.
    `limits_of` is as for `simtlab.run`. All mechanisms are compared at the launch's warp size if none are named. The arrays do not change.
    """
    variations = _Variations(
        listed(mechanisms, "mechanisms"), listed(warp_sizes, "warp_sizes"), order, seed, limit, bool(report)
    )
    return _comparison(_simtlab.compare(subject(what, kernel, grid, block, args, shared, limits_of), variations))


def _comparison(made: Any) -> Comparison:
    document, text, html = made
    document = json.loads(document)
    return Comparison(document["rows"], text, document, html)
