"""Kernels as callables, their parameters' names, and what results look like."""

import json
import os

import numpy as np
import pytest

import simtlab
from conftest import INDEX, KERNELS
from simtlab import _source


def test_kernels_are_callable(kernels):
    module = simtlab.Module(kernels / "saxpy/saxpy.ptx")
    x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
    first = module.saxpy[1, 128](100, 2.0, x, y)
    assert np.array_equal(y, 2 * x + 1) and first.stats.kernel == "saxpy"
    module["saxpy"](1, 128, [100, 1.0, x, y], stats=False)
    assert np.array_equal(y, 3 * x + 1)
    module.get_function("saxpy")[(1, 1, 1), 128, 0](100, 1.0, x, y, mechanism="min-pc")
    assert np.array_equal(y, 4 * x + 1)
    assert "saxpy" in module and list(module) == ["saxpy"] and len(module) == 1 and "saxpy" in dir(module)
    assert repr(module.saxpy) == "<kernel saxpy(u32 saxpy_param_0, f32 saxpy_param_1, u64 saxpy_param_2, u64 saxpy_param_3)>"
    with pytest.raises(AttributeError, match="saxpi"):
        module.saxpi
    with pytest.raises(KeyError):
        module["saxpi"]
    with pytest.raises(simtlab.LaunchError, match="it has saxpy"):
        module.get_function("saxpi")
    with pytest.raises(simtlab.LaunchError, match="grid and a block"):
        module.saxpy[1]


def test_parameters_have_the_names_of_the_source(kernels):
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    named = {"n": 10, "a": 3.0, "x": x, "y": y}
    simtlab.run(kernels / "saxpy/saxpy.ptx", grid=1, block=32, args=named)
    assert np.array_equal(y, 3 * x)
    module = simtlab.Module(kernels / "saxpy/saxpy.ptx")
    module.saxpy[1, 32](n=10, a=1.0, x=x, y=y)
    assert np.array_equal(y, 4 * x)
    module.launch("saxpy", 1, 32, {"saxpy_param_0": 10, "a": 1.0, "x": x, "y": y})
    assert np.array_equal(y, 5 * x)


def test_programs_of_one_kernel_need_no_name(kernels):
    x, y = np.arange(40, dtype=np.float32), np.ones(40, np.float32)
    launch = {"grid": 2, "block": 32, "args": {"n": 40, "a": 2.0, "x": x, "y": y}}
    path = kernels / "saxpy/saxpy.ptx"
    compared = simtlab.compare(path, **launch, mechanisms=["ipdom", "min-pc"])
    assert [row["verdict"] for row in compared] == ["ok", "ok"]
    assert simtlab.explain(path, **launch).end == "done" and simtlab.trace(path, **launch).complete
    assert simtlab.diff(path, **launch, mechanisms=("ipdom", "ipdom")).equal
    assert simtlab.explore(path, **launch, schedules=2).rows
    with pytest.raises(simtlab.LaunchError, match="2 kernels"):
        simtlab.explain(INDEX + INDEX[INDEX.index(".visible") :].replace("index(", "other("), grid=1, block=1)
    with pytest.raises(simtlab.LaunchError, match="a grid and a block"):
        simtlab.explain(path)
    with pytest.raises(KeyError, match="no run of 'ipdm': there are ipdom / 32, min-pc / 32"):
        compared["ipdm"]


def test_programs_are_checked_without_a_launch(kernels):
    assert simtlab.check(kernels / "saxpy/saxpy.ptx") == ()
    with pytest.raises(simtlab.CompileError) as caught:
        simtlab.check(INDEX.replace("mul.wide", "mul.wider").replace("st.global.u32", "st.globe.u32"))
    assert {finding.line for finding in caught.value.findings} == {15, 17}


def test_kernels_and_launch_files_show_themselves(kernels):
    kernel = simtlab.Module(kernels / "saxpy/saxpy.ptx").saxpy
    assert "f32 saxpy_param_1" in kernel._repr_html_()
    page = simtlab.run(kernels / "pmask/saxpy")._repr_html_()
    assert "machine pmask" in page and 'title="on: ' in page and page.count("<div") == page.count("</div")


def test_names_in_source():
    text = """
    // __global__ void not_this(int a) {}
    template <typename T> __global__ void __launch_bounds__(256, 2) first(const T *__restrict__ in, T (*out), unsigned n = 3) { }
    extern "C" __global__ void second(float4 a[], std::pair<int, int> b) { }
    __global__ void twice(int a) { }
    __global__ void twice(float b) { }
    __global__ void none() { }
    __global__ void declared(int a);
    """
    found = _source.names(text)
    assert found["second"] == ("a", "b") and found["none"] == () and "twice" not in found and "not_this" not in found
    assert "declared" not in found
    assert _source.plain("_Z5saxpyifPKfPf") == "saxpy" and _source.plain("saxpy") == "saxpy"


def test_every_bundled_kernel_has_the_names_of_its_source():
    """The numbers of parameters are the compiler's."""
    compared = 0
    for path in sorted(KERNELS.glob("**/*.ptx")):
        names = _source.beside(path)
        for name, kernel in simtlab.Module(path).kernels.items():
            given = names.get(_source.plain(name))
            if given is not None:
                assert len(given) == len(kernel.parameters), (path, name, given)
                compared += 1
    assert compared > 20


def test_programs_of_one_kernel_need_no_name():
    out = np.zeros(4, np.uint32)
    simtlab.run(INDEX, grid=1, block=4, args=[4, out])
    assert list(out) == [0, 1, 2, 3]
    with pytest.raises(simtlab.LaunchError, match="a grid and a block"):
        simtlab.run(INDEX, "index")
    two = INDEX + INDEX.split(".address_size 64\n")[1].replace("index", "other")
    with pytest.raises(simtlab.LaunchError, match="2 kernels.*index, other"):
        simtlab.run(two, grid=1, block=4, args=[4, out])


def test_missing_files_are_missing_files():
    with pytest.raises(FileNotFoundError) as caught:
        simtlab.Module("nowhere/kernel.ptx")
    assert isinstance(caught.value, simtlab.CompileError) and "no such file" in str(caught.value)


def test_cuda_text_says_how(monkeypatch, tmp_path):
    text = 'extern "C" __global__ void k(int *out) { out[threadIdx.x] = threadIdx.x; }\n'
    monkeypatch.setattr("simtlab._nvrtc._library", lambda: None)
    with pytest.raises(simtlab.CompileError, match="CUDA C.*\n.*pip install nvidia-cuda-nvrtc"):
        simtlab.Module(text)
    (tmp_path / "k.cu").write_text(text)
    with pytest.raises(simtlab.CompileError, match="CUDA C"):
        simtlab.Module(tmp_path / "k.cu")


def test_results_show_themselves(kernels):
    x = np.ones(1000, np.float32)
    result = simtlab.run(kernels / "saxpy/saxpy.ptx", "saxpy", 4, 256, [1000, 2.0, x, x])
    assert len(repr(result)) < 250 and "640 instructions" in repr(result)
    assert len(repr(result.stats)) < 200
    text = str(result.stats)
    assert "where the lanes went" in text and "diverged" in text and "█" in text
    html = result._repr_html_()
    assert "saxpy" in html and html.count("<div") == html.count("</div") and "diverged: " in html
    assert len(result.stats) == len(list(result.stats)) and "global_sectors" in list(result.stats)


def test_comparisons_are_sequences(kernels):
    compared = simtlab.compare(kernels / "early_exit", mechanisms=["serial", "ipdom"], report=False)
    assert len(compared) == 2 and [row["mechanism"] for row in compared] == ["serial", "ipdom"]
    assert compared[1] is compared["ipdom"] is compared["ipdom", compared[1]["warp_size"]]
    assert len(repr(compared)) < 200 and "ipdom" in repr(compared)
    html = compared._repr_html_()
    assert "ipdom" in html and html.count("<tr") == html.count("</tr") == 3
    with pytest.raises(simtlab.SimtlabError, match="pandas.*polars"):
        compared.to_dataframe("excel")
    pandas = pytest.importorskip("pandas")
    table = compared.to_dataframe()
    assert isinstance(table, pandas.DataFrame) and list(table["mechanism"]) == ["serial", "ipdom"]


def test_elements_of_device_arrays():
    a = simtlab.zeros((2, 3), np.int32)
    assert simtlab.empty(4).nbytes == 16 and not simtlab.empty(4).numpy().any()
    a[1, -1] = 7
    a[0] = 2
    assert a[1, 2] == 7 and list(a.get()[0]) == [2, 2, 2] and a.copy_to_host()[1, 2] == 7
    assert [list(row) for row in a] == [[2, 2, 2], [0, 0, 7]]
    with pytest.raises(IndexError):
        a[2, 0] = 1
    with pytest.raises(IndexError):
        a[0, 3]


def test_launches_are_captured(tmp_path, monkeypatch):
    from simtlab_clients import journal

    log = tmp_path / "journal"
    monkeypatch.setenv(journal.PATH, str(log))
    event = {"event": "launch", "process": os.getpid(), "kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "seconds": 0.5}
    totals = {"issues": 10, "lane_instructions": 160, "lane_slots": 320, "divergent_branches": 1}

    def write(*events):
        with open(log, "a") as file:
            file.writelines(json.dumps(e) + "\n" for e in events)

    found = {"kind": "race-in-block", "message": "m", "severity": "error"}
    write({**event, "totals": totals}, {"event": "finding", "process": os.getpid(), "number": 0, "finding": found})
    with simtlab.capture() as captured:
        stop = {"event": "stop", "process": os.getpid(), "kernel": "k", "kind": "fault", "code": "out-of-bounds", "text": "beyond"}
        again = {"event": "found-again", "process": os.getpid(), "number": 0, "count": 2}
        write({**event, "totals": totals}, {**event, "process": 1, "totals": totals}, stop, again)
    assert len(captured.launches) == 1 and captured.efficiency == 0.5 and captured.totals["issues"] == 10
    assert [s.code for s in captured.stops] == ["out-of-bounds"] and captured.races == [found]
    monkeypatch.delenv(journal.PATH)
    with pytest.raises(RuntimeError, match="simtlab.enable"):
        simtlab.capture()
