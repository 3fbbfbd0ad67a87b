"""Products with a sparse left factor, `mma.sp`: where elements and metadata are, and what the results are.

Elements are placed by the formulas of PTX ISA 9.1, "Matrix fragments for multiply-accumulate operation with sparse matrix A".
Metadata is placed as CUTLASS prepares it in memory and loads it by `ldmatrix` for the deeper shape of each type; the other
shape has half of that: its selector names half of the lanes.
"""

import numpy as np
from oracle import BITS, dot, place_c, sizes, values

FLOATS = [("f16", s) for s in ("f16", "f32")] + [("bf16", "f32"), ("tf32", "f32")]
SHAPES = dict(
    f16=("m16n8k16", "m16n8k32"), bf16=("m16n8k16", "m16n8k32"), tf32=("m16n8k8", "m16n8k16"), e4m3=("m16n8k64",),
    e5m2=("m16n8k64",), s8=("m16n8k32", "m16n8k64"), u8=("m16n8k32", "m16n8k64"), s4=("m16n8k64", "m16n8k128"),
    u4=("m16n8k64", "m16n8k128"),
)
DEEPER = {32: 16, 16: 32, 8: 64, 4: 128}
# Columns of a chunk and how many of them are stored.
CHUNK = {32: (2, 1), 16: (4, 2), 8: (4, 2), 4: (8, 4)}
INCREASING = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]
ANY = INCREASING + [0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1011]


def place_a(ty, lane, i):
    """Row, chunk, and which of the chunk's stored elements."""
    g, t, e = lane >> 2, lane % 4, 32 // BITS[ty]
    row = g if i < e or 2 * e <= i < 3 * e else g + 8
    width, kept = CHUNK[BITS[ty]]
    # Stored elements of a register are those of so many columns.
    span = e // kept * width
    first = t * span + (4 * span if i >= 2 * e else 0)
    return row, first // width + i % e // kept, i % e % kept


def place_b(ty, lane, i):
    g, t, e = lane >> 2, lane % 4, 32 // BITS[ty]
    return t * e + i % e + 4 * e * (i // e), g


def reordered(words, narrow):
    """`words`[row][column] of metadata as `ldmatrix` finds them: CUTLASS's `reorder_meta`, interleaved by two columns."""
    group, interweave = (16, 2) if narrow else (32, 4)
    out = {}
    for m in range(group):
        for k in range(2):
            row, column = m % 8 * interweave + m // 8, k
            if row % 2 == 0 and column % 2 == 1:
                row, column = row + 1, column - 1
            elif row % 2 == 1 and column % 2 == 0:
                row, column = row - 1, column + 1
            out[row * 2 + column] = words[m][k]
    return [out[i] for i in range(2 * group)]


def metadata(ty, k, codes, selector, rng):
    """The word of each lane; what nobody reads is anything."""
    narrow = BITS[ty] <= 8
    each = 8 if narrow else 4
    deep = DEEPER[BITS[ty]]
    if k < deep:
        half, selector = selector % 2, selector // 2
        other = [[int(c) for c in rng.integers(0, 16, len(line))] for line in codes]
        codes = [c + o if half == 0 else o + c for c, o in zip(codes, other)]
    word = lambda line, at: sum(c << 4 * i for i, c in enumerate(line[at * each:at * each + each]))
    words = [[word(line, at) for at in range(2)] for line in codes]
    if narrow:
        return np.array(reordered(words, True), np.uint64)
    # Two tiles of 16 rows are prepared together; the selector says which is meant.
    other = [[int(w) for w in rng.integers(0, 1 << 16, 2)] for _ in range(16)]
    flat = reordered(words + other if selector == 0 else other + words, False)
    return np.array([flat[2 * i] | flat[2 * i + 1] << 16 for i in range(32)], np.uint64)


class Sparse:
    """One instruction, with the interface of `Product`."""

    def __init__(self, shape, types, selector, ordered, saturate=False):
        self.shape, self.types, self.selector, self.ordered, self.saturate = shape, types, selector, ordered, saturate
        m, n, k = sizes(shape)
        d, a, b, c = types
        regs = lambda ty, elements: elements // 32 // max(1, 32 // BITS[ty])
        self.counts = [regs(d, m * n), regs(a, m * k // 2), regs(b, k * n), regs(c, m * n), 1]

    def text(self, names):
        op = "mma.sp" + ("::ordered_metadata" if self.ordered else "") + ".sync.aligned." + self.shape + ".row.col"
        op += (".satfinite" if self.saturate else "") + "".join("." + t for t in self.types)
        lists = ", ".join("{" + ", ".join(n) + "}" for n in names[:4])
        return f"{op} {lists}, {names[4][0]}, {self.selector};"

    def inputs(self, rng, style):
        """Registers of A, B and C, and the metadata."""
        out = []
        for which in (1, 2, 3):
            ty, count = self.types[which], self.counts[which]
            parts = max(1, 32 // BITS[ty])
            elements = values(rng, ty, count * 32 * parts, style).reshape(count, 32, parts)
            shifts = np.arange(parts, dtype=np.uint64) * np.uint64(BITS[ty])
            out.append((elements << shifts).sum(axis=2, dtype=np.uint64))
        ty, k = self.types[1], sizes(self.shape)[2]
        known = [0b0100, 0b1110] if ty == "tf32" else INCREASING if self.ordered else ANY
        chunks = k // CHUNK[BITS[ty]][0]
        self.codes = [[int(c) for c in rng.choice(known, chunks)] for _ in range(16)]
        return [*out, metadata(ty, k, self.codes, self.selector, rng).reshape(1, 32)]

    def expected(self, inputs):
        d, a, b, c = self.types
        m, n, k = sizes(self.shape)
        part = lambda ty, regs, lane, i: int(regs[i // max(1, 32 // BITS[ty]), lane]) >> i % max(1, 32 // BITS[ty]) * BITS[ty] & (1 << BITS[ty]) - 1
        count = lambda which: self.counts[which] * max(1, 32 // BITS[self.types[which]])
        right = {}
        for lane in range(32):
            for i in range(count(2)):
                right[place_b(b, lane, i)] = part(b, inputs[1], lane, i)
        width, kept = CHUNK[BITS[a]]
        stored = {}
        for lane in range(32):
            for i in range(count(1)):
                row, chunk, which = place_a(a, lane, i)
                code = self.codes[row][chunk]
                index = (code & 3, code >> 2)
                at = {1: lambda: (code == 0b1110), 2: lambda: index[which], 4: lambda: 2 * index[which // 2] + which % 2}[kept]()
                stored[row, chunk * kept + which] = (chunk * width + at, part(a, inputs[0], lane, i))
        assert len(stored) == m * k // 2 and len(right) == k * n, self.shape
        out = np.zeros((self.counts[0], 32), np.uint64)
        e = max(1, 32 // BITS[d])
        for lane in range(32):
            for i in range(count(0)):
                row, column = place_c(self.shape, d, lane, i)
                pairs = [stored[row, l] for l in range(k // 2)]
                value = dot(
                    [x for _, x in pairs], [right[at, column] for at, _ in pairs], part(c, inputs[2], lane, i), self.types,
                    saturate=self.saturate,
                )
                out[i // e, lane] |= np.uint64(value << i % e * BITS[d])
        return out


def sparse():
    """Every shape and type, every selector."""
    for factor, total in FLOATS:
        for number, shape in enumerate(SHAPES[factor]):
            for selector in range(4 >> number):
                yield Sparse(shape, (total, factor, factor, total), selector, selector % 2 == 0)
    for x in ("e4m3", "e5m2"):
        for y in ("e4m3", "e5m2"):
            yield Sparse("m16n8k64", ("f32", x, y, "f32"), 0, x == y)
    for pair in (("s8", "u8"), ("s4", "u4")):
        for x in pair:
            for y in pair:
                for number, shape in enumerate(SHAPES[x]):
                    for selector in range(2 >> number):
                        yield Sparse(shape, ("s32", x, y, "s32"), selector, (x == y) == (number == 0), saturate=x != y)
