"""Comparisons."""

import json

import numpy as np
import pytest

import simtlab
from conftest import HEAD, INDEX

# Lanes below 8 go one way, the others another: the least divergence.
PARTED = HEAD + """
.visible .entry parted(.param .u64 out) {
    .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %a<3>;
    ld.param.u64 %a1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %a2, %r1, 4;
    add.u64 %a1, %a1, %a2;
    setp.lt.u32 %p, %r1, 8;
    @%p bra low;
    mov.u32 %r2, 1;
    bra join;
low:
    mov.u32 %r2, 2;
join:
    st.global.u32 [%a1], %r2;
    ret;
}
"""


def test_program():
    out = np.zeros(32, np.uint32)
    made = simtlab.compare(PARTED, "parted", 1, 32, [out], mechanisms=["serial", "ipdom"], warp_sizes=[8, 32])
    assert [(row["mechanism"], row["warp_size"]) for row in made.rows] == [
        ("serial", 8), ("serial", 32), ("ipdom", 8), ("ipdom", 32),
    ]
    assert made.sound and all(row["verdict"] == "ok" and row["equal_to_serial"] for row in made.rows)
    # At W = 8 a group is all low or all high.
    assert made.row("ipdom", 8)["divergent_branches"] == 0
    assert made.row("ipdom", 32)["divergent_branches"] == 1
    assert made.row("serial")["inst_executed"] > made.row("ipdom")["inst_executed"]
    assert list(out) == [0] * 32
    assert "ipdom" in made.text and str(made) == made.text
    with pytest.raises(KeyError):
        made.row("min-pc")


def test_launch_file(kernels):
    by_directory = simtlab.compare(kernels / "saxpy", mechanisms="ipdom,min-pc", report=False)
    by_file = simtlab.compare(str(kernels / "saxpy/launch.toml"), mechanisms=["ipdom", "min-pc"], report=False)
    assert by_directory.rows == by_file.rows and len(by_file.rows) == 2
    assert by_file.document["schema"] == "simtlab-compare"
    with pytest.raises(simtlab.LaunchError, match="report=False"):
        by_file.html("nowhere.html")


def test_all_mechanisms():
    made = simtlab.compare(PARTED, "parted", 1, 32, [np.zeros(32, np.uint32)], report=False)
    # `uniform` cannot take it: it has no row.
    assert [row["mechanism"] for row in made.rows] == [m.name for m in simtlab.mechanisms() if m.name != "uniform"]


def test_report(tmp_path):
    made = simtlab.compare(INDEX, "index", 1, 32, [32, np.zeros(32, np.uint32)], mechanisms="ipdom")
    path = tmp_path / "report.html"
    made.html(path)
    text = path.read_text(encoding="utf-8")
    assert text.lower().startswith("<!doctype html>") and "ipdom" in text


def test_records():
    made = simtlab.compare(PARTED, "parted", 1, 32, [np.zeros(32, np.uint32)], mechanisms="ipdom", report=False)
    (record,) = made.to_records()
    assert record["lane_slots.diverged"] == made.rows[0]["lane_slots"]["diverged"] > 0
    assert not any(isinstance(value, (dict, list)) for value in record.values())
    json.dumps(record)


def test_arrays_of_any_type():
    for out in (np.zeros((2, 16), np.float32), np.zeros(16, [("a", "<u4"), ("b", "<u4")]), np.zeros(32, np.int32)):
        made = simtlab.compare(PARTED, "parted", 1, 32, [out], mechanisms="min-pc", report=False)
        assert made.rows[0]["verdict"] == "ok"


@pytest.mark.parametrize("options, says", [
    ({"mechanisms": "ipdon"}, "did you mean ipdom"),
    ({"mechanisms": []}, "mechanisms is empty"),
    ({"warp_sizes": 0}, "not a warp size"),
    ({"order": "sideways"}, "there is no order"),
    ({"kernel": "partd"}, "did you mean parted"),
    ({"args": []}, "takes 1 argument, 0 given"),
    ({"args": [1.5]}, "a float is passed"),
    ({"grid": None}, "a grid and a block"),
])
def test_what_cannot_be_compared(options, says):
    options = {"kernel": "parted", "grid": 1, "block": 32, "args": [np.zeros(32, np.uint32)], **options}
    with pytest.raises(simtlab.LaunchError, match=says):
        simtlab.compare(PARTED, **options)


def test_launch_files_that_are_wrong(tmp_path):
    with pytest.raises(simtlab.LaunchError, match="no such file"):
        simtlab.compare(tmp_path / "none.toml")
    (tmp_path / "launch.toml").write_text("schema = 99\n")
    with pytest.raises(simtlab.LaunchError):
        simtlab.compare(tmp_path)
    with pytest.raises(simtlab.LaunchError, match="says grid"):
        simtlab.compare(tmp_path, grid=1)
