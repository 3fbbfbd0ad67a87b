"""Names of kernels' parameters in CUDA source: compilers number them (`saxpy_param_0`)."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Tuple

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(r"__global__\b(?:[^;{(]|\([^)]*\)(?=\s*[\w_]))*?\b(\w+)\s*\(([^;{]*?)\)\s*\{", re.DOTALL)
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")


def beside(program: Any) -> Dict[str, Tuple[str, ...]]:
    """For each kernel of the CUDA source beside a program's file, or of the source that it is, the parameters' names."""
    if isinstance(program, str) and "__global__" in program:
        return names(program)
    try:
        path = os.fsdecode(os.fspath(program))
    except TypeError:
        return {}
    if "\n" in path or "\0" in path:
        return {}
    stem = path[: -len(".ptx")] if path.endswith(".ptx") else path
    for candidate in (path if path.endswith(".cu") else "", stem + ".cu"):
        if candidate and os.path.isfile(candidate):
            with open(candidate, encoding="utf-8", errors="replace") as file:
                return names(file.read())
    return {}


def names(text: str) -> Dict[str, Tuple[str, ...]]:
    """The parameters' names of each kernel that a text defines; of those that it defines more than once none."""
    found: Dict[str, Tuple[str, ...]] = {}
    twice = set()
    for kernel, parameters in _KERNEL.findall(_COMMENT.sub(" ", text)):
        if kernel in found:
            twice.add(kernel)
        found[kernel] = tuple(_parameters(parameters))
    return {kernel: given for kernel, given in found.items() if kernel not in twice and "" not in given}


def _parameters(text: str) -> List[str]:
    parts, depth = [""], 0
    for char in text:
        depth += char in "<([{"
        depth -= char in ">)]}"
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    given = [part.split("=")[0].strip() for part in parts]
    if given in ([""], ["void"]):
        return []
    matches = [_NAME.search(part) for part in given]
    return [match.group(1) if match else "" for match in matches]


def plain(kernel: str) -> str:
    """The name of a kernel in its source: without the mangling of C++, as far as that is a name of no scope."""
    match = re.match(r"^_Z(\d+)", kernel)
    if match is None:
        return kernel
    start = match.end()
    return kernel[start : start + int(match.group(1))]
