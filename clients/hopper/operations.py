"""Tensor copies and products of warp groups through the driver API, against NumPy.

operations.py [copies|products]: copies are boxes of every type of elements, swizzle and rank, loaded and stored, with parts out of bounds;
products are every shape of every pair of types, with the left factor in shared memory and in registers, under every swizzle. The reference is
written from the text: the figures of swizzles as exclusive ors of address bits, the canonical layouts and fragments of the PTX ISA as indices.
"""

import ctypes
import itertools
import sys

import numpy as np
from ml_dtypes import bfloat16, float8_e4m3fn, float8_e5m2

cuda = ctypes.CDLL("libcuda.so.1")
word, size_t = ctypes.c_uint64, ctypes.c_size_t


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, f"{name} = {status}"


def created(name, *arguments):
    out = word()
    call(name, ctypes.byref(out), *arguments)
    return out


class Device:
    """A context, and memory for each of several uses."""

    def __init__(self):
        call("cuInit", 0)
        call("cuCtxSetCurrent", created("cuDevicePrimaryCtxRetain", 0))
        self.buffers = [created("cuMemAlloc_v2", size_t(1 << 20)) for _ in range(3)]

    def write(self, buffer, data):
        data = np.ascontiguousarray(data)
        call("cuMemcpyHtoD_v2", self.buffers[buffer], data.ctypes.data_as(ctypes.c_void_p), size_t(data.nbytes))

    def read(self, buffer, count, kind):
        out = np.empty(count, kind)
        call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), self.buffers[buffer], size_t(out.nbytes))
        return out

    def launch(self, function, threads, *arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(each) for each in arguments))
        call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, pointers, None)
        call("cuCtxSynchronize")


def function(text, name):
    module = created("cuModuleLoadData", text.encode())
    return created("cuModuleGetFunction", module, name.encode())


HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"

#: CU_TENSOR_MAP_DATA_TYPE_*: number, NumPy's type, and the bits of a fill that is no number.
ELEMENTS = {
    "u8": (0, np.uint8, None), "u16": (1, np.uint16, None), "u32": (2, np.uint32, None), "s32": (3, np.int32, None), "u64": (4, np.uint64, None),
    "s64": (5, np.int64, None), "f16": (6, np.float16, 0x7FFF), "f32": (7, np.float32, 0x7FFFFFFF), "f64": (8, np.float64, 0x7FFFFFFFFFFFFFFF),
    "bf16": (9, bfloat16, 0x7FFF), "f32 ftz": (10, np.float32, 0x7FFFFFFF), "tf32": (11, np.float32, 0x7FFFFFFF),
    "tf32 ftz": (12, np.float32, 0x7FFFFFFF),
}
#: CU_TENSOR_MAP_SWIZZLE_*: number, bytes of a line, and which bits of an address change by which, as (to, from) pairs.
SWIZZLES = {
    "none": (0, 32, []), "32": (1, 32, [(4, 7)]), "64": (2, 64, [(4, 7), (5, 8)]), "128": (3, 128, [(4, 7), (5, 8), (6, 9)]),
    "128 of 32": (4, 128, [(5, 7), (6, 8)]), "128 of 32, flipped": (5, 128, [(5, 7), (6, 8), (3, 7)]), "128 of 64": (6, 128, [(6, 7)]),
}


def swizzled(addresses, bits):
    """Where bytes lie in shared memory that is aligned to the pattern."""
    out = addresses.copy()
    for to, by in bits:
        out ^= (addresses >> by & 1) << to
    return out


def copy_kernels():
    """Kernels that load and store a box: of each rank, from and to a whole image of shared memory."""
    out = []
    for rank in range(1, 6):
        at = ", ".join(f"%c{i}" for i in range(rank))
        for name, body in (("load", f"""
  @!%p mbarrier.init.shared.b64 [%bar], 1;
  @!%p fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @!%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %n;
  @!%p cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {{{at}}}], [%bar];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0;
  @!%q bra WAIT;
  mov.u32 %i, %tid.x;
MORE:
  add.u32 %a, %s, %i; cvt.u64.u32 %d, %i; add.u64 %d, %image, %d;
  ld.shared.u8 %v, [%a]; st.global.u8 [%d], %v;
  add.u32 %i, %i, 32; setp.lt.u32 %q, %i, %n; @%q bra MORE;
  ret;"""), ("store", f"""
  mov.u32 %i, %tid.x;
MORE:
  add.u32 %a, %s, %i; cvt.u64.u32 %d, %i; add.u64 %d, %image, %d;
  ld.global.u8 %v, [%d]; st.shared.u8 [%a], %v;
  add.u32 %i, %i, 32; setp.lt.u32 %q, %i, %n; @%q bra MORE;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p ret;
  cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%map, {{{at}}}], [%s];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  ret;""")):
            out.append(f"""
.visible .entry {name}{rank}(.param .align 64 .b8 tensor[128], .param .align 4 .b8 place[20], .param .u32 bytes, .param .u64 image) {{
  .reg .b32 %c<5>, %n, %s, %bar, %i, %a; .reg .b16 %v; .reg .b64 %map, %image, %d; .reg .pred %p, %q;
  .shared .align 1024 .b8 buffer[16384]; .shared .align 8 .b64 bar;
  mov.b64 %map, tensor; cvta.param.u64 %map, %map; ld.param.u32 %n, [bytes]; ld.param.u64 %image, [image];
  {" ".join(f"ld.param.u32 %c{i}, [place+{4 * i}];" for i in range(rank))}
  mov.u32 %s, buffer; mov.u32 %bar, bar; mov.u32 %i, %tid.x; setp.ne.u32 %p, %i, 0;{body}
}}""")
    return HEAD + "".join(out)


def encoded(device, number, rank, extents, strides, box, swizzle, nan):
    """A tensor map by the driver."""
    out = (ctypes.c_uint8 * 256)()
    aligned = ctypes.c_uint8.from_buffer(out, -ctypes.addressof(out) % 64)
    call("cuTensorMapEncodeTiled", ctypes.byref(aligned), number, rank, device.buffers[0], (word * rank)(*extents), (word * 4)(*strides[:4]),
         (ctypes.c_uint32 * rank)(*box), (ctypes.c_uint32 * rank)(*[1] * rank), 0, swizzle, 0, int(nan))
    return (ctypes.c_uint8 * 128).from_buffer(out, -ctypes.addressof(out) % 64)


def copies(device):
    """Boxes of every type, swizzle and rank, loaded and stored."""
    text = copy_kernels()
    module = created("cuModuleLoadData", text.encode())
    functions = {f"{name}{rank}": created("cuModuleGetFunction", module, f"{name}{rank}".encode()) for name in ("load", "store") for rank in range(1, 6)}
    random, compared = np.random.default_rng(1), 0
    for (kind, (number, dtype, fill)), (name, (mode, line, bits)), rank in itertools.product(ELEMENTS.items(), SWIZZLES.items(), range(1, 6)):
        size = np.dtype(dtype).itemsize
        inner, unit = line // size, 16 // size
        extents, box = [inner + unit, 5, 3, 3, 2][:rank], [inner, 4, 2, 2, 2][:rank]
        strides, next_stride = [], -(-extents[0] * size // 16) * 16 + 16
        for extent in extents[1:]:
            strides.append(next_stride)
            next_stride *= extent
        # Numbers that every type has, and rounds to nothing else.
        shape = tuple(reversed(extents))
        tensor = random.integers(1, 100, shape).astype(dtype)
        memory = np.zeros(next_stride if rank > 1 else 4096, np.uint8)
        places = sum((np.arange(n).reshape([-1 if j == rank - 1 - i else 1 for j in range(rank)]) * ([size] + strides)[i]
                      for i, n in enumerate(extents)), np.zeros(shape, np.int64))
        bytes_at = (places[..., None] + np.arange(size)).reshape(-1)
        memory[bytes_at] = tensor.view(np.uint8).reshape(-1)
        for first in ([0] * rank, [-unit, 2, -1, 1, 0][:rank], [2 * unit, 3, 2, -1, 1][:rank]):
            for nan in (False, True) if fill else (False,):
                tensor_map = encoded(device, number, rank, extents, strides + [0] * 4, box, mode, nan)
                arguments = (tensor_map, (ctypes.c_int32 * 5)(*first, *[0] * (5 - rank)), ctypes.c_uint32(int(np.prod(box)) * size), device.buffers[1])
                index = np.meshgrid(*(np.arange(c, c + b) for c, b in zip(reversed(first), reversed(box))), indexing="ij")
                inside = np.all([(i >= 0) & (i < n) for i, n in zip(index, shape)], axis=0)
                clipped = tuple(np.clip(i, 0, n - 1) for i, n in zip(index, shape))
                outside = np.array(fill if nan else 0, f"u{size}").view(dtype)
                loaded = np.where(inside, tensor[clipped], outside).astype(dtype)
                order = swizzled(np.arange(loaded.nbytes), bits)
                device.write(0, memory)
                device.write(1, np.zeros(loaded.nbytes, np.uint8))
                device.launch(functions[f"load{rank}"], 32, *arguments)
                found = device.read(1, loaded.nbytes, np.uint8)
                assert np.array_equal(found[order], loaded.view(np.uint8).reshape(-1)), f"load of {kind}, swizzle {name}, {rank}d at {first}"
                new = random.integers(1, 100, loaded.shape).astype(dtype)
                image = np.empty(new.nbytes, np.uint8)
                image[order] = new.view(np.uint8).reshape(-1)
                device.write(1, image)
                device.launch(functions[f"store{rank}"], 32, *arguments)
                stored = tensor.copy()
                stored[tuple(i[inside] for i in clipped)] = new[inside]
                expected = memory.copy()
                expected[bytes_at] = stored.view(np.uint8).reshape(-1)
                assert np.array_equal(device.read(0, memory.size, np.uint8), expected), f"store of {kind}, swizzle {name}, {rank}d at {first}"
                compared += 2
    print(f"{compared} tensor copies are as NumPy says: {len(ELEMENTS)} types, {len(SWIZZLES)} swizzles, 5 ranks, loads and stores")


#: Types of factors: NumPy's type and bits.
FACTORS = {"f16": (np.float16, 16), "bf16": (bfloat16, 16), "tf32": (np.float32, 32), "e4m3": (float8_e4m3fn, 8), "e5m2": (float8_e5m2, 8),
           "s8": (np.int8, 8), "u8": (np.uint8, 8), "b1": (np.uint8, 1)}
NARROW = ("e4m3", "e5m2")


def shapes():
    """Types of the sum and the factors, and columns, of every product."""
    even, whole = range(8, 257, 8), [8, 24, *range(16, 257, 16)]
    for total, left, right in [("f16", "f16", "f16"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
                               *((total, a, b) for total in ("f16", "f32") for a in NARROW for b in NARROW)]:
        yield from ((total, left, right, n, "") for n in even)
    for left, right, n, saturate in itertools.product(("s8", "u8"), ("s8", "u8"), whole, ("", ".satfinite")):
        yield "s32", left, right, n, saturate
    yield from (("s32", "b1", "b1", n, "") for n in whole)


def packed(matrix, kind):
    """A matrix as rows of 32 bytes, the depth of each product."""
    if kind == "b1":
        return np.packbits(matrix.astype(np.uint8), axis=1, bitorder="little")
    return matrix.astype(FACTORS[kind][0]).view(np.uint8)


def in_shared_memory(rows, swizzle, room):
    """The image of rows of 32 bytes that begin lines of a swizzle's length, and the descriptor but for the address."""
    pitch = (16, 32, 64, 128)[swizzle]
    row, byte = np.meshgrid(np.arange(len(rows)), np.arange(32), indexing="ij")
    if swizzle == 0:
        # Core matrices of 8 rows of 16 bytes: next to each other along the depth, then along the rows.
        place, leading, stride, mode = row // 8 * 256 + byte // 16 * 128 + row % 8 * 16 + byte % 16, 128, 256, 0
    else:
        bits = [(4 + i, 7 + i) for i in range(swizzle)]
        place, leading, stride, mode = swizzled(row * pitch + byte, bits), 0, 8 * pitch, 4 - swizzle
    image = np.zeros(room, np.uint8)
    image[place] = rows
    return image, leading >> 4 << 16 | stride >> 4 << 32 | mode << 62


def product_kernel(total, left, right, n, saturate, in_registers):
    """One product: each factor is copied to shared memory or registers, and each thread stores its accumulators."""
    count = n // 4 if total == "f16" else n // 2
    type_of = "b32" if total != "f32" else "f32"
    sums = ", ".join(f"%s{i}" for i in range(count))
    depth = 256 // FACTORS[left][1]
    signs = "" if total == "s32" else ", 1, 1"
    transposes = "" if FACTORS[left][1] != 16 else ", 0" if in_registers else ", 0, 0"
    operation = f"wgmma.mma_async.sync.aligned.m64n{n}k{depth}.{total}.{left}.{right}{'.and.popc' if left == 'b1' else saturate}"
    source = "{%a0, %a1, %a2, %a3}" if in_registers else "%left"
    zero = "0f00000000" if type_of == "f32" else "0"
    return f"""{HEAD}
.visible .entry k(.param .u64 images, .param .u64 out, .param .u64 leftmost, .param .u64 rightmost) {{
  .reg .b32 %i, %t, %a, %w, %a<4>; .reg .{type_of} %s<{count}>; .reg .b64 %in, %out, %d, %left, %right; .reg .pred %q;
  .shared .align 1024 .b8 buffer[40960];
  ld.param.u64 %in, [images]; ld.param.u64 %out, [out]; ld.param.u64 %left, [leftmost]; ld.param.u64 %right, [rightmost];
  mov.u32 %t, %tid.x; shl.b32 %i, %t, 2;
MORE:
  cvt.u64.u32 %d, %i; add.u64 %d, %in, %d; ld.global.u32 %w, [%d]; mov.u32 %a, buffer; add.u32 %a, %a, %i; st.shared.u32 [%a], %w;
  add.u32 %i, %i, 512; setp.lt.u32 %q, %i, 40960; @%q bra MORE;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %a, buffer; shr.u32 %a, %a, 4; cvt.u64.u32 %d, %a; add.u64 %left, %left, %d; add.u64 %right, %right, %d; add.u64 %right, %right, 512;
  mul.wide.u32 %d, %t, 16; add.u64 %d, %in, %d; ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%d+40960];
  {" ".join(f"mov.{type_of} %s{i}, {zero};" for i in range(count))}
  wgmma.fence.sync.aligned;
  {operation} {{{sums}}}, {source}, %right, 1{signs}{transposes};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mul.wide.u32 %d, %t, {4 * count}; add.u64 %out, %out, %d;
  {" ".join(f"st.global.{type_of} [%out+{4 * i}], %s{i};" for i in range(count))}
  ret;
}}"""


def matrix(random, kind, rows):
    """A matrix of small numbers, whose products and sums are exact everywhere."""
    low, high = {"b1": (0, 2), "u8": (0, 5)}.get(kind, (-3, 4))
    return random.integers(low, high, (rows, 256 // FACTORS[kind][1]))


def products(device):
    """Every shape of every pair of types, each with the next swizzle."""
    random, compared, swizzles = np.random.default_rng(2), 0, itertools.cycle(itertools.product(range(4), range(4)))
    thread, register = np.meshgrid(np.arange(128), np.arange(4), indexing="ij")
    a_row, a_byte = thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8, thread % 4 * 4 + register // 2 * 16
    for (total, left, right, n, saturate), in_registers in itertools.product(shapes(), (False, True)):
        a, b = matrix(random, left, 64), matrix(random, right, n)
        (first, second), (rows, columns) = next(swizzles), (packed(a, left), packed(b, right))
        images = [in_shared_memory(rows, first, 8192), in_shared_memory(columns, second, 32768)]
        fragments = rows[a_row[..., None], a_byte[..., None] + np.arange(4)]
        device.write(0, np.concatenate([images[0][0], images[1][0], fragments.reshape(-1)]))
        kernel = function(product_kernel(total, left, right, n, saturate, in_registers), "k")
        device.launch(kernel, 128, device.buffers[0], device.buffers[1], *(word(image[1]) for image in images))
        kind = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[total]
        found = device.read(1, 64 * n, kind).reshape(128, -1)
        i, t = np.arange(n // 2), np.arange(128)[:, None]
        out = np.zeros((64, n), kind)
        out[t // 32 * 16 + t % 32 // 4 + i // 2 % 2 * 8, i // 4 * 8 + t % 4 * 2 + i % 2] = found
        what = f"m64n{n} {total} {left} {right} {saturate}, swizzles {first} and {second}, in registers: {in_registers}"
        assert np.array_equal(out, (a @ b.T).astype(kind)), what
        compared += 1
    print(f"{compared} products of warp groups are as NumPy says: every shape of every pair of types, the left factor in memory and in registers")


device = Device()
for name in sys.argv[1:] or ("copies", "products"):
    {"copies": copies, "products": products}[name](device)
