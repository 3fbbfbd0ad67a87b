"""Sessions: an interpreter in Python, whose divergence a mechanism of the package manages."""

import pytest
import simtlab

# while (n--) v = v & 1 ? 3 v + 1 : v / 2
TEST, HALVE, OVER, TRIPLE, COUNT, END = range(6)
GRAPH = [("branch", TRIPLE), "next", ("jump", COUNT), "next", ("branch", TEST), "end"]


def interpret(session, values, counts):
    """Runs the program for one group; returns the values and how many lanes executed."""
    values, counts, executed = list(values), list(counts), 0
    session.begin(width=len(values))
    while (path := session.now()) is not None:
        lanes = [lane for lane in range(len(values)) if path.lanes >> lane & 1]
        executed += len(lanes)
        taken = 0
        for lane in lanes:
            if path.place == TEST:
                taken |= (values[lane] & 1) << lane
            elif path.place == HALVE:
                values[lane] //= 2
            elif path.place == TRIPLE:
                values[lane] = 3 * values[lane] + 1
            elif path.place == COUNT:
                counts[lane] -= 1
                taken |= (counts[lane] > 0) << lane
        if path.place in (TEST, COUNT):
            session.branch(taken, TRIPLE if path.place == TEST else TEST)
        elif path.place == OVER:
            session.jump(COUNT)
        elif path.place == END:
            session.exit()
        else:
            session.step()
    return values, executed


def alone(value, count):
    steps = 1
    for _ in range(count):
        steps += 3 if value & 1 else 4
        value = 3 * value + 1 if value & 1 else value // 2
    return value, steps


@pytest.mark.parametrize("width", [1, 8, 64, 200])
def test_every_mechanism_drives_an_interpreter(width):
    values, counts = [7 + 5 * lane for lane in range(width)], [1 + lane % 5 for lane in range(width)]
    expected = [alone(*pair) for pair in zip(values, counts)]
    issues = {}
    for mechanism in ["serial", "ipdom", "multi-path", "tf-stack", "tf-sandy", "min-pc", "min-sp-pc", "max-pc", "barrier-only", "basic"]:
        session = simtlab.Session(mechanism, GRAPH)
        results, executed = interpret(session, values, counts)
        assert results == [value for value, _ in expected], mechanism
        assert executed == sum(steps for _, steps in expected), mechanism
        statistics = session.statistics
        assert statistics["lane_slots"] == width * statistics["issues"] and statistics["active_lanes"] == executed
        issues[mechanism] = statistics["issues"]
    assert issues["serial"] == sum(steps for _, steps in expected)
    assert issues["ipdom"] == issues["multi-path"] <= issues["barrier-only"] <= issues["serial"]
    assert issues["tf-stack"] == issues["min-pc"] == issues["min-sp-pc"] <= issues["ipdom"]


def test_the_stack_and_the_active_mask_can_be_seen():
    session = simtlab.Session("ipdom", GRAPH, order="taken")
    session.begin(width=8)
    session.branch(taken=0b1111, target=TRIPLE)
    assert session.active_mask == 0b1111 and repr(session) == "<simtlab.Session ipdom: lanes 0xf at 3>"
    *_, below, top = session.stack()
    assert (top.place, top.rejoin, top.lanes) == (TRIPLE, COUNT, 0b1111)
    assert (below.place, below.lanes) == (HALVE, 0b11110000)
    assert sorted(path.lanes for path in session.paths()) == [0b1111, 0b11110000]
    assert "divergent branches         1" in str(session.statistics)
    assert session.statistics["mean_reconvergence_time"] is None


def test_what_cannot_be_is_a_value_error_and_changes_nothing():
    session = simtlab.Session("ipdom", GRAPH)
    session.begin(width=4)
    before = session.now()
    for wrong in [
        lambda: session.branch(taken=16, target=TRIPLE),
        lambda: session.branch(taken=1, target=TRIPLE, active=7),
        lambda: session.branch(taken=1, target=99),
        lambda: session.branch(taken=1 << 2000, target=TRIPLE),
        lambda: session.exit(1 << 70),
        lambda: session.exit(-1),
        lambda: session.switch({TRIPLE: 3, HALVE: 6}),
        lambda: session.begin(place=50),
        lambda: session.begin(width=5000),
        lambda: simtlab.Session("ipdom", [("branch", 7), "end"]),
        lambda: simtlab.Session("ipdom", ["back"]),
        lambda: simtlab.Session("ipdom", order="first"),
        lambda: simtlab.Session("ipdom").begin(),
    ]:
        with pytest.raises(ValueError):
            wrong()
    assert session.now() == before
    with pytest.raises(ValueError, match="did you mean `ipdom`"):
        simtlab.Session("ipdon")
