"""Mutations of the protocols of kernels: PTX with one place changed.

A fence, wait, barrier or arrival dropped, a parity flipped, a count changed by one, a wait that leaves one group more, an arrival that comes
before the last use of what it releases.
"""

import re

WAIT = re.compile(r"mbarrier\.try_wait\.parity[\w:.]*\s+([%\w]+), *\[[^\]]*\], *(%?\w+);")


def dropped(pattern):
    """Mutations that leave out an instruction with its guard."""

    def mutate(text):
        for found in re.finditer(r"(?:@!?%\w+\s+)?" + pattern, text):
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
    register = "parity_of_mutant"
    wait = found[0].replace(f"{found[2]};", f"{register};")
    yield f".reg .b32 {register}; xor.b32 {register}, {found[2]}, 1; {wait}" if found[2].startswith("%") else found[0].replace(
        f" {found[2]};", f" {1 - int(found[2], 0)};")


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
        for found in re.finditer(r"(?:@!?%\w+\s+)?" + pattern, text):
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
    "wait for a phase dropped": changed(WAIT, lambda found: [f"setp.eq.u32 {found[1]}, 0, 0;"]),
    "parity flipped": changed(WAIT, other_parity),
    "barrier dropped": dropped(r"(?:bar\.sync|barrier\.sync)[\w:.]*\s[^;]*;"),
    "barrier of the cluster dropped": dropped(r"barrier\.cluster\.(?:arrive|wait)[\w:.]*;"),
    "arrival made early": early(r"mbarrier\.arrive\.(?!expect_tx)[\w:.]*\s[^;]*;"),
    "arrival dropped": dropped(r"mbarrier\.arrive\.(?!expect_tx)[\w:.]*\s[^;]*;"),
    "count of arrivals changed": changed(r"(mbarrier\.init[\w:.]*\s+\[[^\]]*\], *)(%?\w+)(;)", other_number(1)),
    "bytes of transactions changed": changed(r"(mbarrier\.arrive\.expect_tx[\w:.]*\s[^;]*, *)(%?\w+)(;)", other_number(16)),
}


def mutants(text):
    """All mutants of a kernel: class, line, text."""
    for name, mutate in CLASSES.items():
        for at, mutant in mutate(text):
            yield name, text.count("\n", 0, at) + 1, mutant
