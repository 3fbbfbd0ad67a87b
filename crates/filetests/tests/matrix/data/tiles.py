"""`wmma` from memory to memory in all its shapes, types and layouts, and `ldmatrix` with its kin around `mma`."""

import numpy as np
from oracle import BITS, dot, sizes, values

FLAT = ("m16n16k16", "m8n32k16", "m32n8k16")


def wmmas():
    """(shape, types, layouts of A and B, layout of C and D, what stands behind)"""
    for n, shape in enumerate(FLAT):
        for d, c in (("f16", "f16"), ("f16", "f32"), ("f32", "f16"), ("f32", "f32")):
            layouts = (("row", "col"), ("col", "row"), ("row", "row"), ("col", "col"))[n % 4]
            yield shape, (d, "f16", "f16", c), layouts, "row" if d == c else "col", ""
        yield shape, ("f32", "bf16", "bf16", "f32"), ("col", "row"), "row", ""
        yield shape, ("s32", "u8", "u8", "s32"), ("row", "col"), "col", ""
        yield shape, ("s32", "s8", "s8", "s32"), ("col", "row"), "row", ".satfinite"
    for layouts in (("row", "col"), ("col", "row")):
        yield "m16n16k8", ("f32", "tf32", "tf32", "f32"), layouts, layouts[0], ""
    yield "m8n8k4", ("f64",) * 4, ("row", "col"), "row", ".rn"
    yield "m8n8k4", ("f64",) * 4, ("col", "row"), "col", ""
    yield "m8n8k32", ("s32", "s4", "s4", "s32"), ("row", "col"), "row", ""
    yield "m8n8k32", ("s32", "u4", "u4", "s32"), ("row", "col"), "col", ".satfinite"
    yield "m8n8k128", ("s32", "b1", "b1", "s32"), ("row", "col"), "row", ".xor"
    yield "m8n8k128", ("s32", "b1", "b1", "s32"), ("row", "col"), "row", ".and"


def count(shape, which, ty):
    m, n, k = sizes(shape)
    if ty == "f16" and which in "ab":
        return 8
    return dict(a=m * k, b=k * n, c=m * n, d=m * n)[which] * BITS[ty] // (64 if ty == "f64" else 32) // 32


def vector(which, shape, ty):
    letter = {"f32": "%f", "f64": "%fd"}.get(ty, "%r")
    base = dict(a=8, b=16, c=24, d=32)[which]
    return "{" + ", ".join(f"{letter}{base + i}" for i in range(count(shape, which, ty))) + "}"


def memory(matrix, ty, layout, pad):
    """A matrix as bytes, with so many elements of padding behind each row or column; and its stride."""
    lines = matrix if layout == "row" else matrix.T
    stride = lines.shape[1] + pad
    full = np.zeros((lines.shape[0], stride), np.uint64)
    full[:, : lines.shape[1]] = lines
    bits = BITS[ty]
    if bits < 8:
        each = full.reshape(-1, 8 // bits)
        return (each << (np.arange(8 // bits, dtype=np.uint64) * np.uint64(bits))).sum(axis=1).astype(np.uint8), stride
    return full.astype(f"<u{bits // 8}").view(np.uint8).ravel(), stride


def wmma_case(rng, number, case):
    """Instructions, bytes of input and of the expected output."""
    shape, types, (la, lb), lc, behind = case
    (m, n, k), (d, a, b, c) = sizes(shape), types
    style = (1, 3, 2)[number % 3] if a != "b1" else 0
    full = lambda ty, rows, columns: values(rng, ty, rows * columns, style).reshape(rows, columns)
    ma, mb, mc = full(a, m, k), full(b, k, n), full(c, m, n)
    pads = dict(a=0 if BITS[a] < 8 else 16 if BITS[a] == 8 else 8, c=4)
    result = np.zeros((m, n), np.uint64)
    bit_op = behind[1:] if a == "b1" else None
    for i in range(m):
        for j in range(n):
            row, column = [int(x) for x in ma[i]], [int(x) for x in mb[:, j]]
            result[i, j] = dot(row, column, int(mc[i, j]), types, False, behind == ".satfinite", bit_op)
    data, text = [], []
    at = lambda: sum(x.size for x in data)
    for which, ty, matrix, layout in (("a", a, ma, la), ("b", b, mb, lb), ("c", c, mc, lc)):
        raw, stride = memory(matrix, ty, layout, pads["c"] if which == "c" else pads["a"])
        stated = f", {stride}" if stride != (matrix.shape[1] if layout == "row" else matrix.shape[0]) else ""
        text.append(
            f"    wmma.load.{which}.sync.aligned.{layout}.{shape}.global.{ty} "
            f"{vector(which, shape, ty)}, [%rd1+@{at()}]{stated};"
        )
        data.append(raw)
        data.append(np.zeros(-at() % 32, np.uint8))
    op = f".{behind[1:]}.popc" if a == "b1" else ""
    listed = f".{d}.{c}" if a == "f16" else "".join("." + t for t in types)
    text.append(
        f"    wmma.mma{op}.sync.aligned.{la}.{lb}.{shape}{listed}{'' if a == 'b1' else behind} "
        + ", ".join((vector("d", shape, d), vector("a", shape, a), vector("b", shape, b), vector("c", shape, c)))
        + ";"
    )
    raw, stride = memory(result, d, lc, 4)
    text.append(f"    wmma.store.d.sync.aligned.{lc}.{shape}.{d} [%rd2+#0], {vector('d', shape, d)}, {stride};")
    raw = np.concatenate([raw, np.zeros(-raw.size % 32, np.uint8)])
    return text, np.concatenate(data), raw


def write(folder):
    rng = np.random.default_rng(7)
    lines, taken, given = [], [], []
    for number, case in enumerate(wmmas()):
        text, data, result = wmma_case(rng, number, case)
        start, end = sum(x.size for x in taken), sum(x.size for x in given)
        for line in text:
            head, sign, rest = line.partition("@")
            if sign:
                digits = rest.split("]")[0]
                line = head + str(start + int(digits)) + rest[len(digits):]
            lines.append(line.replace("#0", str(end)))
        taken.append(data)
        given.append(result)
    taken, given = np.concatenate(taken), np.concatenate(given)
    np.save(folder / "wmma_in.npy", taken)
    np.save(folder / "wmma_out.npy", given)
    (folder.parent / "wmma.ptx").write_text(
        f"""// `wmma` from global memory to global memory: all shapes and elements, matrices by rows and by columns, with padding between
// lines. Padding of the result stays zero. Made by data/make.py; results are those of data/oracle.py.
//: run: --grid 1 --block 32 --arg in=@data/wmma_in.npy --arg out=u8[{given.size}]
//: expect: out = @data/wmma_out.npy
.version 7.1
.target sm_80
.address_size 64

.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .b32 %r<48>;
    .reg .f32 %f<48>;
    .reg .f64 %fd<48>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
"""
        + "\n".join(lines)
        + "\n    ret;\n}\n"
    )
    print("wmma products", len(list(wmmas())), "bytes", given.size)
    tile_arrays(folder)
    narrow(folder)


def tile_arrays(folder):
    """A product by way of `ldmatrix` and `stmatrix`: numbers so small that every sum is exact."""
    rng = np.random.default_rng(8)
    a = rng.integers(-8, 9, (16, 16)).astype(np.float16)
    b = rng.integers(-8, 9, (16, 8)).astype(np.float16)
    np.save(folder / "tiles_a.npy", a)
    np.save(folder / "tiles_b.npy", b)
    c = a @ b
    np.save(folder / "tiles_out.npy", c)
    # Lane l holds elements 2 * (l % 4) and the next of row l / 4, two to a word: of the transposed upper half.
    np.save(folder / "tiles_turned.npy", np.ascontiguousarray(c[:8].T).view(np.uint32).ravel())


#: Forms of elements narrower than 16 bits: shape, matrices, elements, bits of an element in memory.
LOADS = [
    (shape, matrices, elements, bits)
    for shape, most, formats in (("m16n16", 2, ("b8", "b6x16_p32", "b4x16_p64")), ("m8n16", 4, ("b6x16_p32", "b4x16_p64")))
    for elements, bits in zip(formats, (8, 6, 4) if len(formats) == 3 else (6, 4))
    for matrices in (1, 2, 4) if matrices <= most
]


def line_of(lane):
    """The line of 16 bytes whose address a lane has."""
    return (5 * lane + 3) % 32


def loaded(lines, shape, matrices, bits):
    """The registers of each lane, [register, lane]. In CUTLASS's words (`copy_traits_sm100.hpp`), without its permutation of rows."""
    flat = np.unpackbits(lines, axis=1, bitorder="little")[:, : 16 * bits].reshape(32, 16, bits)
    elements = (flat << np.arange(bits, dtype=np.uint8)).sum(axis=2).astype(np.uint8)
    rows = 16 if shape == "m16n16" else 8
    out = []
    for matrix in range(matrices):
        own = elements[[line_of(rows * matrix + row) for row in range(rows)]]
        own = own.T if rows == 16 else own
        for half in range(rows // 8):
            # Four lanes have the 16 bytes of a row.
            out.append(np.ascontiguousarray(own[8 * half : 8 * half + 8]).view(np.uint32).ravel())
    return out


def stored(words, matrices):
    """What is in 32 lines after a store of matrices of 16 by 8 bytes by columns; fragments are those of sums of `mma`."""
    out = np.zeros((32, 16), np.uint8)
    for matrix in range(matrices):
        full = np.zeros((16, 8), np.uint8)
        for lane in range(32):
            group, thread = divmod(lane, 4)
            own = words[lane, matrix : matrix + 1].view(np.uint8)
            full[group, 2 * thread : 2 * thread + 2] = own[:2]
            full[group + 8, 2 * thread : 2 * thread + 2] = own[2:]
        for column in range(8):
            out[line_of(8 * matrix + column)] = full[:, column]
    return out


def narrow(folder):
    """`ldmatrix` and `stmatrix` of elements of 8, 6 and 4 bits."""
    lines = np.random.default_rng(9).integers(0, 256, (32, 16)).astype(np.uint8)
    text, given, at = [], [], 0

    def address(used):
        # The addresses of the other lanes are not read: they would be misaligned.
        text.append(f"    setp.lt.u32 %p1, %r1, {used};\n    selp.b32 %r9, %r8, 1, %p1;")

    for shape, matrices, elements, bits in LOADS:
        each = 2 if shape == "m16n16" else 1
        address(8 * each * matrices)
        registers = [f"%r{16 + k}" for k in range(each * matrices)]
        trans = ".trans" if shape == "m16n16" else ""
        ty = elements if bits == 8 else f"b8x16.{elements}"
        text.append(f"    ldmatrix.sync.aligned.{shape}.x{matrices}{trans}.shared.{ty} {{{', '.join(registers)}}}, [%r9];")
        for register, words in zip(registers, loaded(lines, shape, matrices, bits)):
            text.append(f"    st.global.u32 [%rd4+{at}], {register};")
            given.append(words)
            at += 128
    text.append("    mov.u32 %r8, tile_c;\n    add.u32 %r8, %r8, %r3;\n    shl.b32 %r10, %r1, 4;\n    mov.u32 %r11, tile_c;\n    add.u32 %r11, %r11, %r10;")
    text.append("    cvt.u64.u32 %rd5, %r10;\n    add.u64 %rd5, %rd5, %rd2;")
    for matrices in (1, 2, 4):
        text.append("    st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12};\n    bar.sync 0;")
        address(8 * matrices)
        registers = ", ".join(f"%r{4 + k}" for k in range(matrices))
        text.append(f"    stmatrix.sync.aligned.m16n8.x{matrices}.trans.shared::cta.b8 [%r9], {{{registers}}};\n    bar.sync 0;")
        text.append(f"    ld.shared.v4.u32 {{%r16, %r17, %r18, %r19}}, [%r11];\n    st.global.v4.u32 [%rd5+{at}], {{%r16, %r17, %r18, %r19}};\n    bar.sync 0;")
        given.append(stored(lines.view(np.uint32), matrices).view(np.uint32).ravel())
        at += 512
    given = np.concatenate(given)
    np.save(folder / "narrow_in.npy", lines)
    np.save(folder / "narrow_out.npy", given)
    body = "\n".join(text)
    (folder.parent / "narrow-tiles.ptx").write_text(
        f"""// Small matrices of elements of 8, 6 and 4 bits, from and to lines of 16 bytes in shared memory that lie in another order.
// Made by data/make.py; results are those of data/tiles.py.
//: run: --grid 1 --block 32 --arg in=@data/narrow_in.npy --arg out=u32[{given.size}]
//: expect: out = @data/narrow_out.npy
.version 8.7
.target sm_120a
.address_size 64

.visible .entry k(.param .u64 in, .param .u64 out)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<24>;
    .reg .b64 %rd<6>;
    .shared .align 16 .b8 tile[512];
    .shared .align 16 .b8 tile_c[512];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r12, 0;
    shl.b32 %r2, %r1, 4;
    cvt.u64.u32 %rd3, %r2;
    add.u64 %rd3, %rd3, %rd1;
    ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%rd3];
    mov.u32 %r8, tile;
    add.u32 %r2, %r2, %r8;
    st.shared.v4.u32 [%r2], {{%r4, %r5, %r6, %r7}};
    bar.sync 0;
    // The line of a lane: 5 times its number and 3, of 32.
    mad.lo.u32 %r3, %r1, 5, 3;
    and.b32 %r3, %r3, 31;
    shl.b32 %r3, %r3, 4;
    add.u32 %r8, %r8, %r3;
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd4, %rd4, %rd2;
{body}
    ret;
}}
"""
    )
    print("narrow tiles", len(LOADS), "loads", given.size, "words")
