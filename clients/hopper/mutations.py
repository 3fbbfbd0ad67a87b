"""Mutations of the protocols of kernels: PTX with one place changed.

A fence, wait, barrier or arrival dropped, a parity flipped, a count changed by one, a wait that leaves one group more, an arrival that comes
before the last use of what it releases.
"""

import hashlib
import re
from collections import Counter, defaultdict

#: A wait for a phase: its predicate, parity and, with a limit, what follows.
WAIT = re.compile(r"mbarrier\.(?:try|test)_wait\.parity[\w:.]*\s+([%\w]+), *\[[^\]]*\], *(%?\w+)(, *%?\w+)?;")

#: A guard in front of an instruction.
GUARD = r"(?:@!?[%\w]+\s+)?"


def dropped(pattern):
    """Mutations that leave out an instruction with its guard."""

    def mutate(text):
        for found in re.finditer(GUARD + pattern, text):
            yield found.start(), text[:found.start()] + text[found.end():]

    return mutate


def changed(pattern, change):
    """Mutations that write something else for what a pattern matches."""

    def mutate(text):
        for found in re.finditer(pattern, text):
            for new in change(found):
                yield found.start(), text[:found.start()] + new + text[found.end():]

    return mutate


def other_parity(found):
    begin, end = (at - found.start() for at in found.span(2))
    before, after = found[0][:begin], found[0][end:]
    if found[2].startswith("%"):
        register = "parity_of_mutant"
        yield f".reg .b32 {register}; xor.b32 {register}, {found[2]}, 1; {before}{register}{after}"
    else:
        yield f"{before}{1 - int(found[2], 0)}{after}"


def other_number(step):
    """A number that is greater or smaller by a step, of constants no smaller one than 1."""

    def change(found):
        for more in (-step, step):
            if found[2].startswith("%"):
                register = "number_of_mutant"
                sum = f".reg .b32 {register}; add.s32 {register}, {found[2]}, {more};"
                yield f"{sum} {found[1]}{register}{found[3]}"
            elif int(found[2], 0) + more > 0:
                yield f"{found[1]}{int(found[2], 0) + more}{found[3]}"

    return change


WAIT_FOR_PRODUCTS = re.compile(r"wgmma\.wait_group[\w:.]*\s+\d+;")


def early(pattern):
    """Mutations that do an instruction before the wait for products that is in front of it."""

    def mutate(text):
        for found in re.finditer(GUARD + pattern, text):
            waits = list(WAIT_FOR_PRODUCTS.finditer(text, 0, found.start()))
            if waits:
                wait, end = waits[-1], found.end()
                yield found.start(), text[:wait.start()] + text[wait.end():end] + " " + wait[0] + text[end:]

    return mutate


CLASSES = {
    "proxy fence dropped": dropped(r"fence\.proxy\.async[\w:.]*;"),
    "fence of initialisation dropped": dropped(r"fence\.mbarrier_init[\w:.]*;"),
    "register fence dropped": dropped(r"wgmma\.fence[\w:.]*;"),
    "wait for products dropped": dropped(r"wgmma\.wait_group[\w:.]*\s+\d+;"),
    "wait for products leaves one more": changed(
        r"(wgmma\.wait_group[\w:.]*\s+)(\d+)(;)", lambda found: [f"{found[1]}{int(found[2]) + 1}{found[3]}"]),
    "wait for copies dropped": dropped(r"cp\.async\.bulk\.wait_group[\w:.]*\s+\d+;"),
    "commit of copies dropped": dropped(r"cp\.async\.bulk\.commit_group;"),
    "wait for a phase dropped": changed(WAIT, lambda found: [f"setp.eq.u32 {found[1]}, 0, 0;"]),
    "parity flipped": changed(WAIT, other_parity),
    "barrier dropped": dropped(r"\b(?:bar|barrier)\.(?:cta\.)?sync[\w:.]*\s[^;]*;"),
    "barrier of the cluster dropped": dropped(r"barrier\.cluster\.(?:arrive|wait)[\w:.]*;"),
    "arrival at a barrier of warps dropped": dropped(r"\b(?:bar|barrier)\.(?:cta\.)?arrive[\w:.]*\s[^;]*;"),
    "fence of a tensor map dropped": dropped(r"fence\.proxy\.tensormap[\w:.]*\s[^;]*;"),
    "arrival made early": early(r"mbarrier\.arrive\.(?!expect_tx)[\w:.]*\s[^;]*;"),
    "arrival dropped": dropped(r"mbarrier\.arrive\.(?!expect_tx)[\w:.]*\s[^;]*;"),
    "count of arrivals changed": changed(r"(mbarrier\.init[\w:.]*\s+\[[^\]]*\], *)(%?\w+)(;)", other_number(1)),
    "bytes of transactions changed": changed(r"(mbarrier\.arrive\.expect_tx[\w:.]*\s[^;]*, *)(%?\w+)(;)", other_number(16)),
}


def mutants(text):
    """All mutants of a kernel: class, where it is changed, text."""
    for name, mutate in CLASSES.items():
        for at, mutant in mutate(text):
            yield name, at, mutant


def line_of(text, at):
    """The number of the line of a place."""
    return text.count("\n", 0, at) + 1


def chosen(key, share):
    """Whether a mutant belongs to the sample."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") < share * 2**32


class Outcomes:
    """What became of mutants, by class: found, another result without a finding, survived, changed where the kernel does not come, or refused."""

    KINDS = ("found", "result", "survived", "unreached", "refused")

    def __init__(self):
        self.counts, self.survivors = defaultdict(Counter), []

    def add(self, name, kind, place, told):
        """Counts a mutant of a class, and tells of it."""
        self.counts[name][kind] += 1
        if kind in ("survived", "result"):
            self.survivors.append((name, place, told))
        print(f"{name:37} {place}: {told}", flush=True)

    def table(self):
        """Prints the counts."""
        print(f"{'class':37} {'mutants':>9}" + "".join(f" {kind:>9}" for kind in self.KINDS))
        total = sum(self.counts.values(), Counter())
        for name, counts in [*self.counts.items(), ("all", total)]:
            print(f"{name:37} {sum(counts.values()):9}" + "".join(f" {counts[kind]:9}" for kind in self.KINDS), flush=True)

    def write(self, path):
        """Writes the survivors to a file, if there is one to write to."""
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines("\t".join(row) + "\n" for row in self.survivors)
