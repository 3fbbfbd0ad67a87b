"""The pytest plug-in: `pytest --simtlab` runs a project's tests on the virtual device, with what its kernels did wrong in each test's report.

It runs pytest once more under `simtlab exec`, where a launch that faults or hangs fails its test alone: memory is put back to what it was
before the launch, and the next test finds a device that works. pytest-xdist's workers are child processes of that run.
"""

import json
import os
import shutil
import sys
from typing import Any, Dict, Generator, List, Optional

import pytest

from .journal import Events, Journal, efficiency

#: Set in the run under `simtlab exec`.
INSIDE = "SIMTLAB_PYTEST"

#: The command; by default what is on the path.
COMMAND = "SIMTLAB_COMMAND"

_PROPERTY = "simtlab"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("simtlab", "GPU kernels without a GPU")
    group.addoption("--simtlab", action="store_true", help="run CUDA code on Simtlab's virtual device")
    group.addoption(
        "--simtlab-check",
        nargs="?",
        const="all",
        metavar="CHECKS",
        help="examine all launches for defects (race, init, sync, memory, or all); an error fails its test, a warning is shown; implies --simtlab",
    )
    group.addoption("--simtlab-report", metavar="FILE", help="write what each test's kernels did, as JSON; implies --simtlab")
    group.addoption("--simtlab-capability", metavar="X.Y", help="compute capability of the device")
    group.addoption("--simtlab-limit", metavar="N", help="instructions of a block after which a launch is taken to hang")


def _wanted(options: Any) -> bool:
    return bool(options.simtlab or options.simtlab_check or options.simtlab_report)


def _command() -> str:
    given = os.environ.get(COMMAND)
    if given:
        return given
    # The environment's own command first, whether it is activated or not.
    places = [os.path.dirname(sys.executable), *os.environ.get("PATH", "").split(os.pathsep)]
    found = shutil.which("simtlab", path=os.pathsep.join(places))
    if not found:
        raise pytest.UsageError("--simtlab needs the command `simtlab`, which is not on the path: set SIMTLAB_COMMAND to where it is")
    return found


def exec_command(options: Any) -> List[str]:
    """The words of `simtlab exec` for these options of pytest, up to the program."""
    words = [_command(), "exec", "--quiet", "--faults", "launch"]
    if options.simtlab_check:
        words.append(f"--check={options.simtlab_check}")
    if options.simtlab_capability:
        words += ["--capability", options.simtlab_capability]
    if options.simtlab_limit:
        words += ["--limit", options.simtlab_limit]
    return [*words, "--"]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: List[str]) -> None:
    # Before any conftest.py, which may import frameworks.
    if not _wanted(early_config.known_args_namespace) or INSIDE in os.environ or hasattr(early_config, "workerinput"):
        return
    words = exec_command(early_config.known_args_namespace)
    words += [sys.executable, "-m", "pytest", *(str(arg) for arg in early_config.invocation_params.args)]
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(words[0], words, {**os.environ, INSIDE: "1"})


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "simtlab(min_efficiency, max_issues, max_divergent, expect): bounds on what the test's kernels do, with --simtlab: the share of "
        "lane slots that execute, instructions issued, divergent branches; expect='fault' or 'hang' for a test that is to meet one",
    )
    if INSIDE in os.environ and _wanted(config.option):
        config.pluginmanager.register(Watch(config), "simtlab-watch")


class Watch:
    """Follows the launches of each test."""

    def __init__(self, config: pytest.Config):
        self._config = config
        self._journal = Journal(only_own=hasattr(config, "workerinput"))
        self._journal.skip()
        self._records: List[Dict[str, Any]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        events = self._journal.take()
        told = _told(events)
        if told:
            report.sections.append((f"simtlab {call.when}", "\n\n".join(told)))
        reasons = self._reasons(item, call, events)
        if reasons and not hasattr(report, "wasxfail") and report.outcome != "skipped":
            text = "\n\n".join(reasons)
            if report.outcome == "passed":
                report.outcome = "failed"
                report.longrepr = text
        if events.launches or events.stops or events.findings:
            report.user_properties.append((_PROPERTY, {"when": call.when, **_record(events)}))
        return report

    def _reasons(self, item: pytest.Item, call: Any, events: Events) -> List[str]:
        """Why this part of the test has failed, whatever it says itself."""
        marks = [mark.kwargs for mark in item.iter_markers("simtlab")]
        expected = {mark["expect"] for mark in marks if "expect" in mark}
        reasons = [f"{stop.kind}: {stop.text}" for stop in events.stops if stop.kind not in expected]
        reasons += [_finding(finding) for finding in events.findings if finding.get("severity") == "error"]
        if call.when != "call":
            return reasons
        for kind in sorted(expected - {stop.kind for stop in events.stops}):
            reasons.append(f"the test expects a {kind}, and no launch had one")
        totals = events.totals
        for mark in marks:
            least = mark.get("min_efficiency")
            if least is not None and efficiency(totals) < least:
                reasons.append(f"{100 * efficiency(totals):.1f} % of lane slots execute, and at least {100 * least:.1f} % are asked for")
            for name, count in (("max_issues", "issues"), ("max_divergent", "divergent_branches")):
                most = mark.get(name)
                if most is not None and totals.get(count, 0) > most:
                    reasons.append(f"{totals[count]} {count.replace('_', ' ')}, and at most {most} are asked for")
        return reasons

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, record in report.user_properties:
            if name == _PROPERTY and isinstance(record, dict) and record.get("when") == report.when:
                self._records.append({"test": report.nodeid, "outcome": report.outcome, **record})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if hasattr(self._config, "workerinput") or not self._records:
            return
        write = terminalreporter.write_line
        terminalreporter.section("simtlab")
        write(f"{'launches':>9} {'issues':>12} {'lanes':>7} {'diverged':>9} {'barriers':>9} {'ms':>9}  test")
        for record in _by_test(self._records):
            totals = record["totals"]
            write(
                f"{record['launches']:>9} {totals.get('issues', 0):>12} {100 * efficiency(totals):>6.1f}% "
                f"{totals.get('divergent_branches', 0):>9} {totals.get('barriers', 0):>9} {1e3 * record['seconds']:>9.1f}  {record['test']}"
            )

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        path: Optional[str] = self._config.option.simtlab_report
        if path and not hasattr(self._config, "workerinput"):
            document = {"schema": "simtlab-pytest", "version": 1, "tests": _by_test(self._records)}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=2)
                file.write("\n")


def _record(events: Events) -> Dict[str, Any]:
    return {
        "launches": len(events.launches),
        "seconds": events.seconds,
        "totals": events.totals,
        "stops": [{"kernel": s.kernel, "kind": s.kind, "code": s.code, "text": s.text, "file": s.file, "line": s.line} for s in events.stops],
        "findings": events.findings,
        "refused": events.refused,
    }


def _by_test(records: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """One record for each test, of its setup, call and teardown."""
    tests: Dict[str, Dict[str, Any]] = {}
    for record in records:
        known = tests.setdefault(
            record["test"],
            {"test": record["test"], "outcome": "passed", "launches": 0, "seconds": 0.0, "totals": {}, "stops": [], "findings": [], "refused": []},
        )
        if record["outcome"] != "passed":
            known["outcome"] = record["outcome"]
        known["launches"] += record["launches"]
        known["seconds"] += record["seconds"]
        for name, value in record["totals"].items():
            known["totals"][name] = known["totals"].get(name, 0) + value
        for name in ("stops", "findings", "refused"):
            known[name] = [*known[name], *record[name]]
    return list(tests.values())


def _told(events: Events) -> List[str]:
    """What the report of a test shows, whether it fails by it or not."""
    told = [f"{stop.kind}: {stop.text}" for stop in events.stops]
    told += [_finding(finding) for finding in events.findings]
    return told + events.refused


def _finding(finding: Dict[str, Any]) -> str:
    place = finding.get("place") or {}
    source = place.get("source") or {}
    lines = [f"{finding.get('kind')}: {finding.get('message')}"]
    if source.get("file"):
        lines.append(f"  at {source['file']}:{source.get('line')}")
    elif place.get("line"):
        lines.append(f"  at line {place['line']} of the program")
    lines += [f"  {cause}" for cause in finding.get("causes") or []]
    if finding.get("cure"):
        lines.append(f"  help: {finding['cure']}")
    return "\n".join(lines)
