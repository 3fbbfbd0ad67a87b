"""The command and the libraries that come with the package, or that are elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
from typing import List, NoReturn, Optional, Union

from ._errors import SimtlabError

_HERE = os.path.dirname(os.path.abspath(__file__))
_COMMAND = os.path.join(_HERE, "bin", "simtlab")


def find_command() -> Optional[str]:
    """The command `simtlab`: as SIMTLAB_COMMAND says, that of the package, or one on the path that is not this package's own script."""
    given = os.environ.get("SIMTLAB_COMMAND")
    if given:
        return given
    if os.path.isfile(_COMMAND):
        return _COMMAND
    found = shutil.which("simtlab")
    return found if found is not None and not _is_script(found) else None


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return True


def find_libraries(folder: Union[None, str, "os.PathLike[str]"] = None) -> str:
    """The folder of the driver library. Raises SimtlabError."""
    places: List[str] = []
    if folder is not None:
        places.append(os.fspath(folder))
    else:
        if os.environ.get("SIMTLAB_LIBRARIES"):
            places.append(os.environ["SIMTLAB_LIBRARIES"])
        places.append(os.path.join(_HERE, "lib"))
        command = find_command()
        if command is not None:
            beside = os.path.dirname(os.path.realpath(command))
            places += [beside, os.path.join(beside, "..", "lib", "simtlab")]
    for place in places:
        if os.path.isfile(os.path.join(place, "libcuda.so")):
            return os.path.abspath(place)
    raise SimtlabError(
        f"the driver library is in none of {', '.join(places)}: install the wheel of simtlab for your machine, or build it with "
        "`cargo build --release -p simtlab -p simtlab-cuda -p simtlab-cudart` and name its folder by SIMTLAB_LIBRARIES"
    )


def main() -> NoReturn:
    """Runs the command with the arguments of this process."""
    command = find_command()
    if command is None:
        sys.stderr.write("error: this package has no command: install the wheel of simtlab for your machine, or set SIMTLAB_COMMAND\n")
        raise SystemExit(2)
    libraries = os.path.join(_HERE, "lib")
    if os.path.isdir(libraries):
        os.environ.setdefault("SIMTLAB_LIBRARIES", libraries)
    os.execv(command, [command, *sys.argv[1:]])
