"""CUDA C text, compiled to PTX by NVRTC if it is installed."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import sys
from typing import List, Optional

from ._errors import CompileError, Finding

_HOW = (
    "install NVIDIA's compiler for it (pip install nvidia-cuda-nvrtc, which needs no GPU), or compile the text to PTX yourself: "
    "nvcc -ptx -arch=compute_80 FILE.cu"
)

_FUNCTION = re.compile(r"__global__|__device__|extern\s+\"C\"")


def is_cuda(text: str) -> bool:
    """Whether a text is CUDA C rather than PTX or a path."""
    return "{" in text and _FUNCTION.search(text) is not None and ".entry" not in text


def _places() -> List[str]:
    roots = [path for path in sys.path if os.path.isdir(os.path.join(path or ".", "nvidia"))]
    found: List[str] = []
    for root in roots:
        found += glob.glob(os.path.join(root, "nvidia", "*", "lib", "libnvrtc.so.*"))
    return sorted((f for f in found if "builtins" not in f and ".alt." not in f), reverse=True)


def _library() -> Optional[ctypes.CDLL]:
    for place in [*_places(), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None


def compile_text(text: str, name: str, limits_of: Optional[str] = None) -> str:
    """PTX of CUDA C text. Raises CompileError, with the compiler's messages, or with what to install."""
    library = _library()
    if library is None:
        message = f"{name} is CUDA C, and what runs is PTX"
        raise CompileError(f"error[input::cuda]: {message}\n = help: {_HOW}", (Finding("input::cuda", message, help=_HOW),))
    program = ctypes.c_void_p()
    made = library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    if made != 0:
        raise CompileError(f"error[input::cuda]: NVRTC refuses {name} (status {made})")
    try:
        options = [f"--gpu-architecture=compute_{_capability(limits_of)}".encode(), b"--generate-line-info", b"--std=c++17"]
        given = (ctypes.c_char_p * len(options))(*options)
        status = library.nvrtcCompileProgram(program, len(options), given)
        log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
        if status != 0:
            raise CompileError(f"error[input::cuda]: {name} does not compile\n{log}", (Finding("input::cuda", log.strip(), file=name),))
        return _text(library.nvrtcGetPTXSize, library.nvrtcGetPTX, program)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _capability(limits_of: Optional[str]) -> str:
    match = re.fullmatch(r"(\d+)\.(\d)", limits_of or "")
    return f"{match.group(1)}{match.group(2)}" if match else "80"


def _text(size: ctypes._CFuncPtr, get: ctypes._CFuncPtr, program: ctypes.c_void_p) -> str:  # type: ignore[name-defined]
    length = ctypes.c_size_t()
    if size(program, ctypes.byref(length)) != 0 or not length.value:
        return ""
    buffer = ctypes.create_string_buffer(length.value)
    return buffer.value.decode(errors="replace") if get(program, buffer) == 0 else ""
