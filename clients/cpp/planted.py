"""Runs planted defects with `simtlab exec --check`: planted.py SIMTLAB LIBRARIES CHECKS SOURCE PROGRAM...

Each defect has to be found as the comments of the source say, at that line where it is in a kernel, and nothing else; without the
defect nothing may be found. PROGRAM is a program with its first arguments, which takes the name of a defect and `mended`.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

simtlab, libraries, checks, source, *program = sys.argv[1:]
text = pathlib.Path(source).read_text().splitlines()
sign = re.compile(r"(?://|#)@ ([a-z_]+) ([a-z-]+)$")
planted = {}
for number, line in enumerate(text, 1):
    if found := sign.search(line):
        planted[found[1]] = (found[2], number)


def findings(name, *more):
    """The kinds and source lines of what is found, and what was told."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        words = [simtlab, "exec", "--libraries", libraries, f"--check={checks}", "--report", f"json={report}", "--", *program]
        end = subprocess.run([*words, name, *more], capture_output=True, text=True)
        if not report.exists():
            return [("no report", None)], end.stderr
        found = json.loads(report.read_text())["findings"]
    return [(f["kind"], own_line(f["place"].get("source"))) for f in found], end.stderr


def own_line(place):
    """The line in SOURCE, maybe that of the call of what was inlined."""
    if place is None:
        return None
    lines = [place, *place["inlined"]]
    return next((at["line"] for at in lines if pathlib.Path(at["file"]).name == pathlib.Path(source).name), None)


failed = 0
for name, (kind, line) in planted.items():
    found, told = findings(name)
    in_kernel = kind not in ("leak", "failed-call", "uninitialised-copy")
    right = found and all(f == (kind, line if in_kernel else None) for f in found)
    mended, mended_told = findings(name, "mended")
    print(f"{name:22} {kind:22} {'found' if right else f'found {found}'}{'' if not mended else f', mended: {mended}'}")
    if not right or mended:
        failed += 1
        print(told, mended_told, sep="\n", file=sys.stderr)
print(f"{len(planted)} planted defects: {len(planted) - failed} found with the right line and silent without it")
sys.exit(failed != 0)
