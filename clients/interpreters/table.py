"""A table of two logs: table.py NAME DEVICE.log INTERPRETER.log."""

import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if line.startswith('{"kernel"')]
    return {line["kernel"]: line for line in lines}


def milliseconds(seconds):
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


name, device, interpreter = sys.argv[1], read(sys.argv[2]), read(sys.argv[3])
for kernel, ours in device.items():
    theirs = interpreter[kernel]
    ratio = theirs["then"] / ours["then"]
    print(f"| {name}: {kernel}, {ours['size']} | {milliseconds(ours['first'])} | {milliseconds(ours['then'])} | {milliseconds(theirs['then'])} "
          f"| {float(f'{ratio:.2g}'):g} |")
