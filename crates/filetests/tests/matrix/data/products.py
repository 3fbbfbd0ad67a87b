"""The products that the tests try, as PTX and as fragments."""

import numpy as np
import sparse
from oracle import BITS, dot, place_a, place_b, place_c, quad_a, quad_b, quad_c, sizes, values

F, I8, I4, F8 = ("f16", "f32"), ("s8", "u8"), ("s4", "u4"), ("e4m3", "e5m2")


class Product:
    def __init__(self, shape, types, layout="row.col", saturate=False, bit_op=None):
        self.shape, self.types, self.layout = shape, types, layout
        self.saturate, self.bit_op = saturate, bit_op
        self.quads = shape == "m8n8k4" and types[1] == "f16"
        m, n, k = sizes(shape)
        d, a, b, c = types
        copies = 4 if self.quads else 1
        self.counts = [self.registers(t, copies * s) for t, s in ((d, m * n), (a, m * k), (b, k * n), (c, m * n))]

    @staticmethod
    def parts(ty):
        return max(1, 32 // BITS[ty])

    def registers(self, ty, elements):
        return elements // 32 // self.parts(ty)

    def text(self, names):
        op = "mma.sync.aligned." + self.shape + "." + self.layout + (".satfinite" if self.saturate else "")
        op += "".join("." + t for t in self.types) + (f".{self.bit_op}.popc" if self.bit_op else "")
        return op + " " + ", ".join("{" + ", ".join(n) + "}" for n in names) + ";"

    def place(self, which, lane, i):
        """Which of four products, row, column."""
        d, a, b, c = self.types
        if self.quads:
            columns = [w == "col" for w in self.layout.split(".")]
            at = {1: lambda: quad_a(columns[0], lane, i), 2: lambda: quad_b(columns[1], lane, i)}
            row, column = at[which]() if which in at else quad_c(self.types[which], lane, i)
            return lane % 16 // 4, row, column
        of = [place_c, place_a, place_b, place_c][which]
        return (0, *of(self.shape, self.types[which], lane, i))

    def gather(self, which, registers):
        """Registers (register, lane) as matrices by product."""
        m, n, k = sizes(self.shape)
        rows, columns = [(m, n), (m, k), (k, n), (m, n)][which]
        out = [[[None] * columns for _ in range(rows)] for _ in range(4 if self.quads else 1)]
        bits, parts = BITS[self.types[which]], self.parts(self.types[which])
        for r, lanes in enumerate(registers):
            for lane, value in enumerate(lanes):
                for p in range(parts):
                    q, row, column = self.place(which, lane, r * parts + p)
                    out[q][row][column] = int(value) >> (p * bits) & (1 << bits) - 1
        assert all(v is not None for q in out for line in q for v in line), self.shape
        return out

    def inputs(self, rng, style):
        """Registers of A, B and C."""
        out = []
        for which in (1, 2, 3):
            ty, count = self.types[which], self.counts[which]
            parts = self.parts(ty)
            elements = values(rng, ty, count * 32 * parts, style).reshape(count, 32, parts)
            shifts = np.arange(parts, dtype=np.uint64) * np.uint64(BITS[ty])
            out.append((elements << shifts).sum(axis=2, dtype=np.uint64))
        return out

    def expected(self, inputs):
        m, n, k = sizes(self.shape)
        a, b, c = (self.gather(w, inputs[w - 1]) for w in (1, 2, 3))
        result = [
            [
                [
                    dot(
                        a[q][i],
                        [b[q][l][j] for l in range(k)],
                        c[q][i][j],
                        self.types,
                        self.quads,
                        self.saturate,
                        self.bit_op,
                    )
                    for j in range(n)
                ]
                for i in range(m)
            ]
            for q in range(len(a))
        ]
        bits, parts = BITS[self.types[0]], self.parts(self.types[0])
        out = np.zeros((self.counts[0], 32), np.uint64)
        for r in range(self.counts[0]):
            for lane in range(32):
                for p in range(parts):
                    q, row, column = self.place(0, lane, r * parts + p)
                    out[r, lane] |= np.uint64(result[q][row][column] << (p * bits))
        return out


def halves():
    for layout in ("row.col", "row.row", "col.row", "col.col"):
        for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
            yield Product("m8n8k4", (d, "f16", "f16", c), layout)
    for shape in ("m16n8k8", "m16n8k16"):
        for s in F:
            yield Product(shape, (s, "f16", "f16", s))


def floats():
    for shape in ("m16n8k8", "m16n8k16"):
        yield Product(shape, ("f32", "bf16", "bf16", "f32"))
    for shape in ("m16n8k4", "m16n8k8"):
        yield Product(shape, ("f32", "tf32", "tf32", "f32"))
    for shape in ("m16n8k16", "m16n8k32"):
        for s in F:
            for x in F8:
                for y in F8:
                    yield Product(shape, (s, x, y, s))


def doubles():
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        yield Product(shape, ("f64",) * 4)


def integers():
    for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
        for x in I8:
            for y in I8:
                yield Product(shape, ("s32", x, y, "s32"), saturate=x != y)
    for shape in ("m8n8k32", "m16n8k32", "m16n8k64"):
        for x in I4:
            for y in I4:
                yield Product(shape, ("s32", x, y, "s32"), saturate=x == y)
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        for op in ("xor", "and"):
            yield Product(shape, ("s32", "b1", "b1", "s32"), bit_op=op)


FAMILIES = dict(halves=halves, floats=floats, doubles=doubles, integers=integers, sparse=sparse.sparse)


def kernel(name):
    """A kernel that does all products of a family, with the words of input and output that a block takes."""
    wide = name == "doubles"
    size, reg, ty = (8, "%rd", "u64") if wide else (4, "%r", "b32")
    lines, taken, given = [], 0, 0
    for product in FAMILIES[name]():
        base, names = 8, []
        types = [*product.types, "b32"]
        for which, count in enumerate(product.counts):
            letter = {"f32": "%f", "f64": "%fd"}.get(types[which], "%r")
            names.append([f"{letter}{base + i}" for i in range(count)])
            base += count
        for which in range(1, len(names)):
            kind = {"f32": "f32", "f64": "f64"}.get(types[which], "b32")
            for n in names[which]:
                lines.append(f"    ld.global.{kind} {n}, [%rd1+{taken * 32 * size}];")
                taken += 1
        lines.append("    " + product.text(names))
        kind = {"f32": "f32", "f64": "f64"}.get(product.types[0], "b32")
        for n in names[0]:
            lines.append(f"    st.global.{kind} [%rd2+{given * 32 * size}], {n};")
            given += 1
    head = f"""
.visible .entry {name}(.param .u64 in, .param .u64 out)
{{
    .reg .b32 %r<64>;
    .reg .f32 %f<64>;
    .reg .f64 %fd<64>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, {taken * 32}, %r2;
    mad.lo.u32 %r4, %r1, {given * 32}, %r2;
    mul.wide.u32 %rd3, %r3, {size};
    mul.wide.u32 %rd4, %r4, {size};
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd4;
"""
    return head + "\n".join(lines) + "\n    ret;\n}\n", taken * 32, given * 32


def arrays(name, blocks, seed):
    """Inputs and results of a family."""
    rng = np.random.default_rng(seed)
    dtype = np.uint64 if name == "doubles" else np.uint32
    taken, given = [], []
    for block in range(blocks):
        for i, product in enumerate(FAMILIES[name]()):
            inputs = product.inputs(rng, (block + i) % 5)
            taken.extend(np.ascontiguousarray(x).astype(dtype).ravel() for x in inputs)
            given.append(product.expected(inputs).astype(dtype).ravel())
    return np.concatenate(taken), np.concatenate(given)
