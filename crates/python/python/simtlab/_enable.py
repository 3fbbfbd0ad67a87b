"""The virtual device in this process, without `simtlab exec`: for notebooks and scripts."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import stat
import sys
import tempfile
from typing import TYPE_CHECKING, Optional, Sequence, Union

from ._command import find_command, find_libraries
from ._errors import SimtlabError

if TYPE_CHECKING:
    from simtlab_clients.journal import Capture

#: Modules that load CUDA's libraries when they are imported.
_FRAMEWORKS = ("torch", "triton", "cupy", "numba.cuda", "jax", "pycuda", "cuda.bindings", "warp", "taichi")

_LINKS = (
    ("libcuda.so", "libcuda.so.1"),
    ("libcuda.so", "libcuda.so"),
    ("libcudart.so.12", "libcudart.so.12"),
    ("libcudart.so.13", "libcudart.so.13"),
    ("libnvidia-ml.so.1", "libnvidia-ml.so.1"),
    ("libcupti.so.12", "libcupti.so.12"),
    ("libcupti.so.13", "libcupti.so.13"),
    ("libcupti.so.13", "libcupti.so"),
    ("libnvrtc.so.12", "libnvrtc.so.12"),
    ("libnvrtc.so.13", "libnvrtc.so.13"),
    ("libnvJitLink.so.12", "in_front/libnvJitLink.so.12"),
    ("libnvJitLink.so.13", "in_front/libnvJitLink.so.13"),
)


def enable(
    *,
    capability: Optional[str] = None,
    check: Union[None, str, Sequence[str]] = None,
    faults: str = "launch",
    libraries: Union[None, str, "os.PathLike[str]"] = None,
) -> None:
    """Runs CUDA code of this process on the virtual device: PyTorch, Triton, CuPy and Numba find it as they find a GPU.

    To be called before any of them is imported; a call that comes too late is an error. `capability` is the device's compute capability, "8.0"
    by default. `check` names checks of all launches ("all", or some of "race", "init", "sync", "memory"). With `faults="launch"` a
    kernel that faults or hangs fails its launch alone, with "stop" it ends the use of the device, as on hardware. `libraries` is a
    folder with the driver library, by default that of the package. A process that `simtlab exec` runs has the device already.
    Raises SimtlabError.
    """
    from simtlab_clients import driver, hook, journal, packages

    if os.environ.get(driver.FOLDER):
        hook.install()
        return
    loaded = [name for name in _FRAMEWORKS if name in sys.modules]
    if loaded:
        raise SimtlabError(
            f"{', '.join(loaded)} is imported already, with whatever driver there is: call simtlab.enable() before it, in a notebook in "
            "the first cell after a restart of the kernel, or run the program by `simtlab exec -- python ...`"
        )
    if _loaded_driver():
        raise SimtlabError("this process has loaded another libcuda.so already: start a new one, and call simtlab.enable() first")
    found = find_libraries(libraries)
    folder = tempfile.mkdtemp(prefix="simtlab-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.mkdir(os.path.join(folder, packages.IN_FRONT))
    for name, link in _LINKS:
        source = os.path.join(found, name)
        if os.path.exists(source):
            os.symlink(source, os.path.join(folder, link))
    os.environ[driver.FOLDER] = folder
    os.environ[journal.PATH] = os.path.join(folder, "journal")
    os.environ["SIMTLAB_FAULTS"] = faults
    os.environ["TRITON_LIBCUDA_PATH"] = folder
    if os.path.exists(os.path.join(folder, "libcupti.so")):
        os.environ["TRITON_CUPTI_LIB_PATH"] = folder
    os.environ["CUPY_COMPILE_WITH_PTX"], os.environ["CUPY_ACCELERATORS"] = "1", ""
    if capability is not None:
        os.environ["SIMTLAB_COMPUTE_CAPABILITY"] = capability
    if check is not None:
        os.environ["SIMTLAB_CHECK"] = check if isinstance(check, str) else ",".join(check)
    _provide_ptxas(folder)
    driver.preload()
    hook.install()


def _provide_ptxas(folder: str) -> None:
    """A stand-in for the assembler that Triton calls."""
    command = find_command()
    if command is None:
        return
    path = os.path.join(folder, "ptxas")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {shlex.quote(command)} ptxas "$@"\n')
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    os.environ["TRITON_PTXAS_PATH"] = os.environ["TRITON_PTXAS_BLACKWELL_PATH"] = path


def _loaded_driver() -> bool:
    """Whether the process has loaded a driver library."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            return any("/libcuda.so" in line for line in file)
    except OSError:
        return False


def capture() -> "Capture":
    """Records what launches do: `with simtlab.capture() as c: kernel[grid](x, y)`, then `c.launches`, `c.stops`, `c.findings`, `c.totals`.

    The process runs by `simtlab exec`, or has called `enable`. Launches are those of all frameworks on the virtual device.
    """
    from simtlab_clients import journal

    return journal.Capture()
