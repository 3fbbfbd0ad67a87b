"""The published tests of Triton's concurrency sanitizer, compiled without its instrumentation, under the checks of the virtual device.

consan.py TESTS [--only TEXT] [--list FILE]: TESTS is `python/test/gluon/test_consan.py` of a checkout of Triton. A test is a kernel with a
defect, or without one, as its parameters say. What it expects is taken from the test itself: it is given a silent run, and a test
that fails on it expects a defect. The kernel then runs in a process of its own, and the findings are held against that.

Without a defect nothing may be found. With one there has to be a finding of a kind that the sanitizer's message stands for.
"""

import argparse
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import tempfile
import time
import types
from collections import Counter

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "stand_in"), here]

import pytest  # noqa: E402
import torch  # noqa: E402

from renames import renamed  # noqa: E402
from simtlab_clients.journal import Journal  # noqa: E402

#: What the sanitizer prints, and the kinds of findings that say so here.
KINDS = {
    "outstanding": {
        "unfinished-read", "wrong-phase", "overwritten-in-flight", "race-in-block", "race-in-warp", "race-between-blocks", "early-exit"},
    "pending access": {"overwritten-in-flight", "unfinished-read", "race-in-block", "race-in-warp"},
    "Deadlock": {"barrier-deadlock", "hang", "arrival-count", "transaction-bytes"},
    "underflow": {"arrival-count", "fault"},
    "re-initialized": {"repeated-init"},
    "before initialization or after invalidation": {"barrier-before-init", "fault"},
    "fence": {"missing-proxy-fence"},
}


class Silent:
    """A run without a defect."""

    exc = None

    def __init__(self):
        self.driver_stderr_output = ""


class Failed:
    """A run with whatever defect is asked for; it notes the message that the test looks for."""

    exc = RuntimeError("device-side assert")

    def __init__(self):
        self.messages = []

    @property
    def driver_stderr_output(self):
        return self

    def __contains__(self, text):
        self.messages.append(text)
        return True

    def __eq__(self, _):
        return False


class Given(Exception):
    """The arguments with which a test runs its kernel."""


def load(path):
    """The module of the tests."""
    spec = importlib.util.spec_from_file_location("test_consan", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["test_consan"] = module
    spec.loader.exec_module(module)
    return module


def cases(module):
    """The tests with each combination of their parameters that the device is for: a name, the function and the arguments."""
    for name, function in vars(module).items():
        if not name.startswith("test_") or "run_wrapper" not in inspect.signature(function).parameters:
            continue
        marks = getattr(function, "pytestmark", [])
        if any(mark.name == "skipif" and mark.args[0] for mark in marks):
            continue
        axes = [parametrized(mark) for mark in marks if mark.name == "parametrize"]
        if "num_ctas" in inspect.signature(function).parameters:
            axes.append([{"num_ctas": count} for count in (1, 2, 4)])
        for choice in itertools.product(*axes):
            arguments = {key: value for part in choice for key, value in part.items()}
            label = "-".join(f"{key}={value}" for key, value in arguments.items())
            yield f"{name.removeprefix('test_')}[{label}]", function, arguments


def parametrized(mark):
    """The values of a mark's parameters."""
    names = [name.strip() for name in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
    rows = [row if len(names) > 1 else (row,) for row in mark.args[1]]
    return [dict(zip(names, getattr(row, "values", row))) for row in rows]


def patch():
    """A `monkeypatch` that does not turn the instrumentation on."""
    return types.SimpleNamespace(setenv=lambda *_: None, setattr=setattr, delenv=lambda *_, **__: None)


def expectation(module, function, arguments):
    """The messages of the sanitizer that a test expects, none if it expects silence, and how it calls its kernel."""
    given = []

    def silent(callee, args, *_, **__):
        given.append((callee, args))
        return Silent()

    def failed(*_, **__):
        return noted

    noted = Failed()
    module.run_in_process = silent
    try:
        function(**arguments, device="cuda", run_wrapper=True, monkeypatch=patch())
        return [], given[0]
    except AssertionError:
        pass
    module.run_in_process = failed
    function(**arguments, device="cuda", run_wrapper=True, monkeypatch=patch())
    return noted.messages, given[0]


def findings(callee, args):
    """The kinds that a process finds that runs a kernel, and the error that ends it."""
    with tempfile.TemporaryDirectory() as folder:
        journal = os.path.join(folder, "journal")
        child = os.fork()
        if child == 0:
            run_child(callee, args, journal, os.path.join(folder, "error"))
        os.waitpid(child, 0)
        events = Journal(journal).take()
        with open(os.path.join(folder, "error"), encoding="utf-8") as file:
            error = file.read()
    kinds = Counter(found["kind"] for found in events.findings if is_of_shared_memory(found))
    if not kinds:
        kinds.update(stop.kind for stop in events.stops)
    return kinds, events, error


def is_of_shared_memory(found):
    """Whether the sanitizer looks for such a finding: not at global memory, at registers of products, or at an element of a layout that
    several threads store."""
    spaces = {access.get("space") for access in found.get("accesses", [])}
    others = ("register-in-flight", "missing-register-fence", "race-of-equal-writes")
    return spaces != {"global"} and found["kind"] not in others


def run_child(callee, args, journal, error):
    """Runs a kernel and ends the process."""
    os.environ["SIMTLAB_JOURNAL"] = journal
    text = ""
    try:
        # Some kernels take no tensors.
        torch.empty(1)
        callee(*args)
        torch.cuda.synchronize()
    except BaseException as exception:
        text = f"{type(exception).__name__}: {exception}"
    with open(error, "w", encoding="utf-8") as file:
        file.write(text)
    sys.stdout.flush()
    os._exit(0)


def judge(messages, kinds, events, error):
    """What is wrong with the outcome of a test, or nothing."""
    if not events.launches and not events.stops and not events.findings:
        return f"did not run: {(error.strip().splitlines() or ['no launch'])[-1][:160]}"
    if not messages:
        return f"found {', '.join(kinds)}" if kinds else None
    wanted = set().union(*(kinds for text, kinds in KINDS.items() if any(text in message for message in messages)))
    if not kinds:
        return "not found"
    return None if wanted & set(kinds) else f"found {', '.join(kinds)} alone"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tests")
    parser.add_argument("--only", default="")
    parser.add_argument("--list")
    parser.add_argument("--verbose", action="store_true", help="print what is found where it is not expected")
    options = parser.parse_args()
    module = load(renamed(options.tests))
    begun, outcomes, rows = time.time(), Counter(), []
    for name, function, arguments in cases(module):
        if not re.search(options.only, name):
            continue
        try:
            messages, (callee, args) = expectation(module, function, arguments)
        except pytest.skip.Exception:
            outcomes["skipped by the tests"] += 1
            continue
        kinds, events, error = findings(callee, args)
        wrong = judge(messages, kinds, events, error)
        expected = "defect" if messages else "none"
        outcome = "not run" if wrong and wrong.startswith("did not run") else "differs" if wrong else "as expected"
        outcomes[f"{expected}: {outcome}"] += 1
        rows.append((name, messages[0] if messages else "", ", ".join(sorted(kinds)), wrong or ""))
        print(f"{name:70} {expected:7} {', '.join(sorted(kinds)):40} {wrong or ''}", flush=True)
        if options.verbose and wrong:
            for found in events.findings:
                print(json.dumps(found, indent=1))
    if options.list:
        with open(options.list, "w", encoding="utf-8") as file:
            file.writelines("\t".join(row) + "\n" for row in rows)
    print(f"{time.time() - begun:.0f} s: " + ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())))
    sys.exit(any("differs" in name or "not run" in name for name in outcomes))


main()
