"""NVIDIA's libraries in the packages of this Python environment, which programs load by their path, before any of their name elsewhere.

Libraries of this project stand in front of some of them (see docs/cuda.md): loaded first, they are taken for them, and find them here.
"""

import glob
import os
import sys
from typing import List

from . import driver

#: The folders with NVIDIA's libraries, for those that stand in front of them.
VARIABLE = "SIMTLAB_NVIDIA_LIBRARIES"

#: The folder below that of the libraries with those that programs find only where NVIDIA's are.
IN_FRONT = "in_front"

#: The libraries that stand in front of NVIDIA's of the same name.
_IN_FRONT = ("libnvrtc.so.12", "libnvrtc.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13")


def folders() -> List[str]:
    """The folders of libraries in NVIDIA's packages, each once, in the order of the path."""
    places = (os.path.join(glob.escape(place or "."), "nvidia", "*", "lib") for place in sys.path)
    return list(dict.fromkeys(os.path.abspath(folder) for place in places for folder in sorted(glob.glob(place))))


def preload() -> None:
    """Loads the libraries that stand in front of those of the packages, of the versions that are there; names the packages' folders."""
    try:
        ours = driver.folder()
    except driver.DriverError:
        return
    found = folders()
    before = os.environ.get(VARIABLE, "").split(os.pathsep)
    # A process that this one starts finds its own packages in what it inherits.
    os.environ[VARIABLE] = os.pathsep.join(folder for folder in dict.fromkeys([*found, *before]) if folder)
    for name in _IN_FRONT:
        if any(os.path.exists(os.path.join(folder, name)) for folder in found):
            for path in (os.path.join(ours, name), os.path.join(ours, IN_FRONT, name)):
                if os.path.exists(path):
                    driver.keep(path)
                    break
