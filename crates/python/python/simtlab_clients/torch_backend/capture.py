"""Operators while a stream is captured into a graph: a node that computes the operator on the host at each replay.

While a stream is captured nothing is computed. What an operator's results look like is known from its meta kernel; they are allocated
from the graph's pool, as on a device, and each replay writes them. An operator whose results' sizes depend on values cannot be
captured, and says so, as on a device.
"""

import ctypes
import weakref
from typing import Any, Callable, Dict, List, Tuple

import torch

from .. import driver

#: How many graphs are being captured.
active = 0

_nodes: Dict[int, Callable[[], None]] = {}
_count = 0
_captured: List[List[int]] = []
_failures: List[BaseException] = []

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def capturing() -> bool:
    """Whether the current stream is being captured."""
    return torch.cuda.is_current_stream_capturing()


@_Callback
def _replay(key: int) -> None:
    node = _nodes.get(key)
    if node is not None and not _failures:
        try:
            node()
        except BaseException as error:  # It is raised when the replay returns.
            _failures.append(error)


def record(operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    """Adds an operator to the graph that is being captured; its results, which replays write."""
    global _count
    made: List[Any] = []
    if operator.fresh:
        expected = operator.expected(args, kwargs)
        if expected is None:
            raise RuntimeError(
                f"simtlab: {operator.name} cannot be captured in a graph: the sizes of its results are not known before it runs"
            )
        device = torch.device("cuda", torch.cuda.current_device())
        made = [
            torch.empty_strided(e.size(), e.stride(), dtype=e.dtype, device=device) if isinstance(e, torch.Tensor) else e
            for e in expected
        ]
    seeds = _Seeds(operator) if operator.is_random else None

    def node() -> None:
        fresh = [tensor for tensor, name in zip(_results(operator, made), operator.returned) if name is None]
        operator.run(args, kwargs, [t for group in fresh for t in group], None if seeds is None else seeds.draw())

    _count += 1
    _nodes[_count] = node
    if _captured:
        _captured[-1].append(_count)
    stream = torch.cuda.current_stream().cuda_stream
    status = driver.library().cuLaunchHostFunc(stream, ctypes.cast(_replay, ctypes.c_void_p), _count)
    if status:
        raise RuntimeError(f"simtlab: {operator.name} cannot be captured in a graph: CUDA error {status}")
    return _returned(operator, made, args, kwargs)


class _Seeds:
    """The seeds of a random operator in a graph: another one for each replay, from the generator's state at the capture."""

    def __init__(self, operator: Any):
        from . import randomness

        self._base = randomness._mixed(torch.initial_seed(), _count)
        self._replays = 0

    def draw(self) -> int:
        from . import randomness

        self._replays += 1
        return randomness._mixed(self._base, self._replays)


def _results(operator: Any, made: List[Any]) -> List[List[Any]]:
    """New results in groups by the schema's results. A list takes what the others leave."""
    rest = list(made)
    count = len(operator.returned)
    groups: List[List[Any]] = []
    for index in range(count):
        take = len(rest) - (count - index - 1)
        groups.append([rest.pop(0) for _ in range(max(take, 0) if count - index == 1 else 1)])
    return groups


def _returned(operator: Any, made: List[Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
    if not operator.returned:
        return None
    groups = _results(operator, made) if operator.fresh else [[] for _ in operator.returned]
    values: List[Any] = []
    for group, name, declared in zip(groups, operator.returned, operator.op._schema.returns):
        if name is not None:
            values.append(kwargs[name] if name in kwargs else args[operator.names.index(name)])
        elif str(declared.type).startswith("List"):
            values.append(group)
        else:
            values.append(group[0])
    return values[0] if len(values) == 1 else tuple(values)


def _forget(keys: List[int]) -> None:
    for key in keys:
        _nodes.pop(key, None)


def enable() -> None:
    """Follows captures: PyTorch's pools serve a graph's memory, which has to stay where it is, and nothing else."""
    graph = torch.cuda.CUDAGraph
    begin, end, replay = graph.capture_begin, graph.capture_end, graph.replay
    pool = torch._C._cuda_cudaCachingAllocator_enable

    def capture_begin(self: Any, *args: Any, **kwargs: Any) -> Any:
        global active
        pool(True)
        try:
            result = begin(self, *args, **kwargs)
        except BaseException:
            pool(active > 0)
            raise
        active += 1
        _captured.append([])
        return result

    def capture_end(self: Any) -> Any:
        global active
        keys = _captured.pop() if _captured else []
        active = max(active - 1, 0)
        weakref.finalize(self, _forget, keys)
        try:
            return end(self)
        finally:
            pool(active > 0)

    def replayed(self: Any) -> Any:
        result = replay(self)
        if _failures:
            error = _failures[0]
            _failures.clear()
            raise error
        return result

    graph.capture_begin, graph.capture_end, graph.replay = capture_begin, capture_end, replayed
