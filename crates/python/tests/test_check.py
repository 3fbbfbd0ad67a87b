"""Checks: what they find is in the result, and nothing changes without them."""

import pathlib

import numpy as np
import pytest
import simtlab

CASES = pathlib.Path(__file__).resolve().parents[2] / "filetests" / "tests" / "checks"


def run(name, **options):
    out = np.zeros(64, np.uint32)
    return simtlab.run(CASES / name, "k", 1, 64, [out], **options)


def test_a_race_is_found_with_its_lines_and_a_cure():
    (found,) = run("race-in-block.ptx", check="all").findings
    assert (found.kind, found.line, found.count) == ("race-in-block", 18, 64)
    assert found.cure == "add `__syncthreads()` between line 18 and line 21"
    assert found.report["accesses"][1]["place"]["line"] == 21


def test_some_checks_and_none():
    assert run("race-in-block.ptx", check=["init", "sync"]).findings[0].kind == "uninitialised-shared"
    assert run("race-in-block.ptx").findings == ()
    assert run("race-in-block-mended.ptx", check="all").findings == ()


def test_the_exact_engine_runs_checked_launches_that_are_suspicious():
    assert "fast" in run("race-in-block-mended.ptx", check="race").engine
    assert "exact" in run("race-in-block.ptx", check="race").engine


def test_an_unknown_check_is_refused_with_the_nearest_name():
    with pytest.raises(simtlab.LaunchError, match="did you mean `race`"):
        run("race-in-block.ptx", check="rase")
