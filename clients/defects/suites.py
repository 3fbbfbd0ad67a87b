"""Compiles the programs of public suites with known defects, runs them under checks, and counts what is found.

A program is *found* if a finding is of a kind that stands for one of its defects, *missed* if none is, *silent* if it has no defect and
nothing is found, and *reported* if something is. Nothing else of a suite is told to the tool than its sources.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import time
from collections import Counter

RACES = {"race-in-warp", "race-in-block", "race-between-blocks", "race-of-equal-writes", "race-of-volatiles"}
SYNC = {"divergent-barrier", "absent-lanes", "hang"}

#: Defects in the names of Indigo's programs, and the kinds of findings that stand for them.
INDIGO = {
    "atomicBug": RACES,
    "guardBug": RACES,
    "raceBug": RACES,
    "syncBug": RACES | SYNC,
    "boundsBug": {"fault"},
}
#: What the documentation of NVIDIA's tools finds in its samples: one of each set.
SANITIZER = {
    "Memcheck/memcheck_demo.cu": [{"fault"}],
    "Racecheck/block_error.cu": [{"race-in-block", "race-in-warp"}],
    "Racecheck/warp_error.cu": [{"race-in-warp"}],
    "Synccheck/divergent_threads.cu": [{"divergent-barrier"}],
    # A lane that its own mask leaves out is a fault here.
    "Synccheck/illegal_syncwarp.cu": [{"absent-lanes", "fault"}],
    "Initcheck/memset_error.cu": [{"uninitialised-global"}],
    "Suppressions/suppressions_demo.cu": [{"failed-call"}, {"leak"}],
    "Suppressions/suppressions_initcheck_demo.cu": [{"uninitialised-global"}],
}
#: Seconds that a program may take.
LIMIT = 120


@dataclasses.dataclass
class Program:
    suite: str
    name: str
    source: pathlib.Path
    #: Names of its defects, and sets of kinds of which each has to be found.
    defects: str
    expected: list
    checks: str
    runs: list = dataclasses.field(default_factory=lambda: [[]])
    options: list = dataclasses.field(default_factory=list)


def scor(folder):
    """Microbenchmarks: the name says whether there is a race. Most access a volatile word, which the suite takes for a plain one."""
    for source in sorted(folder.glob("microbenchmarks/src/*.cu")):
        races = source.name.startswith("race_")
        yield Program("scor", source.stem, source, "race" if races else "", [RACES] if races else [], "race,volatile,sync")


def indigo(folder):
    """Graph codes: the name lists the defects. Each runs on a graph of 200 nodes, and on one of 5 nodes that has fewer than threads."""
    graphs = folder / "indigo/input"
    runs = [[str(graphs / "power_law_200n_1000e.egr"), "64", "4"], [str(graphs / "DAG_5n_5e.egr"), "64", "8"]]
    for source in sorted(folder.glob("indigo/indigo_sources/*/*.cu")):
        defects = [defect for defect in INDIGO if f"_{defect}" in source.stem]
        kinds = [set().union(*(INDIGO[defect] for defect in defects))] if defects else []
        options = [f"-I{folder / 'indigo/indigo_include'}"]
        yield Program("indigo", source.stem, source, "+".join(defects), kinds, "memory,race,sync", runs, options)


def sanitizer(folder):
    for name, kinds in SANITIZER.items():
        defects = "+".join("/".join(sorted(one)) for one in kinds)
        yield Program("sanitizer", name, folder / name, defects, kinds, "all")


def compile_program(program, work):
    """The program, compiled as users compile for checks; `None` and the reason if it is not."""
    binary = work / re.sub(r"\W", "-", f"{program.suite}-{program.name}")
    if not binary.exists():
        command = ["nvcc", "-w", "-O2", "-lineinfo", "-cudart", "shared", "-gencode", "arch=compute_80,code=compute_80"]
        end = subprocess.run([*command, *program.options, str(program.source), "-o", str(binary)], capture_output=True, text=True)
        if end.returncode != 0:
            return None, end.stderr.strip().splitlines()[:1]
    return binary, None


def findings(program, binary, arguments, settings):
    """The kinds of what is found in one run, or why there is no report."""
    report = binary.with_suffix(".json")
    report.unlink(missing_ok=True)
    command = [settings.simtlab, "exec", "--libraries", settings.libraries, f"--check={program.checks}", "--report", f"json={report}", "--"]
    try:
        subprocess.run([*command, str(binary), *arguments], capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return {"over the limit of time"}
    if not report.exists():
        return {"no report"}
    return {finding["kind"] for finding in json.loads(report.read_text())["findings"]}


def judge(program, settings):
    binary, why = compile_program(program, settings.work)
    if binary is None:
        return program, "not built", {str(why)}
    kinds = set()
    for arguments in program.runs:
        kinds |= findings(program, binary, arguments, settings)
    if "no report" in kinds:
        return program, "no report", kinds
    if program.expected:
        return program, "found" if all(one & kinds for one in program.expected) else "missed", kinds
    return program, "reported" if kinds else "silent", kinds


def main():
    parser = argparse.ArgumentParser()
    for name in ["simtlab", "libraries", "work", "table", "scor", "indigo", "sanitizer"]:
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path if name not in ("simtlab", "libraries") else str)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("suites", nargs="*", default=[], metavar="SUITE")
    settings = parser.parse_args()
    known = {"scor": scor, "indigo": indigo, "sanitizer": sanitizer}
    unknown = [name for name in settings.suites if name not in known]
    if unknown:
        parser.error(f"there is no suite {unknown[0]}: they are {', '.join(known)}")
    chosen = settings.suites or list(known)
    start = time.monotonic()
    counts = Counter()
    with open(settings.table, "w") as table, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = [program for name in chosen for program in list(known[name](getattr(settings, name)))[:: settings.every]]
        for program, outcome, kinds in pool.map(lambda program: judge(program, settings), programs):
            counts[program.suite, program.defects, outcome] += 1
            print(program.suite, program.name, program.defects, outcome, " ".join(sorted(kinds)), sep="\t", file=table, flush=True)
            if outcome not in ("found", "silent"):
                print(f"{program.suite}: {program.name}: {program.defects or 'no defect'}: {outcome}: {' '.join(sorted(kinds))}")
    for (suite, defects, outcome), count in sorted(counts.items()):
        print(f"{suite:10} {defects or 'no defect':36} {outcome:10} {count}")
    total = Counter()
    for (_, _, outcome), count in counts.items():
        total[outcome] += count
    print(", ".join(f"{count} {outcome}" for outcome, count in total.items()), f"in {time.monotonic() - start:.0f} s")


main()
