"""The debugger as an object."""

import pathlib
import threading

import numpy as np
import pytest
import simtlab

PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
  .reg .pred %p;
  .reg .b32 %i, %sum, %t;
  .reg .b64 %out;
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %sum, 0;
  mov.u32 %i, 0;
LOOP:
  setp.ge.u32 %p, %i, %t;
  @%p bra DONE;
  add.u32 %i, %i, 1;
  add.u32 %sum, %sum, %i;
  bra LOOP;
DONE:
  st.global.u32 [%out], %sum;
  ret;
}
"""


@pytest.fixture
def session():
    out = np.zeros(4, np.uint32)
    with simtlab.debug(PTX, "k", 1, 4, [out]) as session:
        yield session


def test_breaks_steps_and_values_forwards_and_backwards(session):
    assert (session.kernel, session.position, session.stop.reason) == ("k", 0, "start")
    number = session.breakpoint("DONE")
    stop = session.run()
    assert (stop.reason, stop.number, stop.instruction) == ("breakpoint", number, "st.global.u32 [%out], %sum;")
    assert session.lanes("%sum") == {0: 0, 1: 1, 2: 3, 3: 6}
    assert session.value("%sum * 2 + lane") == 0 and session.focus(lane=3).lane == 3
    assert session.value("%sum + 0.5") == 6.5
    assert session.registers()["%i"] == 3
    position = session.position
    assert session.step(5).end == "done" or session.position > position
    assert session.rewind(position).position == position
    session.step(3, back=True)
    session.step(3)
    assert session.lanes("%sum") == {0: 0, 1: 1, 2: 3, 3: 6}
    assert session.who("%sum", depth=1)[0].startswith("%sum: written at issue ")
    address = session.value("%out")
    session.delete(number)
    assert session.run().end == "done"
    session.step(1, back=True)
    assert session.memory(address, 4) == (6).to_bytes(4, "little")
    assert session.run(back=True).reason == "start"


def test_callbacks_are_called_at_each_stop(session):
    seen = []
    session.breakpoint(18, "lane == 3", lambda session: seen.append(session.lanes("%i")[3]))
    assert session.run().end == "done"
    assert seen == [1, 2, 3]
    session.detach()
    assert session.finished


def test_changes_begin_a_branch(session):
    session.breakpoint("LOOP")
    session.run()
    session.set("%t@3", 1)
    session.delete()
    session.breakpoint("DONE")
    session.run()
    assert session.lanes("%sum")[3] == 1
    assert "*1 from branch 0" in session.command("info branches")


def test_errors_and_ends(session):
    for wrong in (lambda: session.value("%nothing"), lambda: session.breakpoint(99), lambda: session.memory(1, 4), lambda: session.command("fly")):
        with pytest.raises(simtlab.DebugError):
            wrong()
    with pytest.raises(simtlab.DebugError, match="a step is one of"):
        session.step(what="day")
    session.close()
    with pytest.raises(simtlab.DebugError, match="have ended"):
        session.command("where")
    with pytest.raises(simtlab.LaunchError):
        simtlab.debug(PTX)
    before = threading.active_count()
    del session
    assert threading.active_count() == before


def test_the_example_of_the_documentation(capsys, monkeypatch):
    docs = pathlib.Path(__file__).parents[3] / "docs" / "debugger.md"
    if not docs.exists():
        pytest.skip("the package stands alone")
    code = docs.read_text().split("## In Python", 1)[1].split("```python\n", 1)[1].split("```", 1)[0]
    monkeypatch.chdir(docs.parents[1])
    exec(compile(code, str(docs), "exec"), {})
    said = capsys.readouterr().out.splitlines()
    # Two lines for each of many splits: positions grow.
    splits = [int(line.split()[0]) for line in said if "lanes part" in line]
    assert len(splits) > 10 and splits == sorted(splits)
    assert "{" in said[-1] and "%" in said[-1]


def test_variables_of_the_source():
    source = pathlib.Path(__file__).parents[3] / "crates" / "filetests" / "tests" / "debug" / "locals.ptx"
    if not source.exists():
        pytest.skip("the package stands alone")
    with simtlab.debug(source.read_text(), "k", 1, 32, [np.zeros(32, np.float32), 20]) as session:
        session.breakpoint("k.cu:11", "i == 3 && j == 2")
        session.run()
        variables = session.variables()
        assert (variables["i"], variables["j"], variables["step"]) == (3, 2, 3.5)
        assert variables["p"] == "{a = 3, b = 1.5}"
        assert session.value("p.b + step") == 5.0
