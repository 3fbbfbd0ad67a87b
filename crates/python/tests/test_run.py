"""Launches against NumPy."""

import array
import ctypes
import sys
import warnings

import numpy as np
import pytest

import simtlab
from conftest import COUNT, HEAD, INDEX, PARAMETERS


def saxpy(kernels, n=1000, **options):
    x = np.arange(n, dtype=np.float32)
    y = np.linspace(-1, 1, n, dtype=np.float32)
    expected = np.float32(2) * x + y
    args = [np.int32(n), np.float32(2), x, y]
    result = simtlab.run(str(kernels / "saxpy/saxpy.ptx"), "saxpy", grid=4, block=256, args=args, **options)
    assert np.array_equal(x, np.arange(n, dtype=np.float32))
    # x and 2x are exact here, so that fusing the addition changes nothing.
    assert np.array_equal(y, expected)
    return result


def test_saxpy(kernels):
    result = saxpy(kernels)
    assert result.engine.startswith("fast")
    assert result.seconds > 0
    assert result.output == ""


@pytest.mark.parametrize("options", [
    {"engine": "exact"}, {"mechanism": "min-pc"}, {"mechanism": "serial", "warp_size": 8}, {"stats": False}, {"warp_size": 64},
])
def test_options_change_no_result(kernels, options):
    result = saxpy(kernels, **options)
    assert (result.stats is None) == (options.get("stats") is False)
    if options != {"stats": False}:
        assert result.engine.startswith("exact")


def test_path_text_and_bytes(kernels):
    path = kernels / "saxpy/saxpy.ptx"
    for program in (path, path.read_text(), path.read_bytes()):
        x, y = np.ones(8, np.float32), np.ones(8, np.float32)
        simtlab.run(program, "saxpy", 1, 8, [8, 3, x, y])
        assert np.array_equal(y, np.full(8, 4, np.float32))


def test_extents():
    for grid, block in [(2, 8), ((2,), [8, 1]), ((2, 1, 1), np.int64(8))]:
        out = np.zeros(16, np.uint32)
        simtlab.run(INDEX, "index", grid, block, [16, out])
        assert np.array_equal(out, np.arange(16))


def test_parameters_by_type():
    out = np.zeros(7, np.uint64)
    structure = np.array([(1, 0xDEADBEEF)], dtype=[("x", "<u4"), ("y", "<u4")])
    values = [255, -2, 0xFFFFFFFF, -5, 1.5, -0.1]
    numpy = [np.uint8(255), np.int16(-2), np.uint32(0xFFFFFFFF), np.int64(-5), np.float32(1.5), np.float64(-0.1)]
    structures = [structure.tobytes(), structure[0], (ctypes.c_uint32 * 2)(1, 0xDEADBEEF)]
    for numbers, last in [(values, structures[0]), (numpy, structures[1]), (values, memoryview(structures[2]))]:
        out[:] = 0
        simtlab.run(PARAMETERS, "parameters", 1, 1, [*numbers, last, out])
        assert list(out[:4]) == [255, 2**64 - 2, 0xFFFFFFFF, 2**64 - 5]
        assert list(out[4:6].view(np.float64)) == [1.5, -0.1]
        assert out[6] == 0xDEADBEEF


def test_arguments_by_name():
    out = np.zeros(4, np.uint32)
    simtlab.run(INDEX, "index", 1, 32, {"out": out, "n": 3})
    assert list(out) == [0, 1, 2, 0]


def test_shapes_and_orders():
    for out in (np.zeros((4, 8), np.uint32), np.zeros((8, 4), np.uint32).T, np.zeros((2, 2, 8), np.int32)):
        simtlab.run(INDEX, "index", 1, 32, [32, out])
        memory = out if out.flags.c_contiguous else out.T
        assert np.array_equal(memory.reshape(-1), np.arange(32))
    whole = np.zeros(12, np.uint32)
    simtlab.run(INDEX, "index", 1, 32, [4, whole[4:8]])
    assert list(whole) == [0] * 4 + [0, 1, 2, 3] + [0] * 4
    point = np.array(7, np.uint32)
    simtlab.run(INDEX, "index", 1, 32, [1, point])
    assert point == 0
    simtlab.run(INDEX, "index", 1, 32, [0, np.zeros(0, np.uint32)])


def test_read_only_arrays_that_are_written_are_an_error(kernels):
    out = np.full(4, 9, np.uint32)
    out.flags.writeable = False
    with pytest.raises(simtlab.LaunchError, match="argument 1 is a read-only array.*setflags"):
        simtlab.run(INDEX, "index", 1, 4, [4, out])
    assert list(out) == [9] * 4
    # Reading them is not, nor is writing through a view that is writable.
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    x.flags.writeable = False
    simtlab.run(kernels / "saxpy/saxpy.ptx", "saxpy", 1, 8, [8, 1.0, x, y])
    assert np.array_equal(y, np.arange(8))
    view = y.view()
    view.flags.writeable = False
    simtlab.run(kernels / "saxpy/saxpy.ptx", "saxpy", 1, 8, [8, 1.0, view, y])
    assert np.array_equal(y, 2 * np.arange(8))


def test_one_array_twice_is_one_memory(kernels):
    x = np.arange(8, dtype=np.float32)
    simtlab.run(kernels / "saxpy/saxpy.ptx", "saxpy", 1, 8, [8, 1.0, x, x])
    assert np.array_equal(x, 2 * np.arange(8))


def test_every_run_has_memory_of_its_own():
    for _ in range(2):
        out = np.zeros(1, np.uint32)
        simtlab.run(COUNT, "count", 1, 1, [out])
        assert out[0] == 41


def test_shared_memory(kernels):
    data = np.load(kernels / "dynamic_shared/input.npy")
    out = np.zeros(1100, np.int32)
    simtlab.run(kernels / "dynamic_shared/dynamic_shared.ptx", "median", 9, 128, [data, 1100, 2, out], shared=528)
    assert np.array_equal(out, np.load(kernels / "dynamic_shared/expected_narrow.npy"))


def test_output_of_kernels(kernels):
    sums = np.zeros(64, np.uint32)
    result = simtlab.run(kernels / "printf/printf.ptx", "perfect", 1, 32, [2, 32, sums])
    assert "perfect" in result.output or result.output, result.output


def test_statistics(kernels):
    stats = saxpy(kernels, n=1000).stats
    assert stats.kernel == "saxpy" and stats.warp_size == 32 and stats.mechanism == "ipdom"
    assert sum(stats.slots.values()) == stats.lane_slots == stats["lane_slots"]
    assert stats.slots["on"] + stats.slots["predicated_off"] == stats.thread_inst_executed
    assert stats.simd_efficiency == pytest.approx(100 * stats.thread_inst_executed / stats.lane_slots)
    # 1000 is not a multiple of 32: one of the 32 warps has eight lanes that go, 24 that leave.
    assert stats.branches == 32 and stats.divergent_branches == 1
    assert stats.branch_efficiency == pytest.approx(100 * 31 / 32)
    flat = stats.to_dict()
    assert flat["inst_executed"] == stats.inst_executed and flat["grid"] == (4, 1, 1)
    assert {metric.name for metric in simtlab.metrics()} == set(stats.metrics)


def test_lines(kernels):
    stats = saxpy(kernels).stats
    lines = stats.lines()
    assert lines and all(line["file"].endswith("saxpy.cu") for line in lines)
    assert sum(line["issues"] for line in lines) == stats.inst_executed
    assert sum(line["lane_slots"] for line in lines) == stats.lane_slots
    text = simtlab.run(INDEX, "index", 1, 32, [32, np.zeros(32, np.uint32)]).stats
    assert [line["file"] for line in text.lines()] == [""] * len(text.lines())
    accesses = stats.accesses()
    assert sum(site["global_requests"] for site in accesses) == stats["global_requests"] == 96


def test_engines_count_the_same(kernels):
    fast, exact = saxpy(kernels).stats, saxpy(kernels, engine="exact").stats
    assert fast.engine == "fast" and exact.engine == "exact"
    assert fast.metrics == exact.metrics and fast.lines() == exact.lines()


def test_mechanisms():
    all_of_them = simtlab.mechanisms()
    assert all_of_them[0].name == "ipdom"
    assert {"serial", "min-pc", "convergence-barriers"} <= {m.name for m in all_of_them}
    assert all(m.about and m.source for m in all_of_them)


def test_jobs_change_time_alone():
    outs = []
    for jobs in (1, 2, 256, None):
        out = np.zeros(4096, np.uint32)
        result = simtlab.run(INDEX, "index", 64, 64, [4096, out], jobs=jobs)
        outs.append((out.tobytes(), result.stats.to_dict()))
    assert all(out == outs[0] for out in outs)
    for wrong in (0, -1, 257, 1.5, True, "2"):
        with pytest.raises(simtlab.LaunchError, match="jobs"):
            simtlab.run(INDEX, "index", 1, 1, [1, np.zeros(1, np.uint32)], jobs=wrong)


class Shares:
    """Another library's array: `__array__` shares, or copies."""

    def __init__(self, copies=False):
        self.memory, self.copies = np.zeros(64, np.uint32), copies

    def __array__(self, dtype=None, copy=None):
        return self.memory.copy() if self.copies else self.memory


def test_other_arrays_share_their_memory():
    for other in (array.array("I", [0] * 64), (ctypes.c_uint32 * 64)(), Shares()):
        simtlab.run(INDEX, "index", 1, 64, [ctypes.c_uint32(64), other])
        assert np.array_equal(np.asarray(other), np.arange(64)), type(other)
    for other, reason in ((Shares(copies=True), "copies"), ([0] * 64, "list"), (object(), "object"), ("text", "str")):
        with pytest.raises(simtlab.LaunchError, match=reason):
            simtlab.run(INDEX, "index", 1, 64, [64, other])


def test_structures_of_ctypes():
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_uint32), ("b", ctypes.c_uint32)]

    out = np.zeros(7, np.uint64)
    args = [np.uint8(1), np.int16(-2), ctypes.c_uint32(3), 4, ctypes.c_float(5), 6.0, Pair(7, 8), out]
    simtlab.run(PARAMETERS, "parameters", 1, 1, args)
    assert (out[2], out[6]) == (3, 8)


def test_buffers_of_device_arrays():
    there = simtlab.array(np.arange(6, dtype=np.uint16).reshape(2, 3))
    assert there.tobytes() == np.arange(6, dtype=np.uint16).tobytes()
    if sys.version_info >= (3, 12):
        view = memoryview(there)
        assert (view.shape, view.format, view.readonly, view.tolist()) == ((2, 3), "H", True, [[0, 1, 2], [3, 4, 5]])


def accesses(*lines):
    """A kernel that takes two pointers, with these instructions behind the loads of both."""
    body = "\n    ".join(lines)
    return HEAD + f"""
.visible .entry k(.param .u64 a, .param .u64 b) {{
    .reg .pred %p; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b64 %a<6>;
    ld.param.u64 %a1, [a];
    ld.param.u64 %a2, [b];
    cvta.to.global.u64 %a3, %a1;
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a4, %r0, 4;
    add.u64 %a5, %a3, %a4;
    {body}
    ret;
}}
"""


FLOATS = accesses("ld.global.f32 %f1, [%a5];", "st.global.f32 [%a5+4], %f1;")
# As newer compilers write it: registers and accesses of bits, computations of floats.
BITS = accesses("ld.global.b32 %r1, [%a5];", "add.f32 %r2, %r1, %r1;", "st.global.b32 [%a5], %r2;")


@pytest.mark.parametrize("program", [FLOATS, BITS])
def test_float64_for_float32_gives_a_warning(program):
    for args in ([np.zeros(4), np.zeros(4)], {"b": np.zeros(4), "a": np.zeros(4)}):
        with pytest.warns(RuntimeWarning, match="float64 array is passed for a of k") as caught:
            simtlab.run(program, "k", 1, 1, args)
        # Nothing is accessed through the other, and the warning points at the call.
        assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize("lines", [
    # Doubles, words of doubles, bits of which nobody says what they are, doubles at one place of two.
    ["ld.global.f64 %d1, [%a5];"],
    ["ld.global.u32 %r1, [%a5];", "add.u32 %r1, %r1, 1;", "st.global.u32 [%a5], %r1;"],
    ["ld.global.b32 %r1, [%a5];"],
    ["ld.global.f32 %f1, [%a5];", "st.global.f64 [%a3], %d1;"],
    # A copy of the pointer goes where it is not followed.
    ["ld.global.f32 %f1, [%a5];", "st.global.u64 [%a2], %a1;"],
    ["ld.global.f32 %f1, [%a5];", "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;", "cvt.u32.u64 %r2, %a1;",
     "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;"],
])
def test_other_accesses_of_float64_give_no_warning(lines):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simtlab.run(accesses(*lines), "k", 1, 1, [np.zeros(4), np.zeros(4)])


def test_float32_and_comparisons_of_pointers_give_no_warning():
    # Which of the two is read depends on the other pointer, which is not read itself.
    chosen = accesses("setp.eq.u64 %p, %a2, 0;", "selp.b64 %a4, %a1, %a3, %p;", "ld.global.f32 %f1, [%a4];")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simtlab.run(chosen, "k", 1, 1, [np.zeros(4, np.float32), np.zeros(4)])


def test_limits_of_another_device():
    shared = HEAD + ".visible .entry k() { .shared .b8 s[60000]; .reg .b32 %r; mov.u32 %r, s; st.shared.u32 [%r], 1; ret; }\n"
    with pytest.raises(simtlab.CompileError):
        simtlab.run(shared, "k", 1, 1)
    simtlab.run(shared, "k", 1, 1, limits_of="none")
    dynamic = HEAD + """.extern .shared .align 4 .b8 s[];
.visible .entry k() { .reg .b32 %r; mov.u32 %r, s; st.shared.u32 [%r+100000], 1; ret; }
"""
    module = simtlab.Module(dynamic, limits_of="8.0")
    module.launch("k", 1, 1, shared=160 << 10)
    with pytest.raises(simtlab.LaunchError, match="shared"):
        simtlab.Module(dynamic, limits_of="7.5").launch("k", 1, 1, shared=160 << 10)
    simtlab.compare(shared, "k", 1, 1, mechanisms="ipdom", limits_of="none", report=False)
    for wrong in ("soon", "", 9.0):
        with pytest.raises(simtlab.LaunchError, match="limits.of|target or none"):
            simtlab.run(shared, "k", 1, 1, limits_of=wrong)


def test_sums_of_matrix_products():
    program = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .b32 %t, %a, %b;
  .reg .f32 %c, %d<4>;
  .reg .b64 %out;
  mov.b32 %a, 0x0e000e00;
  mov.b32 %b, 0x0c000c00;
  mov.f32 %c, 0f3f800000;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%a, %a}, {%b}, {%c, %c, %c, %c};
  mov.u32 %t, %tid.x;
  ld.param.u64 %out, [out];
  mad.wide.u32 %out, %t, 4, %out;
  st.global.f32 [%out], %d0;
  ret;
}
"""
    # 1 plus eight products of 1.5 * 2^-24.
    module = simtlab.Module(program)
    for rule, places in (("device", 4), ("exact", 6), ("f32", 8)):
        out = np.zeros(32, np.float32)
        simtlab.run(program, "k", 1, 32, [out], matrix_sums=rule)
        assert (out == np.float32(1 + places * 2.0**-23)).all(), rule
        simtlab.run(program, "k", 1, 32, [out], matrix_sums=rule, engine="exact")
        assert (out == np.float32(1 + places * 2.0**-23)).all(), rule
        out = np.zeros(32, np.float32)
        module.k[1, 32](out, matrix_sums=rule)
        assert (out == np.float32(1 + places * 2.0**-23)).all(), rule
    with pytest.raises(simtlab.LaunchError, match="'device', 'exact' or 'f32'"):
        simtlab.run(program, "k", 1, 32, [np.zeros(32, np.float32)], matrix_sums="f64")
