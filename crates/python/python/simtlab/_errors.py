"""Exceptions. The native half makes them by `make`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a text, and where: `line` and `column` count from 1."""

    code: str
    message: str
    severity: str = "error"
    label: Optional[str] = None
    file: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    notes: List[str] = field(default_factory=list)
    help: Optional[str] = None


class SimtlabError(Exception):
    """What all exceptions of the package are."""


class _WithFindings(SimtlabError):
    def __init__(self, text: str, findings: Tuple[Finding, ...] = ()):
        super().__init__(text)
        self.findings = findings

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self.findings)


class CompileError(_WithFindings):
    """A program that cannot be read or run. `findings` say why and where."""


class ProgramNotFound(CompileError, FileNotFoundError):
    """A program's file that is not there."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class LaunchError(_WithFindings, ValueError):
    """A launch that cannot begin: unknown kernels, arguments that do not fit, sizes that the machine does not take."""


class DeviceError(SimtlabError):
    """Guest memory that is not there (any more), or is too much."""


class Stopped(SimtlabError):
    """A launch that did not end: a fault or a hang.

    kind    short name: `out-of-bounds`, `misaligned`, `deadlock`, `limit`, ...
    message what is wrong, in a sentence; `str()` of the exception says where, too
    line    line of the program, from 1
    source  file and line of the source that it was compiled from, if the program has a line table
    block   coordinates of the block
    warp    the warp in its block
    lanes   lanes of the warp
    threads indices (x, y, z) of the first and the last of their threads in the block
    """

    def __init__(self, text: str, detail: Optional[Dict[str, Any]] = None):
        super().__init__(text)
        detail = detail or {}
        self._detail = detail
        self.kind: str = detail.get("code", "")
        self.message: str = detail.get("message", text)
        self.line: Optional[int] = detail.get("line")
        self.notes: List[str] = detail.get("notes", [])
        self.help: Optional[str] = detail.get("help")
        source, block, lanes = detail.get("source"), detail.get("block"), detail.get("lanes")
        self.source: Optional[Tuple[str, int]] = tuple(source) if source else None
        #: The inlined calls that the source line belongs to, from the innermost to the outermost: the
        #: function that was called, file and line of the call.
        self.inlined: Tuple[Tuple[str, str, int], ...] = tuple(
            tuple(call) for call in detail.get("inlined") or ()
        )
        self.block: Optional[Tuple[int, int, int]] = tuple(block) if block else None
        self.warp: Optional[int] = detail.get("warp")
        self.lanes: Optional[Tuple[int, ...]] = tuple(lanes) if lanes is not None else None
        threads = detail.get("threads")
        self.threads: Optional[Tuple[Tuple[int, ...], ...]] = (
            tuple(tuple(thread) for thread in threads) if threads is not None else None
        )

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self._detail)


class Fault(Stopped):
    """An instruction faulted."""


class Hang(Stopped):
    """No lane can go on, all of the kernel's state repeats, or the limit of instructions is reached. The place is that of the first
    path that waits."""


_STOPPED = {"fault": Fault, "hang": Hang}
_FINDINGS = {"compile": CompileError, "launch": LaunchError}


# They are known, shown and pickled by their public names.
for _class in (SimtlabError, CompileError, ProgramNotFound, LaunchError, DeviceError, Stopped, Fault, Hang, Finding):
    _class.__module__ = "simtlab"


def make(kind: str, text: str, detail: str) -> SimtlabError:
    """The exception for what the native half tells."""
    parsed = json.loads(detail)
    if kind in _STOPPED:
        return _STOPPED[kind](text, parsed)
    if kind in _FINDINGS:
        return _FINDINGS[kind](text, tuple(Finding(**finding) for finding in parsed))
    return DeviceError(text)
