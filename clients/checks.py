"""Counts checks: each is a function, called by name, that raises if something is wrong."""

import sys
import traceback

CHECKS = []


def check(function):
    """Marks a function as a check."""
    CHECKS.append(function)
    return function


def run():
    """Runs all checks, says how many passed, and ends the program."""
    failed = []
    for function in CHECKS:
        try:
            function()
        except BaseException:
            traceback.print_exc()
            failed.append(function.__name__)
    print(f"{len(CHECKS) - len(failed)} passed, {len(failed)} failed" + "".join(f" {name}" for name in failed))
    sys.exit(1 if failed else 0)
