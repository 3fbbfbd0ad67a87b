"""Writes the tests of tensor copies with their expected results.

The reference reads the PTX ISA, "Tensors" and its figures of swizzles, one element after the other;
it takes nothing from the engine but the layout of a tensor map. Run it in this folder.
"""

import itertools
import struct

# Numbers of units of 16 bytes in lines of 128 bytes: the figures of the swizzle modes.
PATTERNS = {
    0: [[0, 1, 2, 3, 4, 5, 6, 7]],
    1: [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]],
    2: [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [1, 0, 3, 2, 5, 4, 7, 6],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [3, 2, 1, 0, 7, 6, 5, 4],
    ],
    3: [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [1, 0, 3, 2, 5, 4, 7, 6],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [3, 2, 1, 0, 7, 6, 5, 4],
        [4, 5, 6, 7, 0, 1, 2, 3],
        [5, 4, 7, 6, 1, 0, 3, 2],
        [6, 7, 4, 5, 2, 3, 0, 1],
        [7, 6, 5, 4, 3, 2, 1, 0],
    ],
    # Chunks of 32 and of 64 bytes within 128 (CUDA driver API, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_*).
    4: [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [2, 3, 0, 1, 6, 7, 4, 5],
        [4, 5, 6, 7, 0, 1, 2, 3],
        [6, 7, 4, 5, 2, 3, 0, 1],
    ],
    6: [[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]],
}
# As 4, and in every second line the halves of 16 bytes change places.
PATTERNS[5] = PATTERNS[4]
SPANS = {0: 32, 1: 32, 2: 64, 3: 128, 4: 128, 5: 128, 6: 128}
NAMES = {
    0: "none",
    1: "32b",
    2: "64b",
    3: "128b",
    4: "128b-atom-32b",
    5: "128b-atom-32b-flip-8b",
    6: "128b-atom-64b",
}
# CUtensorMapDataType: number, bytes, and the NaN of elements out of bounds. Of packed elements 16
# are taken together, which have 16 bytes of shared memory.
TYPES = {
    "u8": (0, 1, None),
    "u16": (1, 2, None),
    "f16": (6, 2, 0x7FFF),
    "f32": (7, 4, 0x7FFFFFFF),
    "f64": (8, 8, 0x7FFFFFFFFFFFFFFF),
    "u4x16p64": (14, 8, None),
    "u6x16p32": (15, 12, None),
}
PACKED = ("u4x16p64", "u6x16p32")
PLAIN = [kind for kind in TYPES if kind not in PACKED]
# How many elements one entry stands for along dimension 0, and its bytes in shared memory.
COUNTS = {kind: 16 for kind in PACKED}


def shared_size(t):
    return 16 if t["type"] in PACKED else TYPES[t["type"]][1]


def iota(words):
    return bytearray(b"".join(struct.pack("<I", i) for i in range(words)))


def encoded(t):
    out = bytearray(128)
    out[0:4] = b"STM1"
    out[4] = {"w": 2, "w::128": 3}.get(t.get("wide"), 1 if "pixels" in t else 0)
    count = COUNTS.get(t["type"], 1)
    out[5] = t["rank"] - 1
    out[6] = TYPES[t["type"]][0]
    out[8], out[11] = min(t["swizzle"], 3), max(t["swizzle"] - 3, 0)
    out[10] = int(t["nan"])
    for i in range(5):
        extent = t["extents"][i] * (1 if i else count) if i < t["rank"] else 1
        out[24 + 4 * i : 28 + 4 * i] = struct.pack("<I", extent - 1)
        out[44 + i] = (t["steps"][i] if i < t["rank"] else 1) - 1
    for i, stride in enumerate(t["strides"]):
        out[64 + 8 * i : 72 + 8 * i] = struct.pack("<Q", stride)
    if "pixels" in t:
        for i in range(3):
            lower = t["lower"][i] if i < len(t["lower"]) else 0
            upper = t["upper"][i] if i < len(t["upper"]) else 0
            out[96 + 2 * i : 98 + 2 * i] = struct.pack("<h", lower)
            out[102 + 2 * i : 104 + 2 * i] = struct.pack("<h", upper)
        out[108:112] = struct.pack("<HH", t["channels"] - 1, t["pixels"] - 1)
    else:
        for i in range(t["rank"]):
            extent = t["box"][i] * (1 if i else count)
            out[96 + 2 * i : 98 + 2 * i] = struct.pack("<H", extent - 1)
    return struct.unpack("<32I", out)


def lines(t):
    """Coordinates of the first element of each line of shared memory, in order."""
    if "rows" in t:
        yield from ([t["at"][0], row] for row in t["rows"])
        return
    if "wide" in t:
        yield from itertools.islice(along_w(t), 128 if t["wide"] == "w::128" else t["pixels"])
        return
    if "pixels" not in t:
        outer = [range(0, n, s) for n, s in zip(t["box"][1:], t["steps"][1:])]
        for index in itertools.product(*reversed(outer)):
            yield [t["at"][0]] + [c + i for c, i in zip(t["at"][1:], reversed(index))]
        return
    # The base of a filter goes through the bounding box of pixels, W first, then the images.
    images = range(t["at"][-1], t["extents"][-1] + t["pixels"])
    ranges = [
        range(low, extent + high, step)
        for low, high, extent, step in zip(t["lower"], t["upper"], t["extents"][1:], t["steps"][1:])
    ]
    bases = (
        (*reversed(pixel), image)
        for image in images
        for pixel in itertools.product(*reversed(ranges))
    )
    bases = itertools.dropwhile(lambda base: list(base) != t["at"][1:], bases)
    for base in itertools.islice(bases, t["pixels"]):
        yield [t["at"][0]] + [c + o for c, o in zip(base, t["offsets"])] + [base[-1]]


def along_w(t):
    """Pixels along W, then of the next image; the offset moves the first pixel and both corners."""
    offset = t["offsets"][1]
    first, last = t["lower"][0] + offset, t["extents"][1] - 1 + t["upper"][0] + offset
    begin = t["at"][1] + offset
    for image in itertools.count(t["at"][-1]):
        for w in range(begin, last + 1, t["steps"][1]):
            yield [t["at"][0], w, *t["at"][2:-1], image]
        begin = first


def elements(t):
    """(byte in shared memory, byte in global memory or None) of each element."""
    size, wide = TYPES[t["type"]][1], shared_size(t)
    inner = t["channels"] if "pixels" in t else t["box"][0]
    pattern = PATTERNS[t["swizzle"]]
    for number, first in enumerate(lines(t)):
        for k in range(inner):
            at = [first[0] + k] + first[1:]
            linear = number * inner * wide + k * wide
            row, unit = linear // 128, linear // 16 % 8
            shared = row * 128 + pattern[row % len(pattern)][unit] * 16 + linear % 16
            if t["swizzle"] == 5 and row % 2 == 1:
                shared += 8 if shared % 16 < 8 else -8
            inside = all(0 <= c < n for c, n in zip(at, t["extents"]))
            outer = sum(c * s for c, s in zip(at[1:], t["strides"]))
            yield shared, at[0] * size + outer if inside else None


def load(t, memory):
    size, nan = TYPES[t["type"]][1:]
    found = list(elements(t))
    # Gaps of packed elements keep what is there before: zeros.
    out = bytearray(len(found) * shared_size(t))
    for shared, place in found:
        fill = (nan if t["nan"] else 0).to_bytes(size, "little")
        out[shared : shared + size] = fill if place is None else memory[place : place + size]
    return out


def store(t, memory, combine):
    size, wide = TYPES[t["type"]][1], shared_size(t)
    found = list(elements(t))
    source = iota(len(found) * wide // 4)
    for i in range(0, len(source), 4):
        source[i : i + 4] = struct.pack("<I", i // 4 + 1000)
    for shared, place in found:
        if place is None:
            continue
        new = source[shared : shared + wide]
        if wide != size:
            # The low 6 bits of each byte, the first ones lowest.
            bits = "".join(format(byte & 63, "06b") for byte in reversed(new))
            new = int(bits, 2).to_bytes(size, "little")
        if combine:
            old = int.from_bytes(memory[place : place + size], "little")
            new = (int.from_bytes(new, "little") + old).to_bytes(size, "little")
        memory[place : place + size] = new
    return memory


def words(data):
    return ", ".join(str(w[0]) for w in struct.iter_unpack("<I", bytes(data)))


LOAD = """  mbarrier.init.shared.b64 [%r2], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {bytes};
  cp.async.bulk.tensor.{rank}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes [%r3], [%rd2, {{{at}}}], [%r2]{offsets};
READY:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0;
  @!%p1 bra WAIT;
COPY:
  setp.ge.u32 %p2, %r1, {words};
  @%p2 bra END;
  shl.b32 %r5, %r1, 2;
  add.u32 %r6, %r3, %r5;
  ld.shared.u32 %r7, [%r6];
  cvt.u64.u32 %rd3, %r5;
  add.u64 %rd3, %rd1, %rd3;
  st.global.u32 [%rd3], %r7;
  add.u32 %r1, %r1, 32;
  bra COPY;
"""
STORE = """READY:
  setp.ge.u32 %p2, %r1, {words};
  @%p2 bra MOVE;
  shl.b32 %r5, %r1, 2;
  add.u32 %r6, %r3, %r5;
  add.u32 %r7, %r1, 1000;
  st.shared.u32 [%r6], %r7;
  add.u32 %r1, %r1, 32;
  bra READY;
MOVE:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p0 bra END;
  cp{reduce}.async.bulk.tensor.{rank}d.global.shared::cta{op}{mode}.bulk_group [%rd2, {{{at}}}], [%r3];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""
KERNEL = """// {title}
// `reference.py` computed the result.
//: run: --grid 1 --block 32 --option async={order} --arg map=u32[32]:[{map}] --arg data={data} --arg out=u32[{outs}]
//: expect: {what} = [{expected}]
.version 8.6
.target {target}
.address_size 64
.visible .entry k(.param .u64 map, .param .u64 data, .param .u64 out)
{{
  .reg .b32 %r<12>;
  .reg .b64 %rd<6>;
  .reg .pred %p<4>;
  .shared .align 1024 .b8 buffer[{bytes}];
  .shared .align 8 .b64 bar;
  ld.param.u64 %rd2, [map];
  ld.param.u64 %rd0, [data];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, bar;
  mov.u32 %r3, buffer;
  setp.eq.u32 %p0, %r1, 0;
  @!%p0 bra READY;
  st.global.u64 [%rd2+16], %rd0;
{body}END:
  ret;
}}
"""


def write(name, title, t, order, kind="load"):
    size = TYPES[t["type"]][1]
    total = len(list(elements(t))) * size
    room = len(list(elements(t))) * shared_size(t)
    places = [place for _, place in elements(t) if place is not None]
    length = 2048 if max(places) < 8000 else 4096
    memory = iota(length)
    result = load(t, memory) if kind == "load" else store(t, memory, kind == "add")
    column, rows = "pixels" in t, "rows" in t
    mode = ".tile"
    if rows:
        mode = ".tile::gather4" if kind == "load" else ".tile::scatter4"
    elif column:
        mode = ".im2col" if kind == "load" else ".im2col_no_offs"
        mode = f".im2col::{t['wide']}" if "wide" in t else mode
    at = [t["at"][0] * COUNTS.get(t["type"], 1)] + (t["rows"] if rows else t["at"][1:])
    body = (LOAD if kind == "load" else STORE).format(
        bytes=total,
        words=room // 4,
        rank=t["rank"],
        mode=mode,
        at=", ".join(map(str, at)),
        offsets=", {" + ", ".join(map(str, t["offsets"])) + "}" if column else "",
        reduce=".reduce" if kind == "add" else "",
        op=".add" if kind == "add" else "",
    )
    text = KERNEL.format(
        title=title,
        order=order,
        target="sm_100a" if rows or "wide" in t or t["type"] in PACKED else "sm_90",
        map=",".join(map(str, encoded(t))),
        data=f"u32[{length}]:iota",
        outs=room // 4,
        what="out" if kind == "load" else "data",
        expected=words(result),
        bytes=room,
        body=body,
    )
    with open(name + ".ptx", "w") as file:
        file.write(text)


def tensor(rank, swizzle, kind, nan):
    size = TYPES[kind][1]
    inner = SPANS[swizzle] // size
    extents = [inner + 16 // size, 5, 3, 3, 2][:rank]
    strides, step = [], -(-extents[0] * size // 16) * 16
    for extent in extents[1:]:
        strides.append(step)
        step *= extent
    return {
        "rank": rank,
        "swizzle": swizzle,
        "type": kind,
        "nan": nan,
        "extents": extents,
        "strides": strides,
        "box": [inner, 4, 2, 2, 2][:rank],
        "steps": [1, 1, 1, 1, 1][:rank],
        # Elements before the first and behind the last are out of bounds.
        "at": [-(16 // size) if rank % 2 else 32 // size, 2, -1, 1, 0][:rank],
    }


def main():
    orders = itertools.cycle(["late", "early", "random:7"])
    kinds = itertools.cycle(PLAIN)
    for rank, swizzle in itertools.product(range(1, 6), range(4)):
        kind = next(kinds)
        nan = TYPES[kind][2] is not None and rank % 2 == 1
        t = tensor(rank, swizzle, kind, nan)
        title = f"A box of {rank} dimensions of {kind}, swizzle {NAMES[swizzle]}, parts out of bounds."
        write(f"load-{rank}d-{NAMES[swizzle]}", title, t, next(orders))
    for rank, swizzle in [(1, 0), (2, 3), (3, 2), (5, 1)]:
        t = tensor(rank, swizzle, "u16", False)
        title = f"A box of {rank} dimensions is stored, swizzle {NAMES[swizzle]}, parts out of bounds."
        write(f"store-{rank}d-{NAMES[swizzle]}", title, t, next(orders), "store")
    t = tensor(2, 3, "u16", False)
    t["type"] = "u32x"
    TYPES["u32x"] = (2, 4, None)
    t = tensor(2, 3, "u32x", False)
    write("add-2d-128b", "A box of u32 is added, parts out of bounds.", t, "late", "add")
    t = tensor(3, 1, "f32", True)
    t["steps"], t["box"] = [1, 2, 2], [8, 5, 3]
    write("load-3d-steps", "A box with element strides.", t, "late")
    for rank, swizzle in itertools.product((2, 4), (4, 5, 6)):
        kind = next(kinds)
        t = tensor(rank, swizzle, kind, False)
        title = f"A box of {rank} dimensions of {kind}, swizzle {NAMES[swizzle]}, parts out of bounds."
        write(f"load-{rank}d-{NAMES[swizzle]}", title, t, next(orders))
        title = f"A box of {rank} dimensions of {kind} is stored, swizzle {NAMES[swizzle]}."
        write(f"store-{rank}d-{NAMES[swizzle]}", title, t, next(orders), "store")
    columns = [
        ("3d", [16, 7, 3], [-1], [1], [2], [0, 5, 0]),
        ("4d", [16, 5, 4, 3], [-1, -1], [-1, -1], [1, 2], [0, 2, 1, 0]),
        ("5d", [16, 3, 3, 3, 2], [0, -1, 0], [-1, 0, -1], [1, 0, 1], [0, 1, 1, 0, 0]),
    ]
    for (name, extents, lower, upper, offsets, at), swizzle in zip(columns, [0, 1, 1]):
        rank = len(extents)
        t = tensor(rank, swizzle, "f32", False)
        step, strides = 64, []
        for extent in extents[1:]:
            strides.append(step)
            step *= extent
        t.update(extents=extents, strides=strides, lower=lower, upper=upper, channels=8, pixels=16)
        t.update(offsets=offsets, at=at)
        title = f"Pixels of a column of {rank} dimensions, with offsets of a filter."
        write(f"load-{name}-im2col", title, t, next(orders))
    newer(orders)


def newer(orders):
    """Modes of devices since sm_100, and packed elements with gaps."""
    for kind, swizzle in [("f16", 0), ("u8", 2), ("f32", 3)]:
        t = tensor(2, swizzle, kind, False)
        t.update(box=[t["box"][0], 1], rows=[4, 1, -1, 3])
        title = f"Four rows of {kind} are gathered, swizzle {NAMES[swizzle]}, parts out of bounds."
        write(f"gather4-{NAMES[swizzle]}", title, t, next(orders))
        title = f"Four rows of {kind} are scattered, swizzle {NAMES[swizzle]}."
        write(f"scatter4-{NAMES[swizzle]}", title, t, next(orders), "store")
    t = tensor(2, 3, "u32x", False)
    t.update(box=[t["box"][0], 1], rows=[2, 0, 3, 6])
    write("scatter4-add", "Four rows of u32 are added, one of them out of bounds.", t, "late", "add")
    columns = [
        ("3d-w", "w", [32, 7, 4], [-1], [1], [1, 1, 1], [0, 0], [0, -1, 1]),
        ("4d-w", "w", [32, 6, 3, 4], [0], [-1], [1, 2, 1, 1], [0, 1], [0, -3, 2, 0]),
        ("5d-w", "w", [32, 5, 2, 2, 4], [-1], [0], [1, 1, 1, 1, 1], [0, 2], [4, 1, 1, 0, 0]),
        ("4d-w-128", "w::128", [32, 7, 2, 9], [-1], [1], [1, 1, 1, 1], [0, 1], [0, 2, 1, 0]),
    ]
    for (name, wide, extents, lower, upper, steps, offsets, at), swizzle in zip(columns, [2, 3, 2, 2]):
        kind = "u16" if swizzle == 2 else "f32"
        size = TYPES[kind][1]
        strides, step = [], extents[0] * size
        for extent in extents[1:]:
            strides.append(step)
            step *= extent
        t = {"rank": len(extents), "swizzle": swizzle, "type": kind, "nan": False}
        t.update(extents=extents, strides=strides, lower=lower, upper=upper, steps=steps, at=at)
        t.update(channels=SPANS[swizzle] // size, pixels=12, wide=wide, offsets=offsets)
        title = f"Pixels of a column along W, of {len(extents)} dimensions."
        write(f"load-{name}", title, t, next(orders))
    for kind, swizzle in itertools.product(PACKED, [0, 3, 4]):
        size = TYPES[kind][1]
        t = {"rank": 2, "swizzle": swizzle, "type": kind, "nan": False, "extents": [16, 5]}
        t.update(strides=[16 * size], box=[8, 4], steps=[1, 1], at=[8, 2])
        title = f"Packed elements with gaps, {kind}, swizzle {NAMES[swizzle]}, parts out of bounds."
        write(f"load-{kind}-{NAMES[swizzle]}", title, t, next(orders))
        if kind == "u6x16p32":
            title = f"The low 6 bits of bytes are packed, swizzle {NAMES[swizzle]}."
            write(f"store-{kind}-{NAMES[swizzle]}", title, t, next(orders), "store")


main()
