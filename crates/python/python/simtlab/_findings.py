"""What checks find in a launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple


@dataclass(frozen=True)
class CheckFinding:
    """A defect: docs/checks.md lists the kinds, with causes and cures.

    kind      its kind, such as "race-in-block"
    message   what is wrong here, in one line
    line      the line of the program's text
    source    file and line of the source, if the program has a line table
    causes    why it is wrong
    cure      what to do
    count     how often it was found
    report    all of it, as in the JSON report of `simtlab run --report json`
    """

    kind: str
    message: str
    line: Optional[int]
    source: Optional[Tuple[str, int]]
    causes: Tuple[str, ...]
    cure: str
    count: int
    report: Dict[str, Any]

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}; {self.cure}"


def findings(report: Optional[Dict[str, Any]]) -> Tuple[CheckFinding, ...]:
    """From the JSON report of a launch."""
    if report is None:
        return ()
    made = []
    for found in report["findings"]:
        place = found["place"]
        source = place.get("source")
        made.append(
            CheckFinding(
                kind=found["kind"],
                message=found["message"],
                line=place["line"],
                source=None if source is None else (source["file"], source["line"]),
                causes=tuple(found["causes"]),
                cure=found["cure"],
                count=found["count"],
                report=found,
            )
        )
    return tuple(made)
