"""Arguments of kernels, as the native half takes them."""

from __future__ import annotations

import ctypes
import numbers
from dataclasses import dataclass
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Device, DeviceArray, as_bytes, element_name, put_back, shared_array
from ._errors import LaunchError

Arguments = Union[Sequence[Any], Mapping[str, Any]]


@dataclass
class Given:
    """One argument: see `Given` of the native half."""

    name: Optional[str]
    kind: str
    text: str = ""
    data: Optional[bytes] = None
    shape: Tuple[int, ...] = ()
    same: int = 0
    back: bool = False


@dataclass
class Wanted:
    """A launch: see `Wanted` of the native half."""

    kernel: str
    grid: Tuple[int, int, int]
    block: Tuple[int, int, int]
    shared: int
    args: List[Given]
    mechanism: str
    warp_size: int
    seed: int
    limit: Optional[int]
    jobs: Optional[int]
    exact: bool
    stats: bool
    check: Optional[str] = None
    matrix_sums: str = "device"


def renamed(args: Arguments, order: Sequence[str], names: Sequence[str]) -> Arguments:
    """Arguments by the parameters' names of a program, of those that its source calls `names`, in the same order."""
    if not isinstance(args, Mapping) or len(order) != len(names):
        return args
    of_program = dict(zip(names, order))
    return {name if name in order else of_program.get(name, name): value for name, value in args.items()}


def extents(value: Any, what: str) -> Tuple[int, int, int]:
    """A number, or up to three of them."""
    given = (value,) if isinstance(value, numbers.Integral) else tuple(value) if isinstance(value, Iterable) else ()
    sizes = [int(v) for v in given if isinstance(v, numbers.Integral) and not isinstance(v, bool)]
    if not 1 <= len(given) <= 3 or len(sizes) != len(given) or any(not 0 < v < 1 << 63 for v in sizes):
        raise LaunchError(f"{what} takes one to three whole numbers from 1 up, not {value!r}")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def whole(value: Any, what: str, least: int, most: int) -> int:
    """A whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most:
        raise LaunchError(f"{what} takes a whole number from {least} to {most}, not {value!r}")
    return int(value)


class Passed:
    """The arguments of one launch: those of NumPy are copied into `given`, and back by `take_back`."""

    def __init__(self, args: Arguments, device: Optional[Device]):
        self._device = device
        self._arrays: List[np.ndarray] = []
        self._places: List[int] = []
        self._what: List[str] = []
        self.given: List[Given] = []
        if isinstance(args, (str, bytes, np.ndarray, DeviceArray)) or not isinstance(args, Iterable):
            raise LaunchError("args takes a list of arguments, or a dict of them by parameter")
        named = args.items() if isinstance(args, Mapping) else ((None, arg) for arg in args)
        for name, arg in named:
            if name is not None and not isinstance(name, str):
                raise LaunchError(f"parameters have names, not {name!r}")
            what = f"argument {name!r}" if name is not None else f"argument {len(self.given)}"
            self.given.append(self._give(name, arg, what))

    def _give(self, name: Optional[str], arg: Any, what: str) -> Given:
        if isinstance(arg, DeviceArray):
            if self._device is None:
                raise LaunchError(f"{what} is a device array: run and compare have memory of their own, Module.launch takes them")
            if arg.device is not self._device:
                raise LaunchError(f"{what} is on another device than the module")
            return Given(name, "address", str(arg.address))
        if isinstance(arg, np.ndarray):
            return self._give_array(name, arg, what)
        if isinstance(arg, np.generic):
            if np.dtype(arg.dtype).kind == "V":
                return Given(name, "bytes", data=as_bytes(np.asarray(arg), what))
            element = element_name(arg.dtype)
            if not element:
                raise LaunchError(f"{what} is a {arg.dtype}, which no parameter takes: pass its bytes")
            data = np.asarray(arg).astype(arg.dtype.newbyteorder("<")).tobytes()
            return Given(name, "scalar", element, data)
        if isinstance(arg, (bytes, bytearray, memoryview)):
            return Given(name, "bytes", data=bytes(arg))
        if isinstance(arg, numbers.Integral):
            number = int(arg)
            if not -(1 << 63) <= number < 1 << 64:
                raise LaunchError(f"{what} has more than 64 bits")
            return Given(name, "int", str(number))
        if isinstance(arg, numbers.Real):
            return Given(name, "float", repr(float(arg)))
        if isinstance(arg, (ctypes.Structure, ctypes.Union)):
            return Given(name, "bytes", data=bytes(arg))
        shared = shared_array(arg, what)
        if shared is not None:
            # The numbers of ctypes are arrays without dimensions to NumPy.
            return self._give(name, shared[()], what) if isinstance(arg, ctypes._SimpleCData) else self._give_array(name, shared, what)
        raise LaunchError(
            f"{what} is a {type(arg).__name__}: pass a number, a NumPy array or scalar, what shares its memory as one does "
            "(array.array, ctypes, a tensor on the CPU), a device array, or bytes"
        )

    def _give_array(self, name: Optional[str], array: np.ndarray, what: str) -> Given:
        data = as_bytes(array, what)
        index, same = len(self.given), None
        for known, place in zip(self._arrays, self._places):
            if known.size and np.may_share_memory(known, array):
                if known.nbytes != array.nbytes or not _starts_alike(known, array):
                    raise LaunchError(f"{what} overlaps another argument: pass the whole array once, and offsets to it")
                same = place if same is None else same
        self._arrays.append(array)
        self._places.append(index)
        element = element_name(array.dtype)
        same = index if same is None else same
        self._what.append(what)
        return Given(name, "array", element, data, array.shape, same, True)

    def take_back(self, arrays: Sequence[bytes]) -> None:
        """Copies what the kernel has left to the arrays.

        Raises LaunchError if it has changed one that is read-only; the others have what it has left then.
        """
        for array, data in zip(self._arrays, arrays):
            if array.flags.writeable:
                put_back(array, data)
        # The memory of a read-only view may have been written through another argument.
        for array, data, what in zip(self._arrays, arrays, self._what):
            if not array.flags.writeable and as_bytes(array, what) != bytes(data):
                raise LaunchError(
                    f"{what} is a read-only array, and the kernel has written to it: pass a copy of it "
                    "(numpy.array(a)), or make it writable with a.setflags(write=True)"
                )


def _starts_alike(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(a.__array_interface__["data"][0] == b.__array_interface__["data"][0])
