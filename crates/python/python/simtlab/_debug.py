"""Launches in the debugger, forwards and backwards."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _simtlab
from ._arguments import Arguments
from ._errors import SimtlabError
from ._module import Extents, Ptx
from ._subject import subject

Number = Union[int, float]

_STEPS = {"issue": "stepi", "line": "step", "over": "next", "out": "finish", "rejoin": "rejoin", "barrier": "barrier"}


class DebugError(SimtlabError):
    """The debugger refuses a command: an expression with an error, a place without code, memory that is not mapped."""


@dataclass
class _Debugging:
    mechanism: Optional[str]
    warp_size: Optional[int]
    seed: Optional[int]
    limit: Optional[int]
    memory: Optional[int]


@dataclass(frozen=True)
class DebugStop:
    """Where a launch stands, and why.

    position     issues made
    reason       start, step, position, breakpoint, event (a watch or a catch), end, interrupted, gone (what was stepped has ended)
    number       of the breakpoint, watch or catch
    text         what happened, if there is more to say
    end          None; or done, a name of a trap, or deadlock, repeats, limit
    line         of the program's text, from 1
    source       file and line of the source, if the program has a line table
    instruction  the one that is issued next
    block, warp, lane  the lane in focus
    """

    position: int
    reason: str
    number: Optional[int]
    text: Optional[str]
    end: Optional[str]
    line: Optional[int]
    source: Optional[Tuple[str, int]]
    instruction: Optional[str]
    block: int
    warp: int
    lane: int


class DebugSession:
    """Launches in the debugger, one after another. Made by `simtlab.debug`; a context manager.

    `command` takes any command of `simtlab debug` (docs/debugger.md); the other methods are the usual ones, with values instead of text.
    `kernel` is the launch's kernel, `stop` says where it stands, `finished` whether all launches have ended, and `text` is what was said last.
    """

    def __init__(self, native: "_simtlab.DebugSession") -> None:
        self._native = native
        self._callbacks: Dict[int, Callable[["DebugSession"], Any]] = {}
        self.finished = False
        self.kernel = ""
        self.text = ""
        self._stop: Optional[DebugStop] = None
        self._take(native.first())

    def _take(self, answer: str) -> Any:
        found = json.loads(answer)
        if found.get("finished"):
            self.finished = True
            self.text = found["text"]
            return None
        state = found["state"]
        self.kernel = state.pop("kernel")
        state.pop("launch")
        if state["source"] is not None:
            state["source"] = tuple(state["source"])
        self._stop = DebugStop(**state)
        if "error" in found:
            raise DebugError(found["error"])
        return found.get("answer", found.get("text"))

    def _ask(self, kind: str, text: str = "") -> Any:
        if self.finished:
            raise DebugError("all launches have ended")
        return self._take(self._native.ask(kind, text))

    @property
    def stop(self) -> DebugStop:
        assert self._stop is not None
        return self._stop

    @property
    def position(self) -> int:
        """Issues made."""
        return self.stop.position

    def command(self, text: str) -> str:
        """Executes a command and returns what it says."""
        self.text = self._ask("command", text) or self.text
        return self.text

    def _point(self, command: str, callback: Optional[Callable[["DebugSession"], Any]]) -> int:
        # "breakpoint 3: line 7", behind notes.
        line = self.command(command).strip().splitlines()[-1]
        number = int(line.split(":")[0].split()[-1])
        if callback is not None:
            self._callbacks[number] = callback
        return number

    def breakpoint(
        self, place: Union[int, str], condition: Optional[str] = None, callback: Optional[Callable[["DebugSession"], Any]] = None
    ) -> int:
        """Stops before a line, `file:line`, `*address`, function or label. Returns the number of the breakpoint.

        `run` calls `callback` with the session where it stops, and goes on unless that returns something true.
        """
        return self._point(f"break {place}" + (f" if {condition}" if condition else ""), callback)

    def watch(self, what: str, access: str = "change", callback: Optional[Callable[["DebugSession"], Any]] = None) -> int:
        """Stops behind changes of a register or memory (`[address]:type`, a variable, a buffer); with access "read" or "any" of memory."""
        commands = {"change": "watch", "read": "rwatch", "any": "awatch"}
        if access not in commands:
            raise DebugError(f"access is change, read or any, not {access!r}")
        return self._point(f"{commands[access]} {what}", callback)

    def catch(self, event: str, callback: Optional[Callable[["DebugSession"], Any]] = None) -> int:
        """Stops at events: split, merge, arrive, release, block, or `mask 0xff`."""
        return self._point(f"catch {event}", callback)

    def delete(self, *numbers: int) -> None:
        """Removes breakpoints, watches and catches: these, or all."""
        self.command(" ".join(["delete", *map(str, numbers)]))
        for number in numbers or tuple(self._callbacks):
            self._callbacks.pop(number, None)

    def step(self, count: int = 1, what: str = "issue", back: bool = False) -> DebugStop:
        """Steps by issues, or to another line ("line", "over" calls), "out" of the function, to "rejoin", to "barrier"."""
        if what not in _STEPS:
            raise DebugError(f"a step is one of {', '.join(_STEPS)}, not {what!r}")
        command = ("reverse-" if back else "") + _STEPS[what]
        if what in ("issue", "line", "over"):
            self.command(f"{command} {count}")
        else:
            for _ in range(count):
                self.command(command)
        return self.stop

    def run(self, back: bool = False) -> DebugStop:
        """Runs to where something stops, or to the end; with `back` to the last such place, or the start."""
        while True:
            self.command("reverse-continue" if back else "continue")
            callback = self._callbacks.get(self.stop.number or 0)
            if callback is None or callback(self):
                return self.stop

    def rewind(self, position: int) -> DebugStop:
        """Goes to a position, forwards or backwards."""
        self.command(f"rewind {position}")
        return self.stop

    def focus(self, lane: Optional[int] = None, warp: Optional[int] = None, block: Optional[int] = None) -> DebugStop:
        """Looks at another lane."""
        given = (("block", block), ("warp", warp), ("lane", lane))
        self.command("focus " + " ".join(f"{name} {value}" for name, value in given if value is not None))
        return self.stop

    def value(self, expression: str) -> Number:
        """An expression in the lane in focus: registers, memory, parameters, numbers of lanes."""
        return _number(self._ask("value", expression))

    def lanes(self, expression: str) -> Dict[int, Optional[Number]]:
        """An expression in each living lane of the warp in focus; None where it has no value."""
        return {lane: None if value is None else _number(value) for lane, value in self._ask("lanes", expression)}

    def registers(self) -> Dict[str, int]:
        """The registers of the frame in focus, as unsigned numbers."""
        return {name: int(value) for name, value in self._ask("registers")}

    def variables(self) -> Dict[str, Union[Number, str]]:
        """The variables of the source that are known at the place in focus: numbers, or text where they are none or have no place there."""
        return {name: shown if value is None else _number(value) for name, _type, shown, value in self._ask("variables")}

    def memory(self, address: int, length: int) -> bytes:
        """Bytes of global memory."""
        return bytes.fromhex(self._ask("memory", f"{address} {length}"))

    def set(self, what: str, value: Any) -> None:
        """Changes a register (`%r3`, `%r3@lane`), memory (`[address]:type`) or the mask: a new branch of the recording begins."""
        self.command(f"set {what} = {value}")

    def who(self, what: str, depth: int = 0) -> List[str]:
        """Who wrote a register or memory last, and with a depth what that depended on."""
        return self.command(f"who {what}" + (f" depth {depth}" if depth else "")).splitlines()

    def detach(self) -> None:
        """Lets this launch run on; the next one is debugged."""
        self.text = self._ask("command", "detach") or self.text

    def close(self) -> None:
        """Stops the launch where it stands."""
        self.finished = True
        self._native.close()

    def __enter__(self) -> "DebugSession":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _number(value: Dict[str, str]) -> Number:
    return int(value["int"]) if "int" in value else float(value["float"])


def debug(
    what: Ptx,
    kernel: Optional[str] = None,
    grid: Optional[Extents] = None,
    block: Optional[Extents] = None,
    args: Arguments = (),
    *,
    mechanism: Optional[str] = None,
    warp_size: Optional[int] = None,
    shared: int = 0,
    seed: Optional[int] = None,
    limit: Optional[int] = None,
    memory: Optional[int] = None,
    limits_of: Optional[str] = None,
) -> DebugSession:
    """Begins a launch in the debugger, before its first instruction.

    `what`, `kernel`, `grid`, `block`, `args`, `shared` and `limits_of` are as for `simtlab.compare`. `memory` is what snapshots may take, in MiB.
    The arrays do not change.
    """
    debugging = _Debugging(mechanism, warp_size, seed, limit, memory)
    return DebugSession(_simtlab.debug(subject(what, kernel, grid, block, args, shared, limits_of), debugging))
