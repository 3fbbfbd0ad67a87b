"""Memory of the host for values that live as long as one call of an operator.

A large allocation is new pages of the host each time, and to provide these takes longer than most operators. Storages that a call has used
are kept for the next calls.
"""

from typing import Any, List, Sequence

import torch

CPU = torch.device("cpu")

#: Bytes from which on a tensor is worth a storage of its own, and the most that are kept.
LEAST, MOST = 1 << 22, 1 << 30

_free: List[Any] = []


class Scratch:
    """The tensors of one call."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: List[Any] = []

    def empty(self, size: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """A tensor with any values; its elements fill one piece of memory."""
        made = torch.empty(0, dtype=dtype, device=CPU)
        count = 1
        for extent in size:
            count *= extent
        needed = count * made.element_size()
        if needed < LEAST:
            return torch.empty_strided(size, strides, dtype=dtype, device=CPU)
        place = min(
            (i for i, s in enumerate(_free) if needed <= s.nbytes() <= 2 * needed), key=lambda i: int(_free[i].nbytes()), default=None
        )
        storage = torch.UntypedStorage(needed, device=CPU) if place is None else _free.pop(place)
        self._used.append(storage)
        made.set_(storage, 0, size, strides)
        return made

    def release(self) -> None:
        """Ends the use of all tensors."""
        _free.extend(self._used)
        self._used = []
        while sum(s.nbytes() for s in _free) > MOST:
            _free.pop(0)
