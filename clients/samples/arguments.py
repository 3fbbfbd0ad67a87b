"""What NVIDIA's test runner does with a sample: `arguments.py test_args.json NAME`.

Prints the number of devices that the sample wants, then a line of words for each run, as the shell reads them; or `skip`.
"""

import json
import shlex
import sys


def plan(entry):
    """The lines for one entry of the file."""
    if entry.get("skip"):
        return ["skip"]
    runs = entry.get("runs") or [entry]
    wanted = [run.get("args", []) for run in runs if not run.get("skip")]
    return [str(entry.get("min_gpus", 1))] + [shlex.join(args) for args in wanted]


path, name = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    print("\n".join(plan(json.load(file).get(name, {}))))
