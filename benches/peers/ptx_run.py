#!/usr/bin/env python3
"""Times libraries that export `ptx_run` on bundled kernels, and compares what they compute.

    python3 benches/peers/ptx_run.py target/release/libsimtlab.so OTHER.so [--repeat N] [--target sm_35] [KERNEL...]

The second library is for instance that of GPU Ocelot, which has the same function and reads PTX up to `--target sm_35`. Each library
runs in a process of its own. Times are the processor's in milliseconds for a whole call with the text at hand: the least of the repeats, on the same
buffers, so that what a library keeps from call to call counts.
Needs NumPy.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

KERNELS = Path(__file__).resolve().parent.parent.parent / "kernels"


def floats(seed, count):
    return np.random.default_rng(seed).random(count, dtype=np.float32)


def saxpy():
    n = 1 << 20
    return (n // 256, 1), (256, 1), [np.uint32(n), np.float32(1.5), floats(1, n), floats(2, n)]


def mandelbrot():
    n = 256
    real = [np.float32(x) for x in (-2.0, -1.5, 3.0 / n)]
    return (n // 16, n // 16), (16, 16), [np.zeros(n * n, np.uint16), np.uint32(n), np.uint32(n), *real, np.uint32(256)]


def collatz():
    n = 1 << 16
    return (n // 256, 1), (256, 1), [np.uint32(n), np.zeros(n, np.uint32), np.zeros(n, np.uint64)]


def sgemm():
    n = 256
    a, b, c = floats(1, n * n), floats(2, n * n), np.zeros(n * n, np.float32)
    size = [np.uint32(n)] * 3
    return (n // 16, n // 16), (16, 16), [*size, np.float32(1.0), a, b, np.float32(0.0), c]


CASES = {f.__name__: f for f in (saxpy, mandelbrot, collatz, sgemm)}


def one(library, name, repeats, target, out):
    """Runs in a process of its own: prints the least time, and saves all buffers."""
    text = (KERNELS / name / f"{name}.ptx").read_text()
    if target:
        text = re.sub(r"^\.target.*$", f".target {target}", text, flags=re.M)
    run = ctypes.CDLL(library).ptx_run
    times = []
    grid, block, args = CASES[name]()
    buffers = [a for a in args if isinstance(a, np.ndarray)]
    contents = [a.copy() for a in buffers]
    for _ in range(repeats):
        for buffer, content in zip(buffers, contents):
            buffer[:] = content
        words = [a.ctypes.data if isinstance(a, np.ndarray) else int(a.view(np.uint32)) for a in args]
        array = (ctypes.c_void_p * len(words))(*words)
        start = time.process_time()
        run(text.encode(), len(words), array, *block, 1, *grid, 1, 0)
        times.append(1e3 * (time.process_time() - start))
    np.savez(out, *buffers)
    print("RESULT " + json.dumps(min(times)))


def difference(first, second):
    """How far apart two runs' buffers are."""
    worst = 0.0
    with np.load(first) as a, np.load(second) as b:
        for x, y in ((a[name], b[name]) for name in a.files):
            if x.tobytes() != y.tobytes():
                x, y = x.astype(np.float64), y.astype(np.float64)
                worst = max(worst, np.max(np.abs(x - y) / np.maximum(np.abs(x), 1e-30)))
    return f"differ by {worst:.2g} of a value" if worst else "equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs=2)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(CASES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--target", default="")
    parser.add_argument("--one", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        return one(args.libraries[0], args.libraries[1], args.repeat, args.target, args.one)
    print(f"{'kernel':14}{'first ms':>12}{'second ms':>12}{'ratio':>10}  outputs")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.kernels or CASES:
            found = []
            for i, library in enumerate(args.libraries):
                file = Path(folder) / f"{name}{i}.npz"
                command = [sys.executable, __file__, library, name, "--one", file, "--repeat", str(args.repeat), "--target", args.target]
                done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
                results = [float(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
                found += [(results[0], file)] if results else []
                if not results:
                    print(f"{name}: {library} did not end: {done.stderr.strip()[-300:]}")
            if len(found) == 2:
                (first, a), (second, b) = found
                print(f"{name:14}{first:12.3f}{second:12.1f}{second / first:10.1f}  {difference(a, b)}")


if __name__ == "__main__":
    main()
