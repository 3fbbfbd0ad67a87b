"""Runs programs of a checkout of LinxISA/LinxCore on `simtlab --isa linx` and checks what they print.

Usage: linx.py SIMTLAB CHECKOUT. Exit code 1 if one of them does not print what it should.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

# What EEMBC's CoreMark prints for its 2K performance run with 10 iterations.
COREMARK = {"seedcrc": "0xe9f5", "crclist": "0xe714", "crcmatrix": "0x1fd7", "crcstate": "0x8e3a", "crcfinal": "0xfcaf"}
# Instructions a second, so that ten iterations take the ten seconds that CoreMark asks for.
CLOCK = "clock=100000"


def archive(folder, name, pattern):
    """Packs objects into an archive; the format needs no tool for the machine."""
    path = os.path.join(folder, name)
    with open(path, "wb") as out:
        out.write(b"!<arch>\n")
        for member in sorted(glob.glob(pattern)):
            data = open(member, "rb").read()
            out.write(f"{os.path.basename(member)[:15] + '/':<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode())
            out.write(data + b"\n" * (len(data) % 2))
    return path


def run(simtlab, program, *more):
    """Runs a program; returns its exit code and what it printed."""
    command = [simtlab, "run", "--isa", "linx", program, "--stats", "none", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def coremark(simtlab, root, folder):
    """Checks CoreMark's own verdict and its checksums."""
    path = archive(folder, "coremark.a", f"{root}/elf/coremark/*.o")
    code, text = run(simtlab, path, "--option", CLOCK)
    found = dict(re.findall(r"(seedcrc|crc\w+)\s*: (0x\w+)", text))
    good = code == 0 and found == COREMARK and "Correct operation validated." in text
    return good, f"exit {code}, {found}" if not good else "Correct operation validated; checksums as published"


def dhrystone(simtlab, root, folder):
    """Compares each value that Dhrystone prints with the one that it says it should be."""
    path = archive(folder, "dhrystone.a", f"{root}/elf/dhrystone/*.o")
    code, text = run(simtlab, path, "--option", CLOCK)
    pairs = re.findall(r"^\s*([\w\[\]]+):\s+(.*)\n\s+should be:\s+(.*)$", text, re.M)
    # The program is built for one run, so the sum is 1 + 10 less what it began with.
    odd = [f"{name}: {got}, should be {want}" for name, got, want in pairs if got != want and not want.startswith(("(imp", "Number"))]
    good = code == 0 and len(pairs) >= 18 and not odd
    return good, f"{len(pairs) - len(odd)} of {len(pairs)} values" + (f"; {odd}, exit {code}" if not good else "")


def specrand(simtlab, root, _folder):
    """Runs a static-pie executable with musl; it prints a sequence for its two seeds."""
    path = glob.glob(f"{root}/../benchmarks_specint_stage_a/elf/999.specrand_ir/exe/*")[0]
    code, text = run(simtlab, path, "--option", "arguments=11 3")
    good = code == 0 and "seed = 11" in text and "387126220" in text
    usage, words = run(simtlab, path)
    good = good and usage == 3 and "Please supply seed and count" in words
    return good, f"exit {code}, {len(text.splitlines())} lines"


def main():
    """Runs everything."""
    simtlab, checkout = sys.argv[1:]
    root = os.path.join(checkout, "tests/benchmarks_latest_llvm_musl")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for program in (coremark, dhrystone, specrand):
            good, words = program(simtlab, root, folder)
            failed += not good
            print(f"{'ok' if good else 'FAILED'} {program.__name__}: {words}")
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
