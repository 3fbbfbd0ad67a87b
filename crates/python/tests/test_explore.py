"""Exploration of schedules."""

import numpy as np
import pytest
import simtlab

LOST = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 sum) {
  .reg .b32 %v;
  .reg .b64 %sum;
  ld.param.u64 %sum, [sum];
  ld.relaxed.gpu.global.u32 %v, [%sum];
  add.u32 %v, %v, 1;
  st.relaxed.gpu.global.u32 [%sum], %v;
  ret;
}
"""


def test_a_lost_update_is_found_and_shown():
    total = np.zeros(1, np.uint32)
    found = simtlab.explore(LOST, "k", grid=3, block=1, args=[total], exhaustive=True, mechanisms="serial")
    assert found.complete
    assert [finding.kind for finding in found.findings] == ["order-dependent-result"]
    assert len(found.rows[0]["outcomes"]) == 3
    assert found.schedules[0].startswith("simtlab-schedule 1\n")
    assert "the results depend on the schedule" in found.text
    assert total[0] == 0


def test_an_atomic_sum_has_one_result():
    total = np.zeros(1, np.uint32)
    mended = LOST.replace("ld.relaxed.gpu.global.u32 %v, [%sum];", "red.global.add.u32 [%sum], 1;")
    mended = mended.replace("add.u32 %v, %v, 1;", "").replace("st.relaxed.gpu.global.u32 [%sum], %v;", "")
    found = simtlab.explore(mended, "k", grid=3, block=1, args=[total])
    assert found.findings == () and found.schedules == ()


def test_wrong_arguments_are_refused():
    total = np.zeros(1, np.uint32)
    with pytest.raises(simtlab.LaunchError, match="exhaustive=True"):
        simtlab.explore(LOST, "k", grid=1, block=1, args=[total], preemptions=1)
    with pytest.raises(simtlab.LaunchError, match="at least 1"):
        simtlab.explore(LOST, "k", grid=1, block=1, args=[total], schedules=0)
    with pytest.raises(simtlab.LaunchError, match="mechanism"):
        simtlab.explore(LOST, "k", grid=1, block=1, args=[total], mechanisms="none")
