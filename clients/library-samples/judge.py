"""Judges what a sample printed that ended with exit code 0: judge.py FOLDER OUTPUT prints an outcome and a reason, with a tab between.

A sample's README has what it printed on NVIDIA's hardware: text is the same, numbers are within their last digit, and vectors that are
determined up to their sign are within it in their absolute values. Samples without that say PASSED or FAILED, or print differences
`|...| = number` from a reference of their own, or the input of a transform and its inverse's output."""

import re
import sys
from pathlib import Path

NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
# Differences of results in `float`, what is a rounding error of either side, and what a device's fast sine and cosine are off by: of normal
# numbers, relative to one, and of their exponentials, relative.
DIFFERENCE, NOISE, FAST = 1e-4, 1e-5, 5e-6
# Lines with results that a README has to have more than, if it goes on where the sample ends.
ENOUGH = 8


def tolerance(text):
    """One and a bit of the last digit that a number has."""
    digits, _, exponent = text.lower().partition("e")
    _, _, decimals = digits.partition(".")
    return 1.01 * 10.0 ** (int(exponent or 0) - len(decimals)) if decimals else 0.0


def number_agrees(got, want, signs, fast):
    a, b = float(got), float(want)
    if signs:
        a, b = abs(a), abs(b)
    bound = max(tolerance(got), tolerance(want), fast * max(1, abs(b)) if "." in want else 0)
    return abs(a - b) <= bound or max(abs(a), abs(b)) <= NOISE


def line_agrees(got, want, signs, fast):
    got, want = (re.sub(r"\+\s*-", "-", line) for line in (got, want))
    texts = [re.sub(r"\s+", "", NUMBER.sub("#", line)) for line in (got, want)]
    if signs:
        texts = [text.replace("+", "").replace("-", "") for text in texts]
    numbers = [NUMBER.findall(line) for line in (got, want)]
    # Words may be those of another version of the sample, where there are numbers to compare.
    same = texts[0] == texts[1] or len(numbers[0]) == len(numbers[1]) > 0
    return same and all(number_agrees(a, b, signs, fast) for a, b in zip(*numbers))


def lines(text):
    """Lines but those that separate, and those with times."""
    return [line.strip() for line in text.splitlines() if re.search(r"[^\s=]", line) and not re.search(r"\d ms|\dms|seconds", line)]


def differing(got, want, signs, fast=0):
    """The first line that is another one; `None` if there is none."""
    got, want = lines(got), lines(want)
    for a, b in zip(got, want):
        if not line_agrees(a, b, signs, fast):
            return f"{a} instead of {b}"
    # A README may be of a run with more numbers, or with more of the same.
    return None if len(got) == len(want) or ENOUGH <= len(got) < len(want) else f"{len(got)} lines instead of {len(want)}"


def sections(text):
    """What a generator printed on the host, and on the device."""
    return [part for part in re.split(r"^=+$|^Device$|^Host$", text, flags=re.M) if lines(part)]


def agrees(got, want, signs):
    """The first difference of an output and of a README's; `None` if there is none."""
    if not got.lstrip().startswith("Host"):
        return differing(got, want, signs)
    parts = [sections(text) for text in (got, want)]
    if len(parts[0]) != len(parts[1]):
        return "another number of parts"
    return next((found for a, b in zip(*parts) if (found := differing(a, b, signs, FAST))), None)


def of_itself(output):
    """What a sample says of its own results; `None` if it says nothing."""
    if re.search(r"FAILED|wrong result|incorrect", output):
        return False
    if re.search(r"PASSED", output):
        return True
    differences = [float(d) for d in re.findall(r"\|[^|\n=]*-[^|\n=]*\|\s*=\s*([-+.\deE]+)", output)]
    if differences:
        return max(differences) <= DIFFERENCE
    before = re.search(r"Input array:\n([^=]*)\n=", output)
    after = re.search(r"Output array after[^\n]*Normalization[^\n]*\n([^=]*)\n=", output)
    return before and after and differing(after[1], before[1], False) is None


def judge(folder, output):
    readme = folder / "README.md"
    text = readme.read_text(errors="replace") if readme.exists() else ""
    examples = re.findall(r"example output[^\n]*\n\s*```[^\n]*\n(.*?)```", text, re.S)
    own, found = of_itself(output), None
    for example in examples:
        for signs in (False, True):
            found = agrees(output, example, signs)
            if found is None:
                return "verified", ""
    if own is None and examples:
        # What comes first is the input, but for generators. Some READMEs are older than their samples, and have another.
        first = [re.split(r"^=+\s*$", text, flags=re.M)[0] for text in (output, examples[-1])]
        if differing(*first, False) and not output.startswith("Host"):
            return "ran", "the README has another input"
        return "differs", found
    return {None: ("ran", ""), True: ("verified", ""), False: ("wrong", "")}[own]


print("\t".join(judge(Path(sys.argv[1]), Path(sys.argv[2]).read_text(errors="replace"))))
