#!/usr/bin/env python3
"""Times Simtlab beside its peers, and compares what they compute bit for bit.

    python3 benches/peers/run.py [--repeat N] [--rounds N] [--json FILE] [KERNEL...]

Needs clang with the NVPTX target (CLANG, by default the newest found), an OpenCL implementation (on Debian: pocl-opencl-icd,
ocl-icd-opencl-dev, opencl-c-headers), and what `cargo build --release -p simtlab-cuda` makes. Engines run in turn on one core,
round after round; a number is the median of the processor's time, or the least wall time of all cores.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
KERNELS = ["saxpy", "mandelbrot", "sgemm", "sgemm_tiled", "reduce", "collatz", "divisors", "histogram"]
# The C loops of these do not vectorise: their lanes part.
DIVERGENT = ["mandelbrot", "collatz", "divisors"]
# Name, the driver's word, environment, and whether it has one core.
ENGINES = [
    ("scalar C", "scalar", {}, True),
    ("PoCL", "opencl", {"POCL_MAX_PTHREAD_COUNT": "1"}, True),
    ("compiled", "cuda", {"SIMTLAB_JOBS": "1"}, True),
    ("exact", "cuda", {"SIMTLAB_JOBS": "1", "SIMTLAB_ENGINE": "exact"}, True),
    ("PoCL, all cores", "opencl", {}, False),
    ("compiled, all cores", "cuda", {}, False),
]


def build(folder):
    names = [os.environ.get("CLANG", "")] + [f"clang-{n}" for n in range(22, 14, -1)] + ["clang"]
    clang = next((path for name in names if name and (path := shutil.which(name))), None)
    library = ROOT / "target" / "release" / "libcuda.so"
    if not clang:
        sys.exit("clang is not there: name it with CLANG")
    if not library.exists():
        sys.exit("build libcuda.so first: cargo build --release -p simtlab-cuda")
    (folder / "libcuda.so.1").symlink_to(library)
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-std=c11", "-Wall", "-D_GNU_SOURCE"]
    sources = [str(HERE / name) for name in ("main.c", "scalar.c", "opencl.c", "cuda.c")]
    subprocess.run([clang, *flags, *sources, "-o", folder / "peers", "-lOpenCL", "-lm", "-ldl"], check=True)
    target = ["-target", "nvptx64-nvidia-cuda", "-march=sm_70", "-Xclang", "-target-feature", "-Xclang", "+ptx64", "-x", "cl", "-cl-std=CL1.2"]
    subprocess.run(
        [clang, *target, "-O3", "-ffp-contract=off", "-S", HERE / "kernels.cl", "-o", folder / "kernels.ptx"], check=True
    )
    version = subprocess.run([clang, "--version"], check=True, capture_output=True, text=True)
    return version.stdout.splitlines()[0]


def run(folder, engine, kernel, repeats):
    """Seconds of each run, as pairs of processor and wall, and the contents of all buffers."""
    _, word, extra, one_core = engine
    program = HERE / "kernels.cl" if word == "opencl" else folder / "kernels.ptx"
    output = folder / "output"
    command = [folder / "peers", word, kernel, str(repeats), program, output]
    if one_core and shutil.which("taskset"):
        command = ["taskset", "-c", "0", *command]
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "POCL_CACHE_DIR": str(folder / "pocl"), **extra}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{kernel} on {engine[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout), output.read_bytes()


def measure(folder, kernel, repeats, rounds):
    times = {engine[0]: [] for engine in ENGINES}
    expected = None
    for _ in range(rounds):
        for engine in ENGINES:
            # The exact engine takes as long for one run as others for hundreds.
            pairs, output = run(folder, engine, kernel, 1 if engine[0] == "exact" else repeats)
            times[engine[0]] += [cpu if engine[3] else wall for cpu, wall in pairs]
            if expected is None:
                expected = output
            if output != expected:
                sys.exit(f"{kernel}: {engine[0]} computes something else than {ENGINES[0][0]}")
    return {name: statistics.median(t) if "cores" not in name else min(t) for name, t in times.items()}


def mean(numbers):
    return math.exp(statistics.fmean(map(math.log, numbers)))


def table(rows):
    names = [engine[0] for engine in ENGINES]
    out = ["".join(f"{name:>21}" if name != "kernel" else f"{name:<12}" for name in ["kernel", *names]) + "   over PoCL   over C"]
    for row in rows:
        cells = "".join(f"{row['seconds'][name] * 1e3:>21.3f}" for name in names)
        out.append(f"{row['kernel']:<12}{cells}{row['over_pocl']:>12.2f}{row['over_scalar']:>9.2f}")
    out.append(f"over PoCL, geometric mean: {mean([r['over_pocl'] for r in rows]):.2f}")
    out.append(f"over the exact engine, geometric mean: {mean([r['over_exact'] for r in rows]):.1f}")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description="Times Simtlab beside its peers, in milliseconds.")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(KERNELS))
    parser.add_argument("--repeat", type=int, default=9, help="runs of a kernel in a round")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over all engines")
    parser.add_argument("--json", metavar="FILE", help="write the rows there, or to standard output (-)")
    args = parser.parse_args()
    if unknown := [k for k in args.kernels if k not in KERNELS]:
        parser.error(f"no such kernel: {unknown[0]}")
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiler = build(folder)
        for kernel in args.kernels or KERNELS:
            seconds = measure(folder, kernel, args.repeat, args.rounds)
            ours = seconds["compiled"]
            rows.append({
                "kernel": kernel,
                "seconds": seconds,
                "over_pocl": seconds["PoCL"] / ours,
                "over_scalar": seconds["scalar C"] / ours,
                "over_exact": seconds["exact"] / ours,
                "divergent": kernel in DIVERGENT,
            })
    if args.json == "-":
        print(json.dumps({"compiler": compiler, "rows": rows}, indent=2))
        return
    if args.json:
        Path(args.json).write_text(json.dumps({"compiler": compiler, "rows": rows}, indent=2) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main()
