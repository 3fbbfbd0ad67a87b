"""Counts the results of a test suite of pytest, and lists what did not pass: python results.py RESULTS.xml..."""

import sys
import xml.etree.ElementTree as tree
from collections import Counter


def reason(text):
    """The line of a message that says what went wrong, without what differs from run to run."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return (lines[0] if lines else "no reason")[:160]


def read(path):
    counts, failed, skipped, seconds = Counter(), [], Counter(), 0.0
    noted = False
    for suite in tree.parse(path).getroot().iter("testsuite"):
        seconds += float(suite.get("time", 0))
        for case in suite.iter("testcase"):
            place = case.get("classname", "").rpartition("site-packages.")[2]
            name = f"{place}::{case.get('name')}"
            bad = case.find("failure") if case.find("failure") is not None else case.find("error")
            skip = case.find("skipped")
            if bad is not None:
                counts["failed"] += 1
                failed.append((name, reason(bad.get("message"))))
            elif skip is not None:
                counts["skipped"] += 1
                skipped[reason(skip.get("message"))] += 1
            else:
                counts["passed"] += 1
                launches = case.find("properties/property[@name='launches']")
                noted = noted or launches is not None
                counts["launched"] += launches is not None and launches.get("value") != "0"
    if not noted:
        del counts["launched"]
    return counts, failed, skipped, seconds


for path in sys.argv[1:]:
    counts, failed, skipped, seconds = read(path)
    launched = f" ({counts['launched']} of them launch kernels)" if "launched" in counts else ""
    print(f"{counts['passed']} passed{launched}, {counts['failed']} failed, {counts['skipped']} skipped in {seconds:.0f} s")
    for name, why in sorted(failed):
        print(f"  {name}: {why}")
    for why, times in skipped.most_common(12):
        print(f"  skipped {times}: {why}")
