"""Compares what two runs of cases.py print: `compare.py NVIDIA OURS`. Statuses have to be the same, but where the difference is meant."""

import ast
import sys

#: Cases with other statuses here, and why.
MEANT = {
    "a name twice": "NVIDIA's library prints the error and goes on",
    "machine code": "does not run here",
    "option -lto": "NVIDIA's library wants LTO-IR; PTX without any is linked here",
    "option -dlto": "the same",
    "PTX that calls LTO-IR": "NVIDIA's library drops the function when it makes PTX",
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t", 1) for line in file)


theirs, ours = (read(path) for path in sys.argv[1:])
assert list(theirs) == list(ours)
same, meant, other, ended = 0, 0, [], 0
for label, answer in theirs.items():
    if not answer.startswith("("):
        # The statuses of a process that has ended are not known.
        ended += 1
        assert ours[label].startswith("("), label
    elif ast.literal_eval(answer)[0] == ast.literal_eval(ours[label])[0]:
        same += 1
    elif label in MEANT:
        meant += 1
    else:
        other.append(label)
        print(f"{label}\n  NVIDIA {answer}\n  ours   {ours[label]}")
print(f"{len(theirs)} cases: {same} the same, {meant} differ as meant, {ended} end the process with NVIDIA's library, {len(other)} failed")
sys.exit(bool(other))
