"""Launches looked at closely, and launch files of every machine."""

import json
import pathlib

import numpy as np
import pytest

import simtlab
from test_compare import PARTED

KERNELS = pathlib.Path(__file__).resolve().parents[3] / "kernels"


def test_explained():
    made = simtlab.explain(PARTED, "parted", 1, 32, [np.zeros(32, np.uint32)])
    # 9 instructions before the branch, with it, and two after: whole; `mov; bra` for 24 lanes, `mov` for 8.
    slots = made.document["lane_slots"]
    assert slots["diverged"] == 8 + 8 + 24
    assert made.end == "done" and "lane slots" in str(made) and "<pre>" in made._repr_html_()
    branch = max(made.branches(), key=lambda branch: branch["divergent"])
    assert (branch["executed"], branch["divergent"]) == (1, 1)
    assert sum(line["diverged"] for line in made.lines()) == 40
    assert simtlab.explain(PARTED, "parted", 1, 32, [np.zeros(32, np.uint32)], warp_size=8).document["lane_slots"]["diverged"] == 0


def test_explained_up_to_a_fault():
    made = simtlab.explain(KERNELS / "saxpy/saxpy.ptx", "saxpy", 1, 64, [64, 2.0, np.zeros(32, np.float32), np.zeros(64, np.float32)])
    assert made.end == "out-of-bounds"


def test_mechanisms_that_differ():
    out = np.zeros(32, np.uint32)
    same = simtlab.diff(PARTED, "parted", 1, 32, [out], mechanisms=("ipdom", "predicated-stack"), warp_size=8)
    assert same.equal and "issue the same" in same.text
    made = simtlab.diff(KERNELS / "divergence/short_circuit", mechanisms=("ipdom", "tf-stack"))
    assert not made.equal and "ipdom" in made.text and made.document
    with pytest.raises(simtlab.LaunchError, match="two mechanisms are needed, not 1"):
        simtlab.diff(PARTED, "parted", 1, 32, [out], mechanisms="ipdom")


def test_traces(tmp_path):
    made = simtlab.trace(PARTED, "parted", 1, 32, [np.zeros(32, np.uint32)])
    assert made.complete and made.end == "done"
    made.save(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"] == made.events() != []
    assert not simtlab.trace(KERNELS / "collatz", events=10).complete


def test_graphs():
    assert "low" in simtlab.cfg(PARTED)
    assert simtlab.cfg(PARTED, "parted", "dot").startswith("digraph")
    with pytest.raises(simtlab.LaunchError, match="no kernel `party`"):
        simtlab.cfg(PARTED, "party")
    with pytest.raises(simtlab.LaunchError, match="'text' and 'dot'"):
        simtlab.cfg(PARTED, format="svg")


@pytest.mark.parametrize("machine, directory", [("ptx", "collatz"), ("pmask", "pmask/saxpy"), ("prf", "prf/saxpy"), ("linx", "linx/saxpy")])
def test_launch_files_of_each_machine(machine, directory):
    made = simtlab.run(KERNELS / directory)
    assert (made.machine, made.met, made.end, made.told) == (machine, True, "done", "")
    assert made.launches and made.launches[0]["inst_executed"] > 0
    assert all(isinstance(array, np.ndarray) for array in made.buffers.values()) and made.buffers


def test_values_of_a_launch_file():
    made = simtlab.run(KERNELS / "divergence/nested", warp_size=8)
    assert np.array_equal(made["out"], np.load(KERNELS / "divergence/nested/expected.npy"))
    assert made.launches[0].warp_size == 8
    with pytest.raises(simtlab.LaunchError, match="says arguments"):
        simtlab.run(KERNELS / "divergence/nested", args=[1])
    with pytest.raises(simtlab.LaunchError, match="no such file|cannot read"):
        simtlab.run(KERNELS / "nothing.toml")
    with pytest.raises(simtlab.LaunchError, match="has no checks"):
        simtlab.run(KERNELS / "pmask/saxpy", check="race")


def test_a_launch_file_that_hangs():
    path = KERNELS / "divergence/spin_lock/release_after.toml"
    made = simtlab.run(path, mechanism="ipdom")
    assert made.met and made.end == "repeats"
    with pytest.raises(simtlab.Hang) as raised:
        simtlab.run(path, mechanism="ipdom", limit=10)
    assert raised.value.kind == "limit"
