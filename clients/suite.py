"""Runs a sample of a foreign test suite on the virtual device, and counts what came of it.

suite.py run RESULTS.jsonl [--count N] [--limit SECONDS] [--only REGEX] [--tests FILE] -- FILE...   what pytest gets
suite.py tell RESULTS.jsonl [CLASSES.toml]                                                          counts and failures

The sample is decided before anything runs: of the tests that pytest collects and whose name has REGEX, the N with the smallest hashes of
their names; or those that --tests lists. Each test's result is a line of RESULTS.jsonl. A run that is ended goes on where it stopped. Tests run in
child processes: one that a test ends, or in which a test does not end, costs this test alone.

As a plug-in of pytest (`-p suite`) this file chooses the tests and writes the lines.
"""

import argparse
import collections
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
import sample

#: The plug-in's variables: where it writes all names that were collected; which tests it keeps; where it writes results; seconds of the
#: processor's time that a test may take.
NAMES, TESTS, RESULTS, LIMIT = "SUITE_NAMES", "SUITE_TESTS", "SUITE_RESULTS", "SUITE_LIMIT"

#: How many tests a process runs: what they leave in memory ends with it.
PER_PROCESS = 300

#: How many times a test's limit may pass, on a crowded machine, before its process is ended: a loop in a library does not see the signal.
PATIENCE = 3

#: Seconds that a process may take to collect its tests.
START = 240

GOOD = ("passed", "skipped", "xfailed")


# The plug-in.


def write_line(path, record):
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def pytest_collection_modifyitems(config, items):
    if NAMES in os.environ:
        with open(os.environ[NAMES], "w", encoding="utf-8") as file:
            file.writelines(f"{item.nodeid}\n" for item in items)
    if TESTS in os.environ:
        with open(os.environ[TESTS], encoding="utf-8") as file:
            place = {name: at for at, name in enumerate(file.read().splitlines())}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in place])
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])


def pytest_runtest_logstart(nodeid, location):
    if RESULTS in os.environ:
        write_line(os.environ[RESULTS], {"begins": nodeid})


def outcome(report):
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    return report.outcome


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if RESULTS in os.environ and (call.when == "call" or report.outcome != "passed"):
        line = {"test": item.nodeid, "outcome": outcome(report), "seconds": round(call.duration, 3)}
        if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
            line["message"] = report.longrepr[2]
        elif call.excinfo is not None:
            line["message"] = f"{call.excinfo.typename}: {call.excinfo.value}"[:1500]
            line["at"] = [f"{os.path.basename(str(e.path))}:{e.lineno + 1}" for e in call.excinfo.traceback[-6:]]
        write_line(os.environ[RESULTS], line)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    def late(*_):
        raise sample.TestTimeout(f"the test has run for {limit} s of the processor's time")

    limit = int(os.environ.get(LIMIT, "0"))
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        return (yield)
    except sample.TestTimeout as error:
        pytest.fail(str(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


# The sample.


def hash_of(name):
    return hashlib.sha256(name.encode()).digest()


def run_of_pytest(arguments, *more):
    return [sys.executable, "-m", "pytest", "-p", "suite", "-p", "no:cacheprovider", "--quiet", "--tb=no", *more, *arguments]


def collected(results, arguments):
    """The names of all tests, which are kept beside the results."""
    names = f"{results}.names"
    if not os.path.exists(names):
        part = f"{names}.part"
        done = subprocess.run(run_of_pytest(arguments, "--collect-only"), env={**os.environ, NAMES: part}, capture_output=True, text=True)
        if not os.path.exists(part):
            sys.exit(f"nothing was collected:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        os.replace(part, names)
    with open(names, encoding="utf-8") as file:
        return file.read().splitlines()


def read(results):
    """The last result of each test."""
    found = {}
    try:
        with open(results, encoding="utf-8") as file:
            for line in map(json.loads, file):
                if "test" in line and found.get(line["test"], {}).get("outcome") in (None, "passed"):
                    found[line["test"]] = line
    except FileNotFoundError:
        pass
    return found


def begun(results, start):
    """The test that has begun and has no result, in what was written behind `start`."""
    last = None
    with open(results, "a+", encoding="utf-8") as file:
        file.seek(start)
        for line in map(json.loads, file):
            last = line["begins"] if "begins" in line else None
    return last


def watch(process, results, limit):
    """Waits for a process; ends it if nothing is written for too long. Says whether it was ended."""
    size, since, allowed = 0, time.monotonic(), START
    while True:
        try:
            process.wait(1)
            return False
        except subprocess.TimeoutExpired:
            now = os.path.getsize(results)
            if now != size:
                size, since, allowed = now, time.monotonic(), PATIENCE * limit
            elif time.monotonic() - since > allowed:
                process.kill()
                process.wait()
                return True


def run_batch(batch, results, arguments, limit):
    listed = f"{results}.batch"
    with open(listed, "w", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in batch)
    start = os.path.getsize(results)
    environment = {**os.environ, TESTS: listed, RESULTS: os.path.abspath(results), LIMIT: str(limit)}
    options = [argument for argument in arguments if argument.startswith("-")]
    files = sorted({name.partition("::")[0] for name in batch})
    with open(f"{results}.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(run_of_pytest(files, *options), env=environment, stdout=log, stderr=log)
        ended = watch(process, results, limit)
    guilty = begun(results, start)
    if guilty is not None:
        why = f"did not end in {PATIENCE * limit} s" if ended else f"ended the process with {process.returncode}"
        write_line(results, {"test": guilty, "outcome": "crashed", "seconds": 0, "message": why})
    elif os.path.getsize(results) == start:
        sys.exit(f"a process has run no test: see {results}.log")


def run(results, count, limit, only, tests, arguments):
    if tests:
        with open(tests, encoding="utf-8") as file:
            chosen = file.read().splitlines()
    else:
        names = [name for name in collected(results, arguments) if re.search(only, name)]
        chosen = sorted(names, key=hash_of)[:count]
        print(f"{len(chosen)} of {len(names)} tests are in the sample", flush=True)
    chosen.sort(key=hash_of)
    open(results, "a").close()
    while True:
        done = read(results)
        pending = [name for name in chosen if name not in done]
        if not pending:
            break
        print(f"{len(chosen) - len(pending)} of {len(chosen)} have run", flush=True)
        # By the hashes, so that a run that was ended has a sample, too.
        run_batch(pending[:PER_PROCESS], results, arguments, limit)


# Counts.


def classify(line, classes):
    for entry in classes:
        if re.search(entry.get("test", ""), line["test"]) and re.search(entry.get("message", ""), line.get("message", "")):
            return entry["class"], entry["why"]
    return "unclassed", line.get("message", "").splitlines()[0][:200] if line.get("message") else line["outcome"]


def tell(results, classes):
    found = list(read(results).values())
    counts = collections.Counter(line["outcome"] for line in found)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()), f"in {sum(line['seconds'] for line in found):.0f} s")
    bad = [line for line in found if line["outcome"] not in GOOD]
    ran = sum(line["outcome"] != "skipped" for line in found)
    groups = collections.defaultdict(list)
    for line in bad:
        groups[classify(line, classes)].append(line["test"])
    for kind, n in collections.Counter(kind for (kind, _), lines in groups.items() for _ in lines).most_common():
        print(f"{kind}: {n}, {100 * n / max(ran, 1):.1f} % of the {ran} that run")
    for (kind, why), tests in sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]))):
        print(f"  {kind}: {len(tests)}: {why}")
        for test in tests[: None if kind == "unclassed" else 3]:
            print(f"      {test}")


def main():
    if sys.argv[1:2] == ["tell"]:
        classes = []
        for path in sys.argv[3:]:
            import tomllib

            with open(path, "rb") as file:
                classes += tomllib.load(file)["class"]
        return tell(sys.argv[2], classes)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("verb", choices=["run"])
    parser.add_argument("results")
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--only", default="")
    parser.add_argument("--tests")
    given = sys.argv[1:]
    cut = given.index("--") if "--" in given else len(given)
    options = parser.parse_args(given[:cut])
    run(options.results, options.count, options.limit, options.only, options.tests, given[cut + 1 :])


if __name__ == "__main__":
    main()
