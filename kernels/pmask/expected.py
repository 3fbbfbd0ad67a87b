"""Inputs and results of the PMASK programs, as launch files: `python3 expected.py` writes them anew.

The results are computed here element by element, in exact arithmetic where floating point is involved, and know nothing of
lanes or masks. Needs Python 3 alone.
"""

import random
import struct
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent


def f32(x):
    """The nearest binary32 of an exact number (ties to even), for normal results."""
    x = Fraction(x)
    if x == 0:
        return 0.0
    exponent = 0
    while abs(x) >= 2 ** (exponent + 1):
        exponent += 1
    while abs(x) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 23)
    # `round` of a fraction takes ties to even.
    return float(round(x / unit) * unit)


def fma64(a, b, c):
    """One rounding: the conversion of a fraction is exact to half a unit, ties to even."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def bits32(values):
    return [f'"{struct.unpack("<I", struct.pack("<f", v))[0]:#010x}"' for v in values]


def bits64(values):
    return [f'"{struct.unpack("<Q", struct.pack("<d", v))[0]:#018x}"' for v in values]


def write(name, about, module, buffers, expected, options=""):
    """A launch file: buffers as name -> (type, values or None), expectations as name -> literals."""
    lines = [f"# {line}" for line in about.splitlines()]
    lines += ["# Made by ../expected.py.", "schema = 1", 'machine = "pmask"', f'module = "{module}"', ""]
    lines += options.splitlines() + ["[buffers]"]
    for buffer, (kind, count, values) in buffers.items():
        contents = "" if values is None else ":[" + ", ".join(str(v).strip('"') for v in values) + "]"
        lines.append(f'{buffer} = "{kind}[{count}]{contents}"')
    lines += ["", "[[launch]]"]
    for buffer, values in expected.items():
        lines += ["", "[[expect]]", f'buffer = "{buffer}"', "values = ["]
        row = 8
        lines += ["    " + ", ".join(str(v) for v in values[i : i + row]) + "," for i in range(0, len(values), row)]
        lines.append("]")
    (HERE / name / "launch.toml").write_text("\n".join(lines) + "\n")


def saxpy(rng):
    n, a = 43, f32(Fraction(27182817, 10**7))
    x = [f32(Fraction(rng.randrange(-4096, 4096), 1000)) for _ in range(64)]
    y = [f32(Fraction(rng.randrange(-4096, 4096), 300)) for _ in range(64)]
    result = [f32(Fraction(a) * Fraction(x[i]) + Fraction(y[i])) if i < n else y[i] for i in range(64)]
    buffers = {
        "n": ("u64", 1, [n]),
        "a": ("f32", 1, bits32([a])),
        "x": ("f32", 64, bits32(x)),
        "y": ("f32", 64, bits32(y)),
    }
    about = "saxpy over 43 elements: five full groups of eight lanes and one of three; what lies behind them stays."
    write("saxpy", about, "saxpy.s", buffers, {"y": bits32(result)})


def collatz(rng):
    numbers = [1, 2, 27, 871, 6171, rng.randrange(1, 10**6), rng.randrange(1, 10**6), 837799]

    def steps(n):
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    buffers = {"input": ("u64", 8, numbers), "steps": ("u64", 8, None)}
    about = "Collatz steps: lanes die one after another while the loop goes on for the last."
    write("collatz", about, "collatz.s", buffers, {"steps": [steps(n) for n in numbers]})


def strlen(rng):
    text = b"a lane that is off reads nothing\0"
    assert len(text) == 33
    buffers = {"text": ("u8", 33, list(text)), "length": ("u64", 1, None)}
    about = "The length of a string by first-fault loads."
    write("strlen", about, "strlen.s", buffers, {"length": [text.index(0)]})


def select(rng):
    n = 37
    numbers = [rng.randrange(-50, 50) for _ in range(n)]
    kept = [v for v in numbers if v > 0]
    buffers = {
        "n": ("u64", 1, [n]),
        "input": ("s64", n, numbers),
        "kept": ("u64", 1, None),
        "output": ("s64", 40, None),
    }
    about = "The positive ones of 37 numbers, packed; nothing is written behind them."
    write("filter", about, "filter.s", buffers, {"kept": [len(kept)], "output": kept + [0] * (40 - len(kept))})


def mandelbrot(rng):
    xs = [f32(Fraction(-21, 10) + Fraction(i, 5)) for i in range(16)]
    ys = [f32(Fraction(-11, 10) + Fraction(3 * i, 10)) for i in range(8)]

    def count(cx, cy):
        zx = zy = 0.0
        for i in range(64):
            xx, yy = f32(Fraction(zx) * Fraction(zx)), f32(Fraction(zy) * Fraction(zy))
            if f32(Fraction(xx) + Fraction(yy)) > 4:
                return i
            product = f32(Fraction(zx) * Fraction(zy))
            zx = f32(Fraction(f32(Fraction(xx) - Fraction(yy))) + Fraction(cx))
            zy = f32(Fraction(f32(2 * Fraction(product))) + Fraction(cy))
        return 64

    buffers = {"xs": ("f32", 16, bits32(xs)), "ys": ("f32", 8, bits32(ys)), "counts": ("u32", 128, None)}
    about = "Escape counts of 16 x 8 points, four lanes at a time."
    write("mandelbrot", about, "mandelbrot.s", buffers, {"counts": [count(x, y) for y in ys for x in xs]})


def stencil2d(rng):
    w, h = 13, 9
    grid = [rng.randrange(-(10**6), 10**6) for _ in range(w * h)]
    result = list(grid)
    for r in range(1, h - 1):
        for c in range(1, w - 1):
            near = [(r, c), (r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)]
            result[r * w + c] = sum(grid[i * w + j] for i, j in near)
    buffers = {
        "w": ("u64", 1, [w]),
        "h": ("u64", 1, [h]),
        "grid": ("s32", w * h, grid),
        "result": ("s32", w * h, None),
    }
    about = "A five-point sum on a grid whose width is not a multiple of the lanes."
    write("stencil2d", about, "stencil2d.s", buffers, {"result": result})


def sparse_dot(rng):
    n = 29
    index = [rng.randrange(16) for _ in range(n)]
    value = [rng.uniform(-10, 10) for _ in range(n)]
    dense = [rng.uniform(-10, 10) for _ in range(16)]
    lanes = [0.0] * 8
    for i in range(n):
        lanes[i % 8] = fma64(value[i], dense[index[i]], lanes[i % 8])
    total = lanes[0]
    for lane in lanes[1:]:
        total += lane
    buffers = {
        "n": ("u64", 1, [n]),
        "sum": ("f64", 1, None),
        "index": ("u32", n, index),
        "value": ("f64", n, bits64(value)),
        "dense": ("f64", 16, bits64(dense)),
    }
    about = "A sparse dot product: eight partial sums, each with one rounding a step, added up in ascending order."
    write("sparse_dot", about, "sparse_dot.s", buffers, {"sum": bits64([total])})


def histogram(rng):
    n = 219
    data = [min(15, int(rng.expovariate(0.3))) for _ in range(n)]
    buffers = {"n": ("u64", 1, [n]), "bins": ("u64", 16, None), "input": ("u8", n, data)}
    about = "How often each of 16 values occurs among 219 bytes."
    write("histogram", about, "histogram.s", buffers, {"bins": [data.count(v) for v in range(16)]})


def string_search(rng):
    text = b"lane la lanela lan lanes and la".replace(b"lanes", b"lanex") + b" lanes of lanes"
    pattern = b"lanes"
    buffers = {
        "text_length": ("u64", 1, [len(text)]),
        "pattern_length": ("u64", 1, [len(pattern)]),
        "found": ("s64", 1, None),
        "pattern": ("u8", len(pattern), list(pattern)),
        "text": ("u8", len(text), list(text)),
    }
    about = "The first place of a pattern among many that nearly match."
    write("string_search", about, "string_search.s", buffers, {"found": [text.find(pattern)]})


def sieve(rng):
    primes = sum(1 for n in range(2, 64) if all(n % p for p in range(2, n)))
    total = sum(10**i for i in range(8) if 0xA5 >> i & 1)
    buffers = {"primes": ("u64", 1, None), "sum": ("u64", 1, None)}
    about = "C with the header of intrinsics: the primes below 64 as a mask, and a masked sum."
    write("sieve", about, "sieve.elf", buffers, {"primes": [primes], "sum": [total]})


for program in (saxpy, collatz, strlen, select, mandelbrot, stencil2d, sparse_dot, histogram, string_search, sieve):
    program(random.Random(program.__name__))
