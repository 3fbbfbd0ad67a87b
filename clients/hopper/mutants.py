"""Mutations of the tutorials' kernels: mutants.py CHECKOUT [--only TEXT] [--share S] [--list FILE].

A mutant is a kernel's PTX with one place of its protocol changed (`mutations.py`). It runs under checks, with asynchronous steps done late, in a process of its own.
It is found if a check finds something, if it hangs or faults, or if its result is wrong; each in this order.
"""

import argparse
import os
import re
import sys
import tempfile
import time

import tutorials
from mutations import Outcomes, chosen, line_of, mutants
from simtlab_clients.journal import Journal

#: Seconds after which a mutant is stopped.
LIMIT = 120

def in_process(work, limit=LIMIT):
    """Does work in a process of its own, with a journal of its own: the events, and what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        journal, told = os.path.join(folder, "journal"), os.path.join(folder, "told")
        child = os.fork()
        if child == 0:
            os.environ["SIMTLAB_JOURNAL"] = journal
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            try:
                with open(told, "w", encoding="utf-8") as file:
                    file.write(work() or "")
            finally:
                os._exit(0)
        end = time.time() + limit
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.time() > end:
                os.kill(child, 9)
                os.waitpid(child, 0)
                return None, "no end"
            time.sleep(0.02)
        events = Journal(journal).take()
        with open(told, encoding="utf-8") as file:
            return events, file.read()


def run_with(run, change):
    """Runs a kernel whose PTX a function changes; tells what is wrong with its result."""
    driver = tutorials.triton.runtime.driver.active
    load = driver.utils.load_binary
    driver.utils.load_binary = lambda name, image, *rest: load(name, change(name, image), *rest)
    try:
        run()
    except AssertionError:
        return "another result"
    except Exception as error:
        return f"error: {' '.join(str(error).split())[:80]}"
    return ""


def images(run):
    """The PTX that a kernel's launches load."""

    def work():
        seen = []

        def keep(name, image):
            seen.append(image.decode() if isinstance(image, bytes) else image)
            return image

        wrong = run_with(run, keep)
        return wrong or "\0".join(seen)

    return in_process(work, 10 * LIMIT)


def outcome(run, original, mutant):
    """What is found of a mutant."""

    def change(_, image):
        text = image.decode() if isinstance(image, bytes) else image
        return mutant.encode() if text == original else image

    events, told = in_process(lambda: run_with(run, change))
    if events is None:
        return "no end"
    kinds = sorted({found["kind"] for found in events.findings} - {tutorials.REPLICATED})
    if kinds:
        return ", ".join(kinds)
    if events.stops:
        return events.stops[0].kind
    return "another result" if told == "another result" else "refused" if told else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkout")
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--list")
    options = parser.parse_args()
    outcomes = Outcomes()
    for tutorial, kernel, run, defect in tutorials.ROWS:
        if defect or not re.search(options.only, f"{tutorial} {kernel}"):
            continue
        events, told = images(run)
        kinds = {found["kind"] for found in events.findings} if events else set()
        if events is None or kinds - {tutorials.REPLICATED} or events.stops or not events.launches:
            print(f"{tutorial} {kernel}: not silent: {told[:80]}", flush=True)
            continue
        for original in dict.fromkeys(told.split("\0")):
            for name, at, mutant in mutants(original):
                line = line_of(original, at)
                if not chosen(f"{tutorial} {kernel} {name} {line}", options.share):
                    continue
                what = outcome(run, original, mutant)
                kind = {"": "survived", "another result": "result", "refused": "refused"}.get(what, "found")
                outcomes.add(name, kind, f"{tutorial} {kernel} ptx:{line}", what or "survived")
    outcomes.table()
    outcomes.write(options.list)


main()
