"""Mechanisms for interpreters in Python: who executes is somebody else, which lanes run is decided here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _simtlab

_WORD = (1 << 64) - 1

#: An instruction of a graph: ``"next"``, ``("jump", place)``, ``("branch", place)``, ``("switch", places)`` or ``"end"``.
Instruction = Union[str, Tuple[str, Union[int, Sequence[int]]]]


@dataclass(frozen=True)
class Path:
    """Lanes that stand at one place together. ``lanes`` is a mask: lane *i* is bit *i*."""

    place: int
    lanes: int


@dataclass(frozen=True)
class Row:
    """A row of a mechanism's stack, list or tables."""

    what: str
    place: Optional[int]
    rejoin: Optional[int]
    lanes: int


class SessionStats(Dict[str, Union[int, float, None]]):
    """What a group did; prints itself as a table."""

    def __init__(self, values: Dict[str, Union[int, float, None]], text: str) -> None:
        super().__init__(values)
        self._text = text

    def __str__(self) -> str:
        return self._text


class Session:
    """A convergence mechanism for an interpreter of your own.

    ``mechanism`` is a name or alias of :func:`simtlab.mechanisms`; ``order`` says which side of a divergent branch runs first, where the mechanism
    asks; ``graph`` lists where control may go after each instruction, and can be left out for mechanisms that do not plan. The interpreter asks
    :meth:`now` which lanes stand where, executes that instruction for them, and tells what it was. Masks are integers. A mask or place that cannot be
    is a ``ValueError``, and changes nothing.
    """

    def __init__(self, mechanism: str = "ipdom", graph: Optional[Iterable[Instruction]] = None, *, order: Optional[str] = None) -> None:
        self._native = _simtlab.NativeSession(mechanism, order)
        if graph is not None:
            self._native.set_graph([_instruction(one) for one in graph])

    @property
    def mechanism(self) -> str:
        """The mechanism's name."""
        return self._native.mechanism

    def begin(self, place: int = 0, lanes: Optional[int] = None, width: int = 32) -> None:
        """Begins with lanes (all of them by default) of a group of `width` at a place; statistics begin anew."""
        self._native.begin(place, _words((1 << width) - 1 if lanes is None else lanes), width)

    def now(self) -> Optional[Path]:
        """What runs now, possibly without lanes (an idle issue); ``None`` if all lanes have ended."""
        now = self._native.now()
        return None if now is None else Path(now[0], _mask(now[1]))

    @property
    def active_mask(self) -> int:
        """The lanes that run now."""
        now = self.now()
        return 0 if now is None else now.lanes

    def paths(self) -> List[Path]:
        """All paths, those that wait included."""
        return [Path(place, _mask(words)) for place, words in self._native.paths()]

    def stack(self) -> List[Row]:
        """The mechanism's stack, list or tables; what runs next is last."""
        return [Row(what, place, rejoin, _mask(words)) for what, place, rejoin, words in self._native.rows()]

    def step(self) -> None:
        """An ordinary instruction was executed."""
        self._native.step()

    def branch(self, taken: int, target: int, active: Optional[int] = None) -> None:
        """A conditional branch was executed: the lanes of `taken` go to `target`, the other active ones on. `active` is checked if it is given."""
        self._native.branch(_words(self.active_mask if active is None else active), _words(taken), target)

    def jump(self, target: int) -> None:
        """All active lanes jump."""
        self._native.jump(target)

    def switch(self, targets: Dict[int, int]) -> None:
        """A branch with any number of targets was executed: lanes by place."""
        self._native.switch([(place, _words(lanes)) for place, lanes in targets.items()])

    def exit(self, lanes: Optional[int] = None) -> None:
        """Active lanes (all of them by default) end; the others go on to the next instruction."""
        self._native.exit(_words(self.active_mask if lanes is None else lanes))

    @property
    def statistics(self) -> SessionStats:
        """What the group did so far."""
        values, text = self._native.statistics()
        return SessionStats(json.loads(values), text)

    def __repr__(self) -> str:
        now = self.now()
        where = "no lane runs" if now is None else f"lanes {now.lanes:#x} at {now.place}"
        return f"<simtlab.Session {self.mechanism}: {where}>"


def _instruction(one: Instruction) -> Tuple[str, List[int]]:
    if isinstance(one, str):
        return one, []
    kind, places = one
    return kind, [places] if isinstance(places, int) else list(places)


def _words(mask: int) -> List[int]:
    if mask < 0:
        raise ValueError("a mask is not negative")
    words = []
    while mask:
        words.append(mask & _WORD)
        mask >>= 64
    return words


def _mask(words: Sequence[int]) -> int:
    return sum(word << (64 * index) for index, word in enumerate(words))
