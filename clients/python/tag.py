"""Gives a staged wheel the tag of what its programs need: tag.py FOLDER ARCH. The tag names the newest glibc of which
one of them takes a symbol."""

import pathlib
import re
import sys

#: The start of a file in ELF.
ELF = b"\x7fELF"

_VERSION = re.compile(rb"GLIBC_(\d+)\.(\d+)\b")


def needed(folder):
    """The newest version of glibc that is named in the folder's programs, and these programs."""
    newest, programs = (2, 17), []
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        with open(path, "rb") as file:
            if file.read(len(ELF)) != ELF:
                continue
            programs.append(path)
            text = ELF + file.read()
        newest = max([newest, *((int(major), int(minor)) for major, minor in _VERSION.findall(text))])
    return newest, programs


def main(folder, arch):
    (major, minor), programs = needed(folder)
    tag = f"cp39-abi3-manylinux_{major}_{minor}_{arch}"
    (info,) = folder.glob("*.dist-info")
    wheel = info / "WHEEL"
    lines = [line for line in wheel.read_text().splitlines() if line and not line.startswith("Tag:")]
    wheel.write_text("\n".join([*lines, f"Tag: {tag}"]) + "\n")
    print(f"{len(programs)} programs and libraries, {tag}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
