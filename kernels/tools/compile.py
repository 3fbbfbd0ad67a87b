"""Compiles CUDA C++ files to PTX with NVRTC, through its C interface.

    python compile.py --out DIR FILE.cu...

writes DIR/NAME.ptx for each NAME.cu. No GPU and no CUDA toolkit is needed, only the package pinned in
requirements.txt. The same source gives the same bytes on every machine: NVRTC is told a plain file name, and the
folder that it puts in front of that name in `.file` directives is taken off again.

Options are the same for all kernels, and a source can add or replace some in a line `// nvrtc: OPTION...`. The
runtime's headers (cuda_fp16.h and the like) are found. By default:

--gpu-architecture=compute_80  PTX for compute capability 8.0
-lineinfo                      `.loc` directives, so that statistics and faults can name lines of the source
--fmad=false                   a * b + c rounds twice, as written; where a kernel wants one rounding it says fmaf,
                               so expected results do not depend on what a compiler fuses
"""

import argparse
import ctypes
import importlib.util
import os
import re
import sys
from pathlib import Path

OPTIONS = ["--gpu-architecture=compute_80", "-lineinfo", "--fmad=false", "--std=c++17"]


def package(name):
    """The folder of one of NVIDIA's packages."""
    try:
        spec = importlib.util.find_spec(f"nvidia.{name}")
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        sys.exit("compile.py: NVRTC is not installed; run: pip install -r kernels/tools/requirements.txt")
    return Path(list(spec.submodule_search_locations)[0])


class Nvrtc:
    """The few functions of libnvrtc that compiling takes."""

    def __init__(self):
        found = list((package("cuda_nvrtc") / "lib").glob("libnvrtc.so.*"))
        if not found:
            sys.exit("compile.py: the NVRTC package holds no libnvrtc.so (it is used on Linux only)")
        self.lib = ctypes.CDLL(str(sorted(found)[0]))
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, code, what):
        if code != 0:
            raise RuntimeError(f"{what}: {self.lib.nvrtcGetErrorString(code).decode()}")

    def text(self, program, what):
        """The text that nvrtcGet<what> gives: "PTX" or "ProgramLog"."""
        size = ctypes.c_size_t()
        self.check(getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.lib, f"nvrtcGet{what}")(program, buffer), what)
        return buffer.value.decode()

    def compile(self, name, source, options):
        """PTX text of `source`, and the compiler's log."""
        program = ctypes.c_void_p()
        self.check(
            self.lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None),
            name,
        )
        try:
            array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
            code = self.lib.nvrtcCompileProgram(program, len(options), array)
            log = self.text(program, "ProgramLog")
            self.check(code, f"{name} does not compile\n{log}")
            return self.text(program, "PTX"), log
        finally:
            self.lib.nvrtcDestroyProgram(ctypes.byref(program))


def options_of(source):
    """The common options, with those that the source names put in their place or after them."""
    options = {o.split("=")[0]: o for o in OPTIONS}
    for line in re.findall(r"^// nvrtc:(.*)$", source, re.MULTILINE):
        options |= {o.split("=")[0]: o for o in line.split()}
    return list(options.values())


def without_folders(ptx, name, folders):
    """`ptx` with `.file` directives that name files alone."""

    def shorten(match):
        path = match[2]
        for folder in folders:
            path = path.removeprefix(os.path.join(folder, ""))
        return match[1] + path + match[3]

    ptx = re.sub(r'^(\s*\.file\s+\d+\s+")([^"]*)(")', shorten, ptx, flags=re.MULTILINE)
    # Any other mention of a folder would make the output depend on the machine.
    if any(str(folder) in ptx for folder in folders) or re.search(r'^\s*\.file\s+\d+\s+"/', ptx, re.MULTILINE):
        raise RuntimeError(f"{name}: the compiler's output names a folder of this machine")
    return ptx


def main():
    parser = argparse.ArgumentParser(description="Compile CUDA C++ files to PTX with NVRTC.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the .ptx files go")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE.cu")
    arguments = parser.parse_args()

    nvrtc = Nvrtc()
    headers = package("cuda_runtime") / "include"
    # The folder of the headers first: the working folder may be above it.
    folders = [str(headers), os.getcwd()]
    arguments.out.mkdir(parents=True, exist_ok=True)
    for path in arguments.files:
        source = path.read_text()
        try:
            ptx, log = nvrtc.compile(path.name, source, [f"-I{headers}", *options_of(source)])
            ptx = without_folders(ptx, path.name, folders)
        except RuntimeError as error:
            sys.exit(f"compile.py: {error}")
        if log.strip():
            print(log.strip(), file=sys.stderr)
        (arguments.out / f"{path.stem}.ptx").write_text(ptx)


if __name__ == "__main__":
    main()
