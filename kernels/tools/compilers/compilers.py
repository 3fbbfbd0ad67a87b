"""Compiles the project's own kernels with every toolchain that writes PTX and needs no GPU.

    python compilers.py TOOL --out DIR [--arch sm_80 ...]

writes DIR/TOOL-VERSION-ARCH/NAME.ptx. Each tool runs in the Python environment that holds it:

    tool      packages or programs                                         compiles
    nvrtc     nvidia-cuda-nvrtc-cu11, nvidia-cuda-nvrtc-cu12 or            ../../*/*.cu
              nvidia-cuda-nvrtc (with nvidia-cuda-runtime for headers)
    nvvm      nvidia-nvvm or nvidia-cuda-nvcc-cu12                         module.ll
    clang     programs of clang 13 to 22 (--program)                       portable.c
    triton    triton                                                       triton_kernels.py
    numba     numba-cuda with nvidia-cuda-nvcc-cu12                        numba_kernels.py
    tinygrad  tinygrad                                                     tinygrad_kernels.py

The results are checked and run by `matrix.py`. Nothing of a toolchain is kept here, only what it made of our sources.
"""

import argparse
import ctypes
import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
KERNELS = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))


def site_files(pattern):
    """Files of NVIDIA's packages in this environment."""
    roots = [Path(p) / "nvidia" for p in sys.path if p.endswith("site-packages")]
    return sorted(f for root in roots if root.is_dir() for f in root.rglob(pattern))


def version_of(*names):
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    return "unknown"


def write(out, label, name, text):
    folder = Path(out) / label
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ptx").write_text(text)


def nvrtc(args):
    import compile as project

    found = [f for f in site_files("libnvrtc.so.*") if "alt" not in f.name]
    if not found:
        sys.exit("no libnvrtc.so in this environment")
    os.environ["LD_LIBRARY_PATH"] = str(found[0].parent)
    for builtins in found[0].parent.glob("libnvrtc-builtins.so*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    tool = object.__new__(project.Nvrtc)
    tool.lib = ctypes.CDLL(str(found[0]))
    tool.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
    version = version_of("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc-cu11")
    headers = sorted({str(f.parent) for f in site_files("cuda_fp16.h")})
    for arch in args.arch:
        for source in sorted(KERNELS.glob("*/*.cu")):
            text = source.read_text()
            own = re.findall(r"^// nvrtc: *(.*)$", text, re.M)
            options = [f"--gpu-architecture=compute_{arch[3:]}", "-lineinfo", "--fmad=false", "--std=c++17"]
            options += [o for line in own for o in line.split() if "architecture" not in o]
            options += [f"-I{h}" for h in headers]
            try:
                ptx, _ = tool.compile(source.name, text, options)
                ptx = project.without_folders(ptx, source.name, [*headers, os.getcwd()])
            except RuntimeError as error:
                print(f"{source.name} {arch}: {str(error).splitlines()[-1][:150]}")
                continue
            write(args.out, f"nvrtc-{version}-{arch}", source.stem, ptx)


def nvvm(args):
    found = site_files("libnvvm.so*")
    if not found:
        sys.exit("no libnvvm.so in this environment")
    lib = ctypes.CDLL(str(found[0]))
    version = version_of("nvidia-nvvm", "nvidia-cuda-nvcc-cu12")
    source = (HERE / "module.ll").read_bytes()
    for arch in args.arch:
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        lib.nvvmCreateProgram(ctypes.byref(program))
        lib.nvvmAddModuleToProgram(program, source, len(source), b"module.ll")
        options = (ctypes.c_char_p * 2)(f"-arch=compute_{arch[3:]}".encode(), b"-opt=3")
        code = lib.nvvmCompileProgram(program, 2, options)
        if code != 0:
            lib.nvvmGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            lib.nvvmGetProgramLog(program, log)
            print(f"module.ll {arch}: {log.value.decode()[:300]}")
            continue
        lib.nvvmGetCompiledResultSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        lib.nvvmGetCompiledResult(program, text)
        write(args.out, f"nvvm-{version}-{arch}", "module", text.value.decode())


def clang(args):
    for arch in args.arch:
        command = [args.program, "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={arch}", "-nocudainc"]
        command += ["-nocudalib", "-O2", "-S", "-o", "-", str(HERE / "portable.c")]
        # Without a toolkit clang does not know which version of PTX to write.
        command += ["-Xclang", "-target-feature", "-Xclang", "+ptx70"]
        done = subprocess.run(command, capture_output=True, text=True)
        version = re.search(r"(\d+\.\d+\.\d+)", subprocess.run([args.program, "--version"], capture_output=True, text=True).stdout)
        if done.returncode != 0:
            print(f"{args.program} {arch}: {done.stderr[:400]}")
            continue
        write(args.out, f"clang-{version.group(1)}-{arch}", "portable", done.stdout)


def triton(args):
    # Line tables would hold the paths of this machine.
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    import triton as package
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    import triton_kernels

    for arch in args.arch:
        target = GPUTarget("cuda", int(arch[3:]), 32)
        for kernel, signature, constants in triton_kernels.KERNELS:
            signature = {**signature, **{name: "constexpr" for name in constants}}
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            text = package.compile(source, target=target).asm["ptx"]
            write(args.out, f"triton-{package.__version__}-{arch}", kernel.__name__, text)


def numba(args):
    from numba import cuda

    import numba_kernels

    version = version_of("numba-cuda")
    for arch in args.arch:
        capability = (int(arch[3:-1]), int(arch[-1]))
        for kernel, signature in numba_kernels.KERNELS:
            text, _ = cuda.compile_ptx(kernel, signature, cc=capability)
            write(args.out, f"numba-{version}-{arch}", kernel.__name__, text)


def tinygrad(args):
    import tinygrad_kernels

    version = version_of("tinygrad")
    for arch in args.arch:
        for name, text in tinygrad_kernels.programs(arch):
            write(args.out, f"tinygrad-{version}-{arch}", name, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tools = {f.__name__: f for f in (nvrtc, nvvm, clang, triton, numba, tinygrad)}
    parser.add_argument("tool", choices=tools)
    parser.add_argument("--out", required=True)
    parser.add_argument("--arch", nargs="+", default=["sm_80"])
    parser.add_argument("--program", default="clang")
    args = parser.parse_args()
    tools[args.tool](args)


if __name__ == "__main__":
    main()
