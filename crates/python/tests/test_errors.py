"""What goes wrong, and what is said of it."""

import pickle

import numpy as np
import pytest

import simtlab
from conftest import FOREVER, HEAD, INDEX, PARAMETERS


def refused(*args, **options):
    with pytest.raises(simtlab.LaunchError) as caught:
        simtlab.run(*args, **options)
    assert isinstance(caught.value, (simtlab.SimtlabError, ValueError))
    return str(caught.value)


def test_fault():
    with pytest.raises(simtlab.Fault) as caught:
        simtlab.run(INDEX, "index", 2, 32, [64, np.zeros(40, np.uint32)])
    fault = caught.value
    assert fault.kind == "out-of-bounds"
    assert (fault.block, fault.warp, fault.lanes) == ((1, 0, 0), 0, tuple(range(8, 32)))
    assert INDEX.splitlines()[fault.line - 1].strip().startswith("st.global")
    assert fault.source is None
    assert "out" in fault.message and "st.global.u32 [%a1], %r2;" in str(fault)
    again = pickle.loads(pickle.dumps(fault))
    assert (str(again), again.lanes, type(again)) == (str(fault), fault.lanes, simtlab.Fault)


def test_source_lines(kernels):
    x = np.zeros(4, np.float32)
    with pytest.raises(simtlab.Fault) as caught:
        simtlab.run(kernels / "saxpy/saxpy.ptx", "saxpy", 1, 32, [32, 1.0, x, x])
    file, line = caught.value.source
    assert file.endswith("saxpy.cu") and line == 7
    assert caught.value.inlined == ()


def test_inlined_calls():
    text = HEAD + """
.visible .entry k(.param .u64 a) {
    .reg .b64 %a;
    ld.param.u64 %a, [a];
    .loc 1 14 3
    .loc 2 120 5, function_name s, inlined_at 1 14 3
    st.global.u32 [%a+4], 1;
    ret;
}
.file 1 "kernel.cu"
.file 2 "intrinsics.hpp"
.section .debug_str { s: .b8 95,90,51,112,117,116,80,106,0 }
"""
    with pytest.raises(simtlab.Fault) as caught:
        simtlab.run(text, "k", 1, 1, [np.zeros(1, np.uint32)])
    assert caught.value.source == ("intrinsics.hpp", 120)
    assert caught.value.inlined == (("put(unsigned int*)", "kernel.cu", 14),)


def test_nothing_is_copied_back_after_a_fault():
    out = np.full(8, 5, np.uint32)
    with pytest.raises(simtlab.Fault):
        simtlab.run(INDEX, "index", 1, 32, [32, out])
    assert list(out) == [5] * 8


def test_hang_by_limit():
    with pytest.raises(simtlab.Hang) as caught:
        simtlab.run(FOREVER, "forever", 1, 1, [np.zeros(1, np.uint32)], limit=10_000)
    assert caught.value.kind == "limit" and isinstance(caught.value, simtlab.Stopped)


def test_hang_for_good(kernels):
    text = (kernels / "spinlock/spinlock.ptx").read_text()
    arrays = [np.zeros(1, np.uint32), np.zeros(160, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32)]
    simtlab.run(text, "lock_in_loop", 2, 80, arrays)
    assert arrays[2][0] == 160
    arrays = [np.zeros_like(a) for a in arrays]
    with pytest.raises(simtlab.Hang) as caught:
        simtlab.run(text, "lock_in_loop", 2, 80, arrays, mechanism="basic")
    assert caught.value.kind in ("repeats", "deadlock", "limit") and caught.value.source[0].endswith("spinlock.cu")


def test_texts_that_are_wrong():
    with pytest.raises(simtlab.CompileError) as caught:
        simtlab.run(INDEX.replace("setp.ge.u32", "setp.gee.u32"), "index", 1, 1, [1, np.zeros(1, np.uint32)])
    finding = caught.value.findings[0]
    assert finding.severity == "error" and finding.file == "<text>"
    assert "setp.gee" in INDEX.replace("ge.u32", "gee.u32").splitlines()[finding.line - 1]
    assert finding.column > 1 and "setp.gee" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).findings == caught.value.findings
    for text in ("", "\n", "nonsense\n", "\0\0\n", ".entry"):
        with pytest.raises(simtlab.SimtlabError):
            simtlab.Module(text)


def test_files_that_are_wrong(tmp_path):
    with pytest.raises(simtlab.CompileError, match="no such file"):
        simtlab.Module(tmp_path / "none.ptx")
    (tmp_path / "k.cubin").write_text("")
    with pytest.raises(simtlab.CompileError, match="is not a program"):
        simtlab.Module(tmp_path / "k.cubin")
    (tmp_path / "binary.ptx").write_bytes(b"\x7fELF\xff\xfe")
    with pytest.raises(simtlab.CompileError, match="not text"):
        simtlab.Module(tmp_path / "binary.ptx")
    with pytest.raises(simtlab.LaunchError, match="a path or PTX text"):
        simtlab.Module(7)


def test_unknown_kernel():
    assert "did you mean index?" in refused(INDEX, "indx", 1, 1, [1, 0])
    module = simtlab.Module(INDEX)
    with pytest.raises(simtlab.LaunchError, match="did you mean index"):
        module.launch("idex", 1, 1, [1, 0])


def test_counts():
    out = np.zeros(1, np.uint32)
    assert "takes 2 arguments, 1 given" in refused(INDEX, "index", 1, 1, [1])
    assert "takes 2 arguments, 3 given" in refused(INDEX, "index", 1, 1, [1, out, 2])
    assert "takes 2 arguments, 0 given" in refused(INDEX, "index", 1, 1)
    assert "no argument is given for n" in refused(INDEX, "index", 1, 1, {"out": out})
    assert "did you mean out?" in refused(INDEX, "index", 1, 1, {"ou": out, "n": 1})
    assert "a list of arguments" in refused(INDEX, "index", 1, 1, out)
    assert "a list of arguments" in refused(INDEX, "index", 1, 1, 5)


@pytest.mark.parametrize("index, value, says", [
    (0, 256, "256 does not fit .u8 a"),
    (1, 65536, "does not fit .s16 b"),
    (1, 40000, "40000 does not fit .s16 b"),
    (2, -1, "-1 does not fit .u32 c"),
    (2, 1.0, "a float is passed where the kernel takes .u32"),
    (2, np.uint64(1), "u64 has 8 bytes, the parameter 4"),
    (2, np.float32(1), "f32 is passed where the kernel takes .u32"),
    (2, np.zeros(1, np.uint32), "an array" ),
    (4, np.int32(1), "s32 is passed where the kernel takes .f32"),
    (4, np.float64(1), "f64 has 8 bytes, the parameter 4"),
    (5, np.float32(1), "f32 has 4 bytes, the parameter 8"),
    (6, 1, "pass bytes, 8 of them"),
    (6, b"1234", "4 bytes are passed, the parameter has 8"),
    (3, 1 << 64, "more than 64 bits"),
    (3, "7", "argument 3 is a str"),
    (3, None, "argument 3 is a NoneType"),
    (3, np.complex64(1), "complex64"),
    (3, [1, 2], "argument 3 is a list"),
])
def test_types(index, value, says):
    args = [1, 2, 3, 4, 5.0, 6.0, bytes(8), np.zeros(7, np.uint64)]
    args[index] = value
    text = refused(PARAMETERS, "parameters", 1, 1, args)
    if says == "an array":
        assert "address has 8 bytes" in text and "numpy.uint32" in text
    else:
        assert says in text


def test_a_way_out_in_words_of_python():
    args = [1, 2, np.float32(3), 4, 5.0, 6.0, bytes(8), np.zeros(7, np.uint64)]
    text = refused(PARAMETERS, "parameters", 1, 1, args)
    assert "pass numpy.uint32(...)" in text and "^" in text
    args[2] = -1
    assert "pass numpy.int32(-1) if the kernel means a signed number" in refused(PARAMETERS, "parameters", 1, 1, args)


def test_arrays_that_cannot_be_passed():
    wide = np.zeros((4, 4), np.uint32)
    assert "ascontiguousarray" in refused(INDEX, "index", 1, 1, [1, wide[:, ::2]])
    assert "ascontiguousarray" in refused(INDEX, "index", 1, 1, [1, np.zeros(8, np.uint32)[::-1]])
    assert "big-endian" in refused(INDEX, "index", 1, 1, [1, np.zeros(4, ">u4")])
    assert "big-endian" in refused(INDEX, "index", 1, 1, [1, np.zeros(4, [("a", "<u4"), ("b", ">f8")])])
    assert "Python objects" in refused(INDEX, "index", 1, 1, [1, np.zeros(4, object)])


def test_arrays_that_overlap(kernels):
    x = np.zeros(8, np.float32)
    text = refused(kernels / "saxpy/saxpy.ptx", "saxpy", 1, 4, [4, 1.0, x[:4], x[2:6]])
    assert "overlaps" in text


@pytest.mark.parametrize("options, says", [
    ({"grid": 0}, "grid takes one to three"),
    ({"grid": (1, 2, 3, 4)}, "grid takes one to three"),
    ({"block": 1.5}, "block takes one to three"),
    ({"block": 2048}, "2048"),
    ({"grid": 1 << 40}, "grid"),
    ({"shared": -1}, "shared takes"),
    ({"shared": 1 << 30}, "shared"),
    ({"warp_size": 0}, "warp_size takes"),
    ({"warp_size": True}, "warp_size takes"),
    ({"limit": 0}, "limit takes"),
    ({"mechanism": "ipdon"}, "did you mean ipdom?"),
    ({"mechanism": "all"}, "one mechanism"),
    ({"engine": "warp"}, "engines are"),
])
def test_sizes_and_options(options, says):
    options = {"grid": 1, "block": 1, "args": [1, np.zeros(1, np.uint32)], **options}
    assert says in refused(INDEX, "index", **options)
