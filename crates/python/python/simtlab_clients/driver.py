"""The driver library of this process, by `ctypes`: where it is, and its functions that are not CUDA's."""

import ctypes
import os
from typing import List, Optional

#: The folder of the libraries: `simtlab exec` sets it, and `simtlab.enable()`.
FOLDER = "SIMTLAB_RUN_LIBRARIES"

#: Libraries on top of the driver's that processes load by name.
_OTHERS = ("libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", "libcupti.so.12", "libcupti.so.13")

_library: Optional[ctypes.CDLL] = None
_kept: List[ctypes.CDLL] = []


class DriverError(RuntimeError):
    """A call of the driver library has failed."""


def folder() -> str:
    """The folder of the libraries of this run."""
    found = os.environ.get(FOLDER)
    if not found or not os.path.exists(os.path.join(found, "libcuda.so.1")):
        raise DriverError("the libraries of simtlab are not there: run the program by `simtlab exec -- ...`, or call simtlab.enable() first")
    return found


def preload() -> None:
    """Loads the driver library, the runtime libraries, and those of management and profiling, so that the loader takes them for others of their names.

    Only libraries that no other of the same name is loaded before can be replaced.
    """
    library()
    for name in _OTHERS:
        path = os.path.join(folder(), name)
        if os.path.exists(path):
            keep(path)


def keep(path: str) -> None:
    """Loads a library for the rest of the process."""
    _kept.append(ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL))


def library() -> ctypes.CDLL:
    """The driver library."""
    global _library
    if _library is None:
        made = ctypes.CDLL(os.path.join(folder(), "libcuda.so.1"), mode=ctypes.RTLD_LOCAL)
        made.simtlab_expose.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]
        made.simtlab_within.argtypes = [ctypes.c_char_p]
        made.simtlab_host_work.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]
        made.simtlab_operator_begins.argtypes = made.simtlab_operator_ends.argtypes = [ctypes.c_char_p]
        made.simtlab_counts.argtypes = [ctypes.c_void_p, ctypes.c_int]
        made.cuLaunchHostFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        _library = made
    return _library


def counts() -> List[int]:
    """The counts of all launches of this process so far, in the order of the library's totals."""
    out = (ctypes.c_uint64 * 16)()
    given = library().simtlab_counts(out, len(out))
    return list(out[: max(given, 0)])
