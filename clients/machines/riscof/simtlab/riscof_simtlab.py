"""The machine `pmask` as a device under test of RISCOF: programs are built with GCC, run by `simtlab`, and leave their signatures.

The section `simtlab` of the configuration has `pluginpath`, `ispec`, `pspec`, `PATH` (the command `simtlab`) and `jobs`.
"""

import os

import riscof.utils as utils
from riscof.pluginTemplate import pluginTemplate

# Where RISC-V programs of a test find `model_test.h` and the linker script.
ENVIRONMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../riscv")
GCC = "riscv64-unknown-elf-gcc -static -mcmodel=medany -nostdlib -nostartfiles -w -mabi=lp64"


class simtlab(pluginTemplate):
    """The device under test."""

    __model__ = "simtlab-pmask"
    __version__ = "1"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        config = kwargs.get("config") or {}
        missing = [key for key in ("pluginpath", "ispec", "pspec", "PATH") if key not in config]
        if missing:
            raise SystemExit(f"the section [{self.__class__.__name__}] of the configuration lacks {', '.join(missing)}")
        self.isa_spec, self.platform_spec = (os.path.abspath(config[key]) for key in ("ispec", "pspec"))
        self.command, self.jobs = config["PATH"], str(config.get("jobs", 1))

    def initialise(self, suite, work_dir, archtest_env):
        self.work_dir, self.includes = work_dir, f"-I{ENVIRONMENT} -I{archtest_env} -T{ENVIRONMENT}/arch_test.ld"

    def build(self, isa_yaml, platform_yaml):
        self.xlen = max(utils.load_yaml(isa_yaml)["hart0"]["supported_xlen"])

    def compiled(self, test, elf):
        """The command that builds a test."""
        macros = " ".join(f"-D{macro}" for macro in test["macros"])
        return f"{GCC} -march={test['isa'].lower()} {self.includes} {macros} -o {elf} {test['test_path']}"

    def simulated(self, elf, signature):
        """The command that runs a test and leaves its signature."""
        return f"{self.command} run --isa pmask {elf} --stats none --signature {signature} > /dev/null"

    def runTests(self, testList):
        name = self.name.rstrip(":")
        makefile = os.path.join(self.work_dir, f"Makefile.{name}")
        if os.path.exists(makefile):
            os.remove(makefile)
        make = utils.makeUtil(makefilePath=makefile)
        make.makeCommand = f"make -k -j{self.jobs}"
        for test in testList.values():
            elf, signature = f"{name}.elf", os.path.join(test["work_dir"], f"{name}.signature")
            make.add_target(f"@cd {test['work_dir']}; {self.compiled(test, elf)} && {self.simulated(elf, signature)};")
        make.execute_all(self.work_dir)
