"""Builds public RISC-V programs with GCC and runs them on the machine `pmask`.

Usage: pmask.py SIMTLAB SOURCES FOLDER [SUITE...]. SOURCES holds checkouts of riscv-tests (with `env`), riscv-arch-test, embench-iot and
coremark; executables go to FOLDER. The signatures of riscv-arch-test are held against qemu-riscv64 with the same executables.
Exit code 1 if a program ends differently than it should, and than EXPECTED says.
"""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
GCC = "riscv64-unknown-elf-gcc"
# Programs that cannot agree, with the reason.
EXPECTED = {
    "arch-test B ctzw-01": "QEMU before 8.0 counts in 64 bits where the lower half is zero",
    "arch-test C cebreak-01": "under QEMU's user mode a breakpoint ends the process",
}
SUITES_OF_TESTS = ("ui", "um", "ua", "uf", "ud", "uc", "mi", "uzba", "uzbb", "uzbc", "uzbs")
ARCH_SUITES = {"I": "rv64i", "M": "rv64im", "A": "rv64ia", "C": "rv64ic", "B": "rv64i_zba_zbb_zbc_zbs", "F": "rv64if", "D": "rv64ifd"}
ZCB = ("csext", "czext", "clbu", "clh", "csb", "csh", "cmul", "cnot")
BENCHMARKS = ("dhrystone", "median", "qsort", "rsort", "towers", "vvadd", "memcpy", "multiply", "mm", "spmv")
COREMARK = {"seedcrc": "0xe9f5", "crclist": "0xe714", "crcmatrix": "0x1fd7", "crcstate": "0x8e3a", "crcfinal": "0xfcaf"}
PICOLIBC = ("-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-O2", "--specs=picolibc.specs", "--oslib=semihost", "--crt0=hosted")


class Refused(Exception):
    """A program that the compiler refuses, or one that does not end as it should."""


def build(out, *arguments):
    """Compiles and links a program."""
    done = subprocess.run((GCC, "-w", *arguments, "-o", out), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line]
        raise Refused(f"not built: {(lines or ['?'])[0].strip()}")
    return out


class Machine:
    """The machine, and the folder for executables."""

    def __init__(self, simtlab, sources, folder):
        self.simtlab, self.sources, self.folder = simtlab, sources, folder

    def run(self, program, *more):
        """Runs a program; returns its exit code, its output, and messages."""
        command = (self.simtlab, "run", "--isa", "pmask", program, "--stats", "none", *more)
        done = subprocess.run(command, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")

    def good(self, program, *more):
        """Runs a program that checks itself."""
        code, output, messages = self.run(program, *more)
        if code:
            raise Refused(f"exit {code}: {(messages.splitlines() or ['?'])[0]}")
        return output.decode(errors="replace")

    def out(self, *names):
        """The path of an executable."""
        path = os.path.join(self.folder, "-".join(names))
        return path

    def tests(self):
        """The programs of riscv-tests, in the environment `p`."""
        root = f"{self.sources}/riscv-tests"
        for suite in SUITES_OF_TESTS:
            march = "rv64g_zba_zbb_zbc_zbs" if suite.startswith("uzb") else "rv64g"
            for source in sorted(glob.glob(f"{root}/isa/rv64{suite}/*.S")):
                name = os.path.basename(source)[:-2]
                out = self.out("rv64" + suite, name)
                flags = (f"-march={march}", "-mabi=lp64", "-static", "-mcmodel=medany", "-nostdlib", "-nostartfiles")
                places = (f"-I{root}/env/p", f"-I{root}/isa/macros/scalar", f"-T{root}/env/p/link.ld")
                yield f"riscv-tests {suite} {name}", lambda s=source, o=out, f=(*flags, *places): self.good(build(o, *f, s))

    def benchmarks(self):
        """The benchmarks of riscv-tests, which compare their results."""
        root = f"{self.sources}/riscv-tests/benchmarks"
        common = (*sorted(glob.glob(f"{root}/common/*.c")), *sorted(glob.glob(f"{root}/common/*.S")))
        for name in BENCHMARKS:
            sources = (*sorted(glob.glob(f"{root}/{name}/*.c")), *sorted(glob.glob(f"{root}/{name}/*.S")))
            flags = ("--specs=picolibc.specs", "-march=rv64gc", "-mabi=lp64d", "-DPREALLOCATE=1", "-mcmodel=medany", "-static", "-std=gnu99", "-O2", "-ffast-math",
                     "-fno-common", "-fno-builtin-printf", "-fno-tree-loop-distribute-patterns", f"-I{root}/../env", f"-I{root}/common",
                     f"-I{root}/{name}")
            link = ("-nostdlib", "-nostartfiles", "-lm", "-lgcc", f"-T{root}/common/test.ld")
            yield f"benchmarks {name}", lambda f=(*flags, *sources, *common, *link), o=self.out("bench", name): self.good(build(o, *f))

    def signature(self, suite, source):
        """Compares a signature of riscv-arch-test with the one that QEMU gives."""
        name = os.path.basename(source)[:-2]
        env = f"{self.sources}/riscv-arch-test/riscv-test-suite/env"
        wide = "64" if suite == "D" else "32"
        cases = [f"-DTEST_CASE_{i}=True" for i in range(1, 33)]
        out = build(self.out("arch", suite, name), f"-march={ARCH_SUITES[suite]}", "-mabi=lp64", "-static", "-mcmodel=medany", "-nostdlib",
                    "-nostartfiles", f"-I{HERE}/riscv", f"-I{env}", f"-T{HERE}/riscv/arch_test.ld", "-DXLEN=64", f"-DFLEN={wide}", *cases, source)
        theirs = subprocess.run(("qemu-riscv64", out), capture_output=True, check=False)
        code, ours, messages = self.run(out)
        if theirs.returncode:
            raise Refused(f"QEMU ends with {theirs.returncode}, this machine with {code}")
        if code:
            raise Refused(f"exit {code}: {(messages.splitlines() or ['?'])[0]}")
        if not ours or ours != theirs.stdout:
            words = [i for i in range(0, len(ours), 8) if ours[i : i + 8] != theirs.stdout[i : i + 8]]
            raise Refused(f"{len(words)} of {len(ours) // 8} double words differ")

    def arch_tests(self):
        """The programs of riscv-arch-test."""
        for suite in ARCH_SUITES:
            for source in sorted(glob.glob(f"{self.sources}/riscv-arch-test/riscv-test-suite/rv64i_m/{suite}/src/*.S")):
                name = os.path.basename(source)[:-2]
                needed = re.findall(r'RVTEST_ISA\("([\w,]+)"\)', open(source, encoding="utf-8").read())
                # Zcb stands beside C, and scalar cryptography beside the bit manipulation.
                if name.startswith(ZCB) or (re.search(r"Zb[km]|Zk", needed[0]) and not re.search(r"Zb[abcs]", needed[0])):
                    continue
                yield f"arch-test {suite} {name}", lambda s=suite, p=source: self.signature(s, p)

    def embench(self):
        """The programs of embench-iot, which verify their results."""
        root = f"{self.sources}/embench-iot"
        for folder in sorted(glob.glob(f"{root}/src/*")):
            name = os.path.basename(folder)
            flags = (*PICOLIBC, "-DCPU_MHZ=1", "-DGLOBAL_SCALE_FACTOR=1", "-DWARMUP_HEAT=1", f"-I{root}/support", f"-I{folder}")
            sources = (*sorted(glob.glob(f"{folder}/*.c")), f"{root}/support/main.c", f"{root}/support/beebsc.c", f"{HERE}/riscv/boardsupport.c")
            yield f"embench {name}", lambda f=(*flags, *sources), o=self.out("embench", name): self.good(build(o, *f, "-lm"))

    def coremark(self):
        """CoreMark's own verdict and its checksums."""
        root = f"{self.sources}/coremark"

        def verdict():
            sources = [f"{root}/{name}.c" for name in ("core_list_join", "core_main", "core_matrix", "core_state", "core_util")]
            flags = (*PICOLIBC, f"-I{root}", f"-I{root}/simple", '-DFLAGS_STR="-O2"', "-DITERATIONS=10", "-DPERFORMANCE_RUN=1", "-DCLOCKS_PER_SEC=1")
            text = self.good(build(self.out("coremark"), *flags, *sources, f"{root}/simple/core_portme.c"))
            found = dict(re.findall(r"(?:\[0\])?(seedcrc|crc\w+)\s*: (0x\w+)", text))
            if found != COREMARK:
                raise Refused(f"checksums {found}; {text[-200:]}")

        yield "coremark 2K performance run", verdict


def outcome(job):
    """Runs a job; the reason of its failure, if any."""
    name, work = job
    try:
        work()
    except Refused as reason:
        return name, str(reason)
    return name, None


def main():
    """Runs the suites."""
    simtlab, sources, folder, *only = sys.argv[1:]
    machine = Machine(simtlab, sources, folder)
    suites = {"tests": machine.tests, "benchmarks": machine.benchmarks, "arch-test": machine.arch_tests, "embench": machine.embench,
              "coremark": machine.coremark}
    passed = failed = 0
    for suite, jobs in suites.items():
        if only and suite not in only:
            continue
        jobs = list(jobs())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(outcome, jobs))
        wrong = [(name, reason) for name, reason in results if reason]
        for name, reason in wrong:
            known = EXPECTED.get(name)
            print(f"{'expected' if known else 'FAILED'} {name}: {reason}" + (f" ({known})" if known else ""))
            failed += not known
        passed += len(results) - len(wrong)
        print(f"{suite}: {len(results) - len(wrong)} of {len(results)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
