"""Judges the report of the planted project: judge.py REPORT.json."""

import json
import sys

#: What each test has to be failed for: a kind of stop or finding, and the line of the kernel.
WANTED = {
    "store_beyond_the_end": ("out-of-bounds", "tl.store(out + at, value * 2.0)  # planted"),
    # Triton's line table has the load at the line that uses its value.
    "load_beyond_the_end": ("out-of-bounds", "value"),
    "sum_without_atomics": ("race-between-blocks", "tl.store(total, tl.load(total) + part)  # planted"),
    "memory_nobody_has_written": ("uninitialised", "before = tl.load(total + at"),
    "wait_for_a_flag": ("hang", "while tl.load(flag, volatile=True) == 0:  # planted"),
}


def main(path):
    with open(path, encoding="utf-8") as file:
        tests = {test["test"].rpartition("::")[2]: test for test in json.load(file)["tests"]}
    with open("kernels.py", encoding="utf-8") as file:
        lines = file.read().splitlines()
    wrong = []
    for name, (kind, text) in WANTED.items():
        test = tests.get(f"test_planted_{name}")
        found = [] if test is None else [(s["kind"], s["code"], s["line"]) for s in test["stops"]]
        found += [] if test is None else [(f["kind"], f["kind"], (f["place"].get("source") or {}).get("line")) for f in test["findings"]]
        good = [f for f in found if (kind in f[0] or kind in f[1]) and f[2] and text in lines[f[2] - 1]]
        if test is None or test["outcome"] != "failed" or not good:
            wrong.append(f"{name}: {kind} is wanted at `{text}`, and found is {found or 'nothing'}")
    wrong += [f"{name} has failed" for name, test in tests.items() if "planted" not in name and test["outcome"] != "passed"]
    good = sum("planted" not in name for name in tests)
    print(f"{len(WANTED)} planted defects, {good} tests without: " + ("each as it should be" if not wrong else "; ".join(wrong)))
    return 1 if wrong or good < 6 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
