"""What launches did: the event log that the driver library writes, read while the program runs."""

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

#: The variable with the log's path: `simtlab exec` sets it, and `simtlab.enable()`.
PATH = "SIMTLAB_JOURNAL"


@dataclass(frozen=True)
class Launch:
    """A launch that has ended."""

    kernel: str
    grid: List[int]
    block: List[int]
    seconds: float
    #: Counts: blocks, threads, issues, lane_instructions, lane_slots, branches, divergent_branches, memory_instructions, barriers.
    totals: Dict[str, int]

    @property
    def efficiency(self) -> float:
        """Lanes that executed over lane slots, from 0 to 1."""
        return efficiency(self.totals)


@dataclass(frozen=True)
class Stop:
    """A launch that did not end: a fault or a hang."""

    kernel: str
    kind: str
    code: str
    text: str
    file: Optional[str] = None
    line: Optional[int] = None


@dataclass
class Events:
    """What happened in a stretch of a program."""

    launches: List[Launch] = field(default_factory=list)
    stops: List[Stop] = field(default_factory=list)
    #: Findings of checks, as in the JSON report of `simtlab exec --report`.
    findings: List[Dict[str, Any]] = field(default_factory=list)
    #: Modules and kernels that cannot run.
    refused: List[str] = field(default_factory=list)
    #: Calls that are not supported.
    unsupported: List[str] = field(default_factory=list)

    @property
    def totals(self) -> Dict[str, int]:
        """The sums of the launches' counts."""
        sums: Dict[str, int] = {}
        for launch in self.launches:
            for name, value in launch.totals.items():
                sums[name] = sums.get(name, 0) + value
        return sums

    @property
    def seconds(self) -> float:
        """The time of the launches."""
        return sum(launch.seconds for launch in self.launches)

    @property
    def efficiency(self) -> float:
        """Lanes that executed over lane slots in all launches, from 0 to 1; 1 without launches."""
        return efficiency(self.totals)

    @property
    def races(self) -> List[Dict[str, Any]]:
        """The findings that are races."""
        return [finding for finding in self.findings if str(finding.get("kind", "")).startswith("race")]


def efficiency(totals: Dict[str, int]) -> float:
    """Lanes that executed over lane slots; 1 if there are none."""
    slots = totals.get("lane_slots", 0)
    return totals.get("lane_instructions", 0) / slots if slots else 1.0


class Journal:
    """Reads the events of this process, and of others if asked, from where it stopped reading."""

    def __init__(self, path: Optional[str] = None, only_own: bool = False):
        given = path or os.environ.get(PATH)
        if not given:
            raise RuntimeError("launches are not recorded: run the program by `simtlab exec -- ...`, or call simtlab.enable() first")
        self._path, self._only_own, self._at = given, only_own, 0
        self._found: Dict[Any, Dict[str, Any]] = {}
        self._rest = b""

    def skip(self) -> None:
        """Goes to the end of the log. Findings are remembered, for one that is found again is not told in full again."""
        self.take()

    def take(self) -> Events:
        """The events since the last call."""
        events = Events()
        try:
            with open(self._path, "rb") as file:
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return events
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if not self._only_own or event.get("process") == os.getpid():
                self._add(events, event)
        return events

    def _add(self, events: Events, event: Dict[str, Any]) -> None:
        kind = event.get("event")
        if kind == "launch":
            events.launches.append(Launch(event["kernel"], event["grid"], event["block"], event["seconds"], event["totals"]))
        elif kind == "stop":
            source = (event.get("instruction") or {}).get("source") or (None, None)
            name = event.get("name") or event["kernel"]
            events.stops.append(Stop(name, event["kind"], event["code"], event["text"], source[0], source[1]))
        elif kind == "finding":
            self._found[event["process"], event["number"]] = event["finding"]
            events.findings.append(event["finding"])
        elif kind == "found-again":
            known = self._found.get((event["process"], event["number"]))
            if known is not None and known not in events.findings:
                events.findings.append(known)
        elif kind == "refused":
            events.refused.append(event["text"])
        elif kind == "unsupported":
            events.unsupported.append(event["call"])


class Capture:
    """What launches did between the beginning and the end of a `with` block: see `simtlab.capture`."""

    def __init__(self, path: Optional[str] = None):
        self._journal = Journal(path, only_own=True)
        self._events = Events()

    def __enter__(self) -> "Capture":
        self._journal.skip()
        return self

    def __exit__(self, *_: Any) -> None:
        self._events = self._journal.take()

    @property
    def launches(self) -> List[Launch]:
        """The launches that have ended, in order."""
        return self._events.launches

    @property
    def stops(self) -> List[Stop]:
        """The launches that faulted or hung."""
        return self._events.stops

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """What checks have found."""
        return self._events.findings

    @property
    def races(self) -> List[Dict[str, Any]]:
        """The findings that are races."""
        return self._events.races

    @property
    def totals(self) -> Dict[str, int]:
        """The sums of the launches' counts."""
        return self._events.totals

    @property
    def efficiency(self) -> float:
        """Lanes that executed over lane slots, from 0 to 1."""
        return self._events.efficiency

    def __repr__(self) -> str:
        return f"<capture of {len(self.launches)} launches, {len(self.stops)} stops, {len(self.findings)} findings>"
