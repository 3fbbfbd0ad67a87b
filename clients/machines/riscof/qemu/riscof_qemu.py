"""QEMU's user mode as the reference of RISCOF: a test writes its signature to standard output (see ../../riscv/model_test.h)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../simtlab"))

from riscof_simtlab import simtlab

# Writes standard input as words of 4 bytes, a line each, as signatures are.
WORDS = "od -An -v -tx4 -w4 | tr -d ' '"


class qemu(simtlab):
    """The reference."""

    __model__ = "qemu-riscv64"

    def simulated(self, elf, signature):
        return f"{self.command} {elf} | {WORDS} > {signature}"
