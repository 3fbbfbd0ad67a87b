"""Calls of nvJitLink with right and wrong options and inputs, and the statuses that they have: `cases.py LIBRARY INPUTS` prints a line a case.

Each case runs in a process of its own: NVIDIA's library ends the process in some.
"""

import ctypes
import os
import sys

NONE, CUBIN, PTX, LTO_IR, FAT, OBJECT, LIBRARY, INDEX, ANY = 0, 1, 2, 3, 4, 5, 6, 7, 10
HEADER = b".version 8.0\n.target sm_80\n.address_size 64\n"

library, inputs = ctypes.CDLL(sys.argv[1]), sys.argv[2]


def read(name):
    with open(os.path.join(inputs, name), "rb") as file:
        return file.read()


def link(options, added):
    """The statuses of a link, and the error log."""
    handle = ctypes.c_void_p()
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    statuses = [library.nvJitLinkCreate(ctypes.byref(handle), len(options), words)]
    if statuses[0] == 0:
        for kind, data, name in added:
            if isinstance(data, str):
                statuses.append(library.nvJitLinkAddFile(handle, kind, os.path.join(inputs, data).encode()))
            else:
                statuses.append(library.nvJitLinkAddData(handle, kind, data, ctypes.c_size_t(len(data)), name.encode()))
        statuses.append(library.nvJitLinkComplete(handle))
    size = ctypes.c_size_t()
    library.nvJitLinkGetErrorLogSize(handle, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    library.nvJitLinkGetErrorLog(handle, log)
    library.nvJitLinkDestroy(ctypes.byref(handle))
    return statuses, log.value.decode(errors="replace")


def cases():
    a, b, c = (read(f"{name}.ptx") for name in "abc")
    both = [(PTX, a, "a"), (PTX, b, "b")]
    arch = ["-arch=sm_80"]
    for options in (
        [], ["-arch=sm_90a"], ["-arch=sm_30"], ["-arch=sm_200"], ["-arch=foo"], ["-arch="], ["-arch", "sm_80"], ["--arch=sm_80"], ["-arch=compute_80"],
        ["-arch=compute_80", "-lto", "-ptx"], ["-lto"],
    ):
        yield f"options {options}", options, []
    for option in (
        "-ptx", "-foo", "foo", "", "-O0", "-O1", "-O3", "-O", "-Ofc=min", "-Ofc=foo", "-maxrregcount=32", "-maxrregcount", "-g", "-lineinfo", "-time", "-verbose",
        "-lto", "-dlto", "-ftz=1", "-ftz", "-prec-div=0", "-prec-sqrt=0", "-fma=0", "-fmad=1", "-kernels-used=k", "-kernels-used=", "-variables-used=v",
        "-optimize-unused-variables", "-Xptxas=-v", "-Xptxas", "-split-compile=2", "-split-compile-extended=2", "-jump-table-density=50", "-no-cache", "-r", "-v", "-m64",
    ):
        yield f"option {option}", [*arch, option], [] if "lto" in option else both
    yield "wrong option of the assembler", [*arch, "-Xptxas=-foo"], both
    yield "wrong number of registers", [*arch, "-maxrregcount=foo"], both
    yield "files of PTX", arch, [(PTX, "a.ptx", ""), (ANY, "b.ptx", "")]
    yield "null bytes behind PTX", arch, [(PTX, a + b"\0", "a"), (PTX, b + b"\0\0", "b")]
    yield "a missing name", arch, [(PTX, a, "a")]
    yield "a missing name, relocatable", [*arch, "-r"], [(PTX, a, "a")]
    yield "a name twice", arch, [*both, (PTX, c, "c")]
    yield "no input", arch, []
    yield "no instruction", arch, [(PTX, HEADER + b".visible .entry k() { foo; }", "x")]
    yield "cut PTX", arch, [(PTX, a[:-10], "x")]
    yield "no PTX", arch, [(PTX, b"hello", "x")]
    yield "no bytes", arch, [(PTX, b"", "x")]
    yield "a newer target", ["-arch=sm_75"], [(PTX, a, "x")]
    yield "a version of the future", arch, [(PTX, a.replace(b".version ", b".version 1"), "x")]
    yield "fat binaries", arch, [(FAT, read("a.fatbin"), "a"), (FAT, read("b.fatbin"), "b")]
    for length in (8, 100):
        yield f"{length} bytes of a fat binary", arch, [(FAT, read("a.fatbin")[:length], "a")]
    yield "a fat binary with another magic number", arch, [(FAT, b"xxxx" + read("a.fatbin")[4:], "a")]
    yield "objects", arch, [(OBJECT, read("a.o"), "a"), (OBJECT, read("b.o"), "b")]
    yield "an object and a library", arch, [(OBJECT, "a.o", ""), (LIBRARY, "libb.a", "")]
    yield "a cut object", arch, [(OBJECT, read("a.o")[:200], "a")]
    yield "machine code", arch, [(CUBIN, read("a.cubin"), "a"), (CUBIN, read("b.cubin"), "b")]
    yield "LTO-IR", [*arch, "-lto"], [(LTO_IR, read("a.ltoir"), "a"), (LTO_IR, read("b.ltoir"), "b")]
    yield "LTO-IR to PTX", [*arch, "-lto", "-ptx"], [(LTO_IR, read("a.ltoir"), "a"), (LTO_IR, read("b.ltoir"), "b")]
    yield "LTO-IR and PTX to PTX", [*arch, "-lto", "-ptx"], [(LTO_IR, read("a.ltoir"), "a"), (PTX, b, "b")]
    yield "LTO-IR without -lto", arch, [(LTO_IR, read("a.ltoir"), "a")]
    yield "LTO-IR that calls PTX", [*arch, "-lto"], [(LTO_IR, read("a.ltoir"), "a"), (PTX, b, "b")]
    yield "PTX that calls LTO-IR", [*arch, "-lto"], [(PTX, a, "a"), (LTO_IR, read("b.ltoir"), "b")]
    for kind in (NONE, CUBIN, LTO_IR, FAT, OBJECT, LIBRARY, INDEX, 8, 99, -1):
        yield f"PTX as kind {kind}", arch, [(kind, a, "a")]
    for name in ("a.fatbin", "a.cubin", "a.o", "libb.a"):
        yield f"{name} as PTX", arch, [(PTX, read(name), name)]
    yield "junk of any kind", arch, [(ANY, b"junk" * 6, "junk")]
    yield "any kinds", arch, [(ANY, read("a.o"), "a"), (ANY, read("b.fatbin"), "b")]
    yield "no file", arch, [(PTX, "nothing", "")]
    yield "a folder", arch, [(PTX, ".", "")]


for label, options, added in cases():
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # What NVIDIA's library prints is not of interest here.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writing, repr(link(options, added)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    ended = os.waitpid(child, 0)[1]
    print(f"{label}\t{answer.decode() if ended == 0 else 'the process has ended'}", flush=True)
