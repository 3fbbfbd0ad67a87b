"""Mutations of the kernels of programs in CUDA C++: programs.py [--share S] [--only TEXT] [--list FILE] EXPECTED PROGRAM ARGUMENT...

PROGRAM has its PTX in a fat binary that is not compressed (`nvcc -no-compress`). A mutant is a copy of it in which one place of the protocol of
a kernel that it launches is changed (`mutations.py`). It runs under checks, with asynchronous steps done late, until the launches of that
kernel have ended. It is found if a check finds something, or if it hangs or faults. Else it runs late without checks, and its output may not
match the pattern EXPECTED. A survivor whose place is not reached, where a `trap` changes nothing, is counted by itself. The program as it is has
to be silent and match.
"""

import argparse
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter

from mutations import Outcomes, chosen, line_of, mutants
from simtlab_clients.journal import Journal

#: Seconds of processor time after which a run is stopped: so many, and so many times those of the program as it is.
LIMIT, TIMES = 30, 10
#: Seconds of the clock after which a run is stopped that waits.
LONGEST = 1200

#: How PTX begins in a fat binary, and where functions begin.
VERSION = re.compile(rb"\n\.version ")
FUNCTION = re.compile(r"^(?:\.\w+ )*\.(?:entry|func)\b[^({]*?([\w$]+)\s*\(", re.MULTILINE)


class Run:
    """A program that has run: what its launches did, its output, and its seconds of processor time.

    `until` is a kernel, and after how many of its launches the program is stopped. A program is stopped after a finding, too.
    """

    def __init__(self, program, arguments, limit, until=None, checks=True):
        environment = {**os.environ, "SIMTLAB_ASYNC": "late"}
        if not checks:
            environment.pop("SIMTLAB_CHECK", None)
        with tempfile.TemporaryDirectory() as folder:
            path = environment["SIMTLAB_JOURNAL"] = os.path.join(folder, "journal")
            journal, begun, used = Journal(path), time.time(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            self.events, self.ended = journal.take(), True
            with open(os.path.join(folder, "output"), "w+b") as output:
                bound = lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
                child = subprocess.Popen([program, *arguments], stdout=output, stderr=subprocess.STDOUT, env=environment, preexec_fn=bound)
                while child.poll() is None and not self._done(journal, until):
                    if time.time() - begun > LONGEST:
                        self.ended = False
                        break
                    time.sleep(0.02)
                self.ended &= child.poll() not in (-signal.SIGXCPU, -signal.SIGKILL)
                child.kill()
                child.wait()
                self._done(journal, until)
                output.seek(0)
                self.output = output.read().decode(errors="replace")
            self.seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used

    def _done(self, journal, until):
        """Reads what is new; tells whether the rest of the program says nothing more."""
        events = journal.take()
        for name in ("launches", "stops", "findings", "refused"):
            getattr(self.events, name).extend(getattr(events, name))
        kernel, count = until or (None, 1)
        return self.events.stops or self.events.findings or sum(launch.kernel == kernel for launch in self.events.launches) >= count

    def finding(self):
        """What is found, if anything is."""
        kinds = {found["kind"] for found in self.events.findings} | {stop.kind for stop in self.events.stops}
        return ", ".join(sorted(kinds)) or ("" if self.ended else "no end")

    def right(self, expected):
        """Whether the output is as expected."""
        return re.search(expected, self.output, re.MULTILINE)


class Mutant:
    """A program that is changed in one place, and when its run is over."""

    def __init__(self, write, arguments, limit, until):
        self.write, self.arguments, self.limit, self.until = write, arguments, limit, until

    def outcome(self, mutant, trapped, expected):
        """What became of it, and how that is told."""
        checked = Run(self.write(mutant), self.arguments, self.limit, self.until)
        if checked.finding():
            return "found", checked.finding()
        if checked.events.refused:
            return "refused", f"refused: {' '.join(checked.events.refused[0].split())[:120]}"
        free = self.free(mutant)
        if free.finding() or not free.right(expected):
            return "result", free.finding() or "another result"
        return ("unreached", "not reached") if self.free(trapped).right(expected) else ("survived", "survived")

    def free(self, text):
        """A run without checks."""
        return Run(self.write(text), self.arguments, self.limit, checks=False)


class Image:
    """An executable, and the PTX in it: where it begins, its length, and the text with short names of parameters, so that mutants have room."""

    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        self.texts = []
        for found in VERSION.finditer(self.data):
            begin, end = self.data.rfind(b"\0", 0, found.start()) + 1, self.data.index(b"\0", found.start())
            text = self.data[begin:end].decode()
            for function in FUNCTION.finditer(text):
                text = text.replace(f"{function[1]}_param_", "arg")
            self.texts.append((begin, end - begin, text))

    def write(self, path, begin, length, text):
        """Writes a copy with another text in a place, and returns its path."""
        if len(text) > length:
            raise ValueError(f"{len(text) - length} bytes too many in {path.name}")
        path.write_bytes(self.data[:begin] + text.ljust(length).encode() + self.data[begin + length:])
        return path


def kernels(text):
    """The functions in a text: the name of each, and where it begins and ends."""
    functions = list(FUNCTION.finditer(text))
    for found, end in zip(functions, [*(after.start() for after in functions[1:]), len(text)]):
        yield found[1], found.start(), end


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--only", default="", help="mutants whose class and place have this pattern")
    parser.add_argument("--list")
    parser.add_argument("expected")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    name = os.path.basename(options.program)
    original = Run(options.program, options.arguments, 20 * LIMIT)
    if original.finding() or not original.right(options.expected):
        sys.exit(f"{name}: not silent: {original.finding()}\n{original.output[-500:]}")
    launches = Counter(launch.kernel for launch in original.events.launches)
    limit = LIMIT + TIMES * original.seconds
    print(f"{name} as it is: {launches.total()} launches, {original.seconds:.1f} s", flush=True)
    image, outcomes, count = Image(options.program), Outcomes(), 0
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / name
        changed.touch(0o755)
        for at, length, text in image.texts:
            for kernel, begin, end in kernels(text):
                run = Mutant(lambda new: image.write(changed, at, length, new), options.arguments, limit, (kernel, launches[kernel]))
                for each, place, mutant in mutants(text[begin:end]) if launches[kernel] else ():
                    place, mutant, count = place + begin, text[:begin] + mutant + text[end:], count + 1
                    where = f"{name} ptx:{line_of(text, place)}"
                    if chosen(f"{each} {where}", options.share) and re.search(options.only, f"{each} {where}"):
                        kind, told = run.outcome(mutant, f"{text[:place]}trap; {text[place:]}", options.expected)
                        outcomes.add(each, kind, where, told)
    print(f"{name}: a sample of {count} mutants")
    outcomes.table()
    outcomes.write(options.list)


main()
