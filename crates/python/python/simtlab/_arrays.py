"""Arrays: NumPy's, checked and as bytes, and those in guest memory."""

from __future__ import annotations

import sys
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from . import _simtlab
from ._errors import LaunchError, DeviceError

Device = _simtlab.Device

#: Where arrays and modules are that name no device.
_default = Device()


def device_or_default(device: Optional[Device]) -> Device:
    """The device given, or the one that all share who give none."""
    return _default if device is None else device


#: `inspect.BufferFlags.WRITABLE`, which Python has from 3.12 on.
_WRITABLE = 1

#: Names of element types, by kind and size.
_ELEMENTS = {"u": "u", "i": "s", "f": "f", "b": "u"}


def element_name(dtype: np.dtype) -> str:
    """`f32`, `s64`, ...; empty for a type that kernels have no name for."""
    if dtype.name == "bfloat16":
        return "bf16"
    letter = _ELEMENTS.get(dtype.kind)
    if letter is None or dtype.itemsize not in (1, 2, 4, 8) or (letter == "f" and dtype.itemsize == 1):
        return ""
    return f"{letter}{8 * dtype.itemsize}"


def _foreign(dtype: np.dtype) -> bool:
    """Whether a type has another byte order than guests, who are little-endian."""
    if dtype.fields:
        return any(_foreign(field[0]) for field in dtype.fields.values())
    if dtype.subdtype:
        return _foreign(dtype.subdtype[0])
    order = dtype.byteorder
    return order == ">" or (order == "=" and sys.byteorder == "big")


def flat(array: np.ndarray, what: str) -> np.ndarray:
    """The array's memory as one row of its elements: a view, never a copy.

    Raises LaunchError for arrays that cannot be passed, with a way out.
    """
    if array.dtype.hasobject:
        raise LaunchError(f"{what} holds Python objects, which kernels cannot read: convert it with astype")
    if _foreign(array.dtype):
        raise LaunchError(
            f"{what} is big-endian ({array.dtype.str}): convert it with astype(dtype.newbyteorder('<')), guests are little-endian"
        )
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if array.flags.f_contiguous:
        return array.T.reshape(-1)
    raise LaunchError(
        f"{what} is not contiguous (strides {array.strides}): pass numpy.ascontiguousarray(...), "
        "and copy from it after the launch what the kernel has written"
    )


def shared_array(value: Any, what: str) -> Optional[np.ndarray]:
    """The memory of another library's array as NumPy's, by the buffer protocol or one of NumPy's; None if it has none of them.

    Raises LaunchError if it gives copies: what a kernel writes would be lost.
    """
    if isinstance(value, (list, tuple, str)):
        return None
    if not any(hasattr(value, name) for name in ("__array_interface__", "__array_struct__", "__array__")):
        try:
            memoryview(value)
        except TypeError:
            return None
    try:
        array, again = np.asarray(value), np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise LaunchError(f"{what}, a {type(value).__name__}, cannot be had as a NumPy array: {error}") from error
    if array.size and not np.may_share_memory(array, again):
        raise LaunchError(
            f"{what}, a {type(value).__name__}, gives copies of its memory: make a NumPy array of it, and read from that after the launch"
        )
    return array


def as_bytes(array: np.ndarray, what: str) -> bytes:
    """The array's memory."""
    return flat(array, what).tobytes()


def put_back(array: np.ndarray, data: bytes) -> None:
    """Writes the array's memory."""
    if data:
        flat(array, "the array").view(np.uint8)[...] = np.frombuffer(data, np.uint8)


class DeviceArray:
    """An array in guest memory: it has an address, and stays there from launch to launch. Made by `simtlab.array`.

    `numpy()` and `numpy.asarray` give copies of what it holds now; `set` and `a[...] = values` write it.
    """

    def __init__(self, shape: Tuple[int, ...], dtype: np.dtype, device: Device, data: bytes, name: str):
        self.shape, self.dtype, self.device, self.name = shape, dtype, device, name
        self.nbytes = len(data)
        self._address: Optional[int] = device.allocate(name, data)

    @property
    def address(self) -> int:
        """Where it is in guest memory."""
        if self._address is None:
            raise DeviceError(f"the array {self.name!r} is freed")
        return self._address

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def numpy(self) -> np.ndarray:
        """A copy of what it holds."""
        data = bytearray(self.device.read(self.address, self.nbytes))
        return np.frombuffer(data, np.uint8).view(self.dtype).reshape(self.shape) if data else np.empty(self.shape, self.dtype)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the array is in guest memory: it can only be copied")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def tobytes(self) -> bytes:
        """A copy of what it holds, as bytes in C order."""
        return bytes(self.device.read(self.address, self.nbytes))

    def __buffer__(self, flags: int) -> memoryview:
        # Python 3.12 and later. What is written to a buffer could not be seen here: it is for reading.
        if flags & _WRITABLE:
            raise BufferError("the array is in guest memory: a buffer of it is a copy, which can only be read")
        values: Any = self.numpy()
        values.flags.writeable = False
        return memoryview(values)

    def set(self, values: Any) -> None:
        """Writes all of it; the values are broadcast to its shape and converted as NumPy does."""
        whole = np.empty(self.shape, self.dtype)
        whole[...] = values
        self.device.write(self.address, whole.tobytes())

    def _place(self, index: Any) -> Optional[int]:
        """The offset in bytes of one element, if the index names one by whole numbers."""
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != len(self.shape) or not all(isinstance(i, (int, np.integer)) and not isinstance(i, (bool, np.bool_)) for i in given):
            return None
        place = 0
        for i, size in zip(given, self.shape):
            at = int(i) + size if i < 0 else int(i)
            if not 0 <= at < size:
                raise IndexError(f"index {i} is out of bounds for an axis of {size}")
            place = place * size + at
        return place * self.dtype.itemsize

    def __setitem__(self, index: Any, values: Any) -> None:
        place = self._place(index)
        if place is not None:
            one = np.empty((), self.dtype)
            one[...] = values
            self.device.write(self.address + place, one.tobytes())
            return
        whole = self.numpy()
        whole[index] = values
        self.device.write(self.address, whole.tobytes())

    def __getitem__(self, index: Any) -> Any:
        place = self._place(index)
        if place is not None:
            return np.frombuffer(self.device.read(self.address + place, self.dtype.itemsize), self.dtype)[0]
        return self.numpy()[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numpy())

    def get(self) -> np.ndarray:
        """A copy of what it holds, as CuPy and PyCUDA call it."""
        return self.numpy()

    def copy_to_host(self) -> np.ndarray:
        """A copy of what it holds, as Numba calls it."""
        return self.numpy()

    def free(self) -> None:
        """Frees it, now rather than with the last reference. Freeing it twice does nothing."""
        if self._address is not None:
            self.device.free(self._address)
            self._address = None

    def __del__(self) -> None:
        if getattr(self, "_address", None) is not None:
            self.free()

    def __repr__(self) -> str:
        place = "freed" if self._address is None else f"at {self._address:#x}"
        return f"<simtlab.DeviceArray {self.name!r} {self.dtype}{list(self.shape)} {place}>"


def array(values: Any, dtype: Any = None, *, device: Optional[Device] = None, name: str = "array") -> DeviceArray:
    """A copy of an array, or of what NumPy can make one of, in guest memory. The name is for messages about faults."""
    host = np.ascontiguousarray(values, dtype=dtype).reshape(np.shape(values))
    if _foreign(host.dtype):
        host = host.astype(host.dtype.newbyteorder("<"))
    return DeviceArray(host.shape, host.dtype, device_or_default(device), as_bytes(host, "the array"), name)


def zeros(shape: Any, dtype: Any = np.float32, *, device: Optional[Device] = None, name: str = "array") -> DeviceArray:
    """An array of zeros in guest memory."""
    return array(np.zeros(shape, dtype), device=device, name=name)


def empty(shape: Any, dtype: Any = np.float32, *, device: Optional[Device] = None, name: str = "array") -> DeviceArray:
    """An array in guest memory that nobody has written: guest memory is zero at first."""
    return zeros(shape, dtype, device=device, name=name)
