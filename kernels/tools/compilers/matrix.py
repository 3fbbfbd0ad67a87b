"""Checks and runs what compilers.py made: every file is checked, and those whose results are known run.

    python matrix.py DIR --simtlab target/release/simtlab [--keep FOLDER]

`check` has to take every file. NVRTC's files run with the launch files and expected results of kernels/; the others with the launch files
that are made here, whose expected results NumPy computes. Each runs under `serial` and `ipdom`. With --keep the made launch files and
their PTX are written to FOLDER, as file tests.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
KERNELS = HERE.parent.parent


# What the kept file tests run under.
MATRIX = "#: mechanism: serial, ipdom\n#: warp-size: 32\n"


def literal(array):
    array = np.asarray(array).ravel()
    if array.dtype.kind == "f":
        return "[" + ", ".join(repr(float(v)) for v in array) + "]"
    return "[" + ", ".join(str(int(v)) for v in array) + "]"


def name_of(array):
    kinds = {"f4": "f32", "f8": "f64", "u4": "u32", "i4": "s32", "u8": "u64", "u1": "u8"}
    return kinds[array.dtype.str[1:]]


class Launches:
    """A launch file in the making: buffers, launches, expectations."""

    def __init__(self):
        self.buffers, self.launches, self.expectations = [], [], []

    def buffer(self, name, array):
        array = np.asarray(array)
        self.buffers.append(f'{name} = "{name_of(array)}[{array.size}]:{literal(array)}"')
        return f"&{name}"

    def launch(self, kernel, grid, block, args, shared=0):
        words = ", ".join(f'"{a}"' for a in args)
        more = f"shared = {shared}\n" if shared else ""
        head = f'[[launch]]\nkernel = "{kernel}"\ngrid = {grid}\nblock = {block}\n'
        self.launches.append(f"{head}{more}args = [{words}]\n")

    def expect(self, name, array, more=""):
        self.expectations.append(f'[[expect]]\nbuffer = "{name}"\nvalues = {literal(array)}\n{more}')

    def text(self, module, about):
        head = f'# {about}\n{MATRIX}schema = 1\nmachine = "ptx"\nmodule = "{module}"\n\n[buffers]\n'
        return head + "\n".join(self.buffers) + "\n\n" + "\n".join(self.launches + self.expectations)


def portable(_names):
    made = Launches()
    n = 100
    x = np.arange(n, dtype=np.float32) * np.float32(0.5)
    y = np.arange(n, dtype=np.float32)[::-1].copy()
    args = [made.buffer("x", x), made.buffer("y", y), "f32:3", f"u32:{n}"]
    made.launch("saxpy", 2, 64, args)
    made.expect("y", np.float32(3) * x + y)
    v = (np.arange(128, dtype=np.uint32) * 2654435761 % 1000).astype(np.uint32)
    made.launch("block_sum", 2, 64, [made.buffer("numbers", v), made.buffer("sums", np.zeros(2, np.uint32))])
    made.expect("sums", [v[:64].sum(), v[64:].sum()])
    text = np.frombuffer(b"A kernel of our own, counted by the upper half of its bytes. 0123456789", dtype=np.uint8)
    made.launch("histogram", 1, 32, [made.buffer("text", text), made.buffer("bins", np.zeros(16, np.uint32)), f"u32:{text.size}"])
    made.expect("bins", np.bincount(text >> 4, minlength=16).astype(np.uint32))

    def steps(n):
        count = 0
        while n != 1:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        return count

    made.launch("collatz", 1, 64, [made.buffer("steps", np.zeros(64, np.uint32))])
    made.expect("steps", np.array([steps(i + 1) for i in range(64)], np.uint32))

    def ackermann(m, n):
        return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))

    made.launch("recursion", 1, 12, [made.buffer("deep", np.zeros(12, np.uint32))])
    made.expect("deep", np.array([ackermann(i % 3, i % 4) for i in range(12)], np.uint32))
    made.launch("pointers", 1, 32, [made.buffer("called", np.zeros(32, np.uint32))])
    made.expect("called", np.array([(2 * i, i * i, -i)[i % 3] % 2**32 for i in range(32)], np.uint32))
    w = (np.arange(64, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32)
    case = [lambda x: x + 7, lambda x: x * 3, lambda x: x ^ 0x55, lambda x: x >> 3, lambda x: ~x, lambda x: x * x,
            lambda x: x // 5, lambda x: x % 11, lambda x: 0]
    made.launch("cases", 1, 64, [made.buffer("chosen", w), made.buffer("cased", np.zeros(64, np.uint32))])
    made.expect("cased", np.array([case[int(x) % 9](int(x)) % 2**32 for x in w], np.uint32))
    big = np.array([(0x9E3779B97F4A7C15 * (i + 1)) % 2**64 for i in range(8)], dtype=np.uint64)
    made.launch("wide", 1, 8, [made.buffer("big", big), made.buffer("products", np.zeros(16, np.uint64))])
    products = [int(a) * int(a) + int(a) for a in big]
    made.expect("products", np.array([part for p in products for part in (p % 2**64, p >> 64)], np.uint64))
    point = np.array([1.5, -2.5]).tobytes() + bytes([1, 2, 3, 4, 5, 0, 0, 0])
    turned = []
    for i in range(12):
        px, py, tag = 1.5, -2.5, [1, 2, 3, 4, 5]
        for k in range(i):
            px, py = -py, px
            tag[k % 5] += 1
        turned += [px, py, tag[0] + 10 * tag[4]]
    bytes_spec = "bytes[" + point.hex(" ") + "]"
    made.launch("structures", 1, 12, [bytes_spec, made.buffer("turned", np.zeros(36))])
    made.expect("turned", np.array(turned))
    mixed = (np.arange(64, dtype=np.uint64) * 40503 % 977).astype(np.uint32)
    made.launch("local_sort", 1, 8, [made.buffer("mixed", mixed)])
    made.expect("mixed", np.sort(mixed.reshape(8, 8), axis=1))
    return made


def module(_names):
    made = Launches()
    x = np.linspace(-1, 1, 32)
    value = np.zeros(32)
    for k in range(6):
        value = value * x + float(k)
    made.launch("polynomial", 1, 32, [made.buffer("x", x), "u32:6"])
    made.expect("x", value, "rtol = 1e-15\natol = 1e-15\n")
    v = (np.arange(32) * 7919 % 101 - 50).astype(np.int32)
    made.launch("total", 1, 32, [made.buffer("v", v), made.buffer("sum", np.zeros(1, np.int32))])
    made.expect("sum", np.array([v.sum()], np.int32))
    made.launch("greatest", 1, 32, ["&v"])
    made.expect("v", np.full(32, v.max(), np.int32))
    return made


def triton(names):
    made = Launches()
    rest = ["u64:0", "u64:0"]
    x = np.arange(300, dtype=np.float32) * np.float32(0.25)
    kernel = Path(names["file"]).stem
    if kernel == "add":
        args = [made.buffer("x", x), made.buffer("y", x[::-1].copy()), made.buffer("out", np.zeros(300, np.float32)), "u32:300"]
        made.launch("add", 2, 128, args + rest, shared=4096)
        made.expect("out", x + x[::-1])
    elif kernel == "softmax":
        rows = np.sin(np.arange(200, dtype=np.float32)).reshape(2, 100)
        args = [made.buffer("x", rows), made.buffer("out", np.zeros(200, np.float32)), "u32:100"]
        made.launch("softmax", 2, 128, args + rest, shared=4096)
        powers = np.exp(rows.astype(np.float64))
        made.expect("out", (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32), "rtol = 1e-5\n")
    elif kernel == "total":
        v = np.arange(300, dtype=np.int32)
        made.launch("total", 2, 128, [made.buffer("x", v), made.buffer("out", np.zeros(1, np.int32)), "u32:300"] + rest, shared=4096)
        made.expect("out", np.array([v.sum()], np.int32))
    elif kernel == "scan":
        v = (np.arange(256) * 7919 % 101).astype(np.int32)
        made.launch("scan", 1, 128, [made.buffer("x", v), made.buffer("out", np.zeros(256, np.int32))] + rest, shared=4096)
        made.expect("out", np.cumsum(v).astype(np.int32))
    return made


def numba(names):
    made = Launches()

    def array(name, values):
        values = np.asarray(values)
        size = values.dtype.itemsize
        return ["u64:0", "u64:0", f"u64:{values.size}", f"u64:{size}", made.buffer(name, values), f"u64:{values.size}", f"u64:{size}"]

    kernel, entry = Path(names["file"]).stem, names["entries"][0]
    if kernel == "saxpy":
        x = np.arange(100, dtype=np.float32)
        made.launch(entry, 2, 64, array("x", x) + array("y", x[::-1].copy()) + ["f32:0.5"])
        made.expect("y", np.float32(0.5) * x + x[::-1])
    elif kernel == "histogram":
        v = (np.arange(200, dtype=np.uint64) * 2654435761 % 977).astype(np.uint32)
        made.launch(entry, 4, 64, array("x", v) + array("bins", np.zeros(10, np.uint32)))
        made.expect("bins", np.bincount(v % 10, minlength=10).astype(np.uint32))
    elif kernel == "block_maximum":
        v = np.sin(np.arange(256, dtype=np.float32)).astype(np.float32)
        made.launch(entry, 2, 128, array("x", v) + array("out", np.zeros(2, np.float32)))
        made.expect("out", v.reshape(2, 128).max(axis=1))
    elif kernel == "mandelbrot":
        made.launch(entry, 64, 64, array("image", np.zeros(4096, np.int32)) + ["s32:60"])
        image = np.zeros(4096, np.int32)
        for i in range(4096):
            cx, cy, x, y, count = (i % 64) / 24.0 - 2.0, (i // 64) / 24.0 - 1.3, 0.0, 0.0, 0
            while count < 60 and x * x + y * y < 4.0:
                x, y, count = x * x - y * y + cx, 2.0 * x * y + cy, count + 1
            image[i] = count
        # The compiler fuses multiplications and additions; points that need so little are the same.
        made.expect("image", image[:640], "range = [0, 640]\n")
    elif kernel == "waves":
        x = np.linspace(0.1, 4.0, 64)
        made.launch(entry, 1, 64, array("x", x) + array("y", np.zeros(64)))
        made.expect("y", np.sin(x) * np.exp(-x) + np.sqrt(x), "rtol = 1e-14\n")
    return made


def tinygrad(names):
    made = Launches()
    kernel, entry = Path(names["file"]).stem, names["entries"][0]
    rng = np.random.default_rng(7)
    if kernel == "fused":
        x, y = rng.integers(-8, 8, 256).astype(np.float32), rng.integers(-8, 8, 256).astype(np.float32)
        args = [made.buffer("out", np.zeros(256, np.float32)), made.buffer("x", x), made.buffer("y", y)]
        result = np.maximum(x * y + 2, 0)
    elif kernel == "product":
        x, y = rng.integers(-4, 4, (32, 32)).astype(np.float32), rng.integers(-4, 4, (32, 32)).astype(np.float32)
        args = [made.buffer("out", np.zeros(1024, np.float32)), made.buffer("x", x), made.buffer("y", y)]
        result = x @ y
    else:
        x = rng.integers(-100, 100, 512).astype(np.int32)
        args = [made.buffer("out", np.zeros(1, np.int32)), made.buffer("x", x)]
        result = np.array([x.sum()], np.int32)
    # Extents by the kernel's name, which says how tinygrad has split its loops.
    extents = {"E_2_32_4": (2, 32), "r_32_32_16_2": ([32, 32], 16), "r_16_32": (1, 16)}.get(re.sub(r"n\d+$", "", entry))
    if extents is None:
        print(f"{names['file']}: the extents of {entry} are not known")
        return made
    made.launch(entry, extents[0], extents[1], args)
    made.expect("out", result)
    return made


# What is kept as file tests: an architecture or two of each tool, and no code of libdevice.
KEPT = re.compile(
    r"clang-[\d.]+-sm_70|nvvm-12[\d.]+-sm_50|nvvm-13[\d.]+-sm_90|numba-[\d.]+-sm_80-(?!waves)|triton-[\d.]+-sm_[89]0|tinygrad-[\d.]+-sm_80"
    r"|nvrtc-11[\d.]+-sm_50-(reduce|scan|spmv|hash_table|recursion)$|nvrtc-13[\d.]+-sm_90-(reduce|scan|spmv|hash_table|recursion)$"
)


def keep_bundled(folder, file):
    """A file test of a bundled kernel: its launch file with this PTX, and the arrays where they are."""
    name = f"{file.parent.name}-{file.stem}"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    shutil.copy(file, folder / "data" / f"{name}.ptx")
    text = (KERNELS / file.stem / "launch.toml").read_text()
    arrays = f"../../../../kernels/{file.stem}/"
    text = re.sub(r'module = ".*"', f'module = "data/{name}.ptx"', text)
    text = re.sub(r'"@', f'"@{arrays}', text)
    text = re.sub(r'file = "', f'file = "{arrays}', text)
    # Statistics are those of another compiler's code.
    text = re.sub(r"^#: (stats|mechanism|warp-size).*\n", "", text, flags=re.M)
    head = f"# Compiled by {file.parent.name}: kernels/tools/compilers/.\n{MATRIX}"
    (folder / f"{name}.toml").write_text(head + text)


def run(simtlab, file, mechanism, folder):
    command = [simtlab, "run", str(file), "--mechanism", mechanism, "--stats", "none"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def check_all(simtlab, files):
    bad = 0
    for start in range(0, len(files), 50):
        part = [str(f) for f in files[start:start + 50]]
        done = subprocess.run([simtlab, "check", *part], capture_output=True, text=True)
        for line in done.stdout.splitlines():
            if "error" in line:
                print(f"check: {line}")
                bad += 1
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--simtlab", required=True)
    parser.add_argument("--keep")
    args = parser.parse_args()
    simtlab = str(Path(args.simtlab).resolve())
    files = sorted(Path(args.dir).glob("*/*.ptx"))
    bad = check_all(simtlab, files)
    print(f"checked {len(files)} files, {bad} refused")
    ran = wrong = 0
    makers = {"clang": portable, "nvvm": module, "triton": triton, "numba": numba, "tinygrad": tinygrad}
    for file in files:
        tool = file.parent.name.split("-")[0]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            if tool == "nvrtc":
                shutil.copytree(KERNELS / file.stem, folder, dirs_exist_ok=True)
                shutil.copy(file, folder / file.name)
                if args.keep and KEPT.match(f"{file.parent.name}-{file.stem}"):
                    keep_bundled(Path(args.keep), file)
                launches = sorted(folder.glob("*.toml"))
            else:
                text = file.read_text()
                entries = re.findall(r"\.entry\s+([\w$]+)", text)
                made = makers[tool]({"file": file, "entries": entries})
                if not made.launches:
                    continue
                name = f"{file.parent.name}-{file.stem}" if len(list(file.parent.glob('*.ptx'))) > 1 else file.parent.name
                about = f"{file.stem} compiled by {file.parent.name}: kernels/tools/compilers/."
                launches = [folder / f"{name}.toml"]
                (folder / "data").mkdir()
                shutil.copy(file, folder / "data" / f"{name}.ptx")
                launches[0].write_text(made.text(f"data/{name}.ptx", about))
                if args.keep and KEPT.match(f"{name}-{file.stem}" if file.stem not in name else name):
                    shutil.copytree(folder, args.keep, dirs_exist_ok=True)
            for launch in launches:
                for mechanism in ("serial", "ipdom"):
                    done = run(simtlab, launch, mechanism, folder)
                    ran += 1
                    if done.returncode != 0:
                        wrong += 1
                        print(f"{file.parent.name}/{file.name} {launch.name} {mechanism}: exit {done.returncode}\n{done.stderr[:700]}")
    print(f"ran {ran} times, {wrong} not as expected")
    sys.exit(1 if bad or wrong else 0)


if __name__ == "__main__":
    main()
