"""Mutations of the bundled kernels for Hopper, and these kernels in random orders.

bundled.py SIMTLAB KERNELS [--orders N] [--list FILE]: each mutant (`mutations.py`) runs under checks with asynchronous steps done late. It is
found if there is a finding, a fault or hang among them; else its result may be another one. The kernels as they are have to be silent, with
the expected results, late and in N random orders.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

from mutations import Outcomes, line_of, mutants

#: Seconds of processor time after which a run is stopped.
LIMIT = 60

NAMES = ("wgmma_gemm", "cluster_reduce", "multicast_copy")


def run(simtlab, folder, order):
    """The kinds that are found, and whether the run ends as it is to."""
    report = folder.parent / "report.json"
    report.unlink(missing_ok=True)
    command = [simtlab, "run", str(folder), "--check=race,sync", f"--async={order}", "--stats=none", f"--report=json={report}"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    done = subprocess.run(command, capture_output=True, preexec_fn=limit)
    if done.returncode < 0:
        return {"no end"}, False
    found = json.loads(report.read_text())["findings"] if report.exists() else []
    return {each["kind"] for each in found}, done.returncode == 0


def outcome(kinds, right, checks):
    if kinds:
        return "found", ", ".join(sorted(kinds))
    if right:
        return "survived", "survived"
    return ("result", "another result") if checks else ("refused", "refused")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("simtlab")
    parser.add_argument("kernels")
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--list")
    options = parser.parse_args()
    outcomes, failed = Outcomes(), 0
    with tempfile.TemporaryDirectory() as work:
        for name in NAMES:
            folder = pathlib.Path(work) / name
            shutil.copytree(os.path.join(options.kernels, name), folder)
            for order in ["late"] + [f"random:{seed}" for seed in range(1, options.orders + 1)]:
                kinds, right = run(options.simtlab, folder, order)
                if kinds or not right:
                    failed += 1
                    print(f"{name} {order}: {', '.join(sorted(kinds)) or 'another result'}", flush=True)
            file = folder / f"{name}.ptx"
            original = file.read_text()
            for kind, at, text in mutants(original):
                file.write_text(text)
                checked = subprocess.run([options.simtlab, "check", str(file)], capture_output=True).returncode == 0
                what, told = outcome(*run(options.simtlab, folder, "late"), checked)
                outcomes.add(kind, what, f"{name} ptx:{line_of(original, at)}", told)
            file.write_text(original)
    outcomes.table()
    outcomes.write(options.list)
    print(f"{len(NAMES) * (options.orders + 1)} runs of the kernels as they are, {failed} not silent")
    sys.exit(bool(failed))


main()
