"""Writes a suite of the size of a paper: the bundled launch files, kernels of other compilers, and random structured kernels.

    suite.py FOLDER [--random N] [--seed S] [--exclude PATTERN]...

FOLDER gets `suite.toml` and `random/`. The same seed writes the same files.
"""

import argparse
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREADS = 96
SCALARS = 5

HEADER = """.version 7.0
.target sm_70
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
.reg .pred %p<200>;
.reg .u32 %v<16>;
.reg .u32 %t<400>;
.reg .u64 %a<4>;
.shared .u32 tile[96];
ld.param.u64 %a0, [in];
ld.param.u64 %a1, [out];
mov.u32 %t0, %tid.x;
mov.u32 %t1, %ctaid.x;
mad.lo.u32 %t0, %t1, 96, %t0;
mul.wide.u32 %a2, %t0, 4;
add.u64 %a0, %a0, %a2;
add.u64 %a1, %a1, %a2;
ld.global.u32 %v0, [%a0];
"""


class Kernel:
    """A kernel whose conditionals and loops depend on lanes; all loops end."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = [f"add.u32 %v{i}, %v0, {self.random.randrange(1, 1 << 16)};" for i in range(1, SCALARS)]
        self.predicates = self.temporaries = self.labels = 0

    def fresh(self, kind):
        if kind == "p":
            self.predicates += 1
            return f"%p{self.predicates}"
        self.temporaries += 1
        return f"%t{self.temporaries + 1}"

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def value(self):
        return f"%v{self.random.randrange(SCALARS)}"

    def emit(self, line):
        self.lines.append(line)

    def condition(self):
        """A predicate of some bits of a value, or of the thread's number."""
        bits, predicate = self.fresh("t"), self.fresh("p")
        source = self.value() if self.random.random() < 0.7 else "%t0"
        self.emit(f"and.b32 {bits}, {source}, {self.random.choice([1, 2, 3, 4, 6, 7, 12, 15])};")
        self.emit(f"setp.{self.random.choice(['eq', 'ne', 'lt', 'gt'])}.u32 {predicate}, {bits}, {self.random.randrange(4)};")
        return predicate

    def compute(self):
        operation = self.random.choice(["add.u32", "sub.u32", "xor.b32", "mul.lo.u32", "min.u32", "max.u32"])
        second = self.value() if self.random.random() < 0.6 else str(self.random.randrange(1, 1000))
        self.emit(f"{operation} {self.value()}, {self.value()}, {second};")

    def conditional(self, depth, inside):
        predicate, other, end = self.condition(), self.label(), self.label()
        self.emit(f"@{predicate} bra {other};")
        self.body(depth - 1, inside)
        if self.random.random() < 0.6:
            self.emit(f"bra {end};")
            self.emit(f"{other}:")
            self.body(depth - 1, inside)
            self.emit(f"{end}:")
        else:
            self.emit(f"{other}:")

    def loop(self, depth, inside):
        """At most 8 rounds, as many as three bits of a value say; `break` and `continue` may be within."""
        count, predicate, head, end = self.fresh("t"), self.fresh("p"), self.label(), self.label()
        self.emit(f"and.b32 {count}, {self.value()}, {self.random.choice([3, 7])};")
        self.emit(f"{head}:")
        self.emit(f"setp.eq.u32 {predicate}, {count}, 0;")
        self.emit(f"@{predicate} bra {end};")
        self.emit(f"sub.u32 {count}, {count}, 1;")
        self.body(depth - 1, inside + [(head, end)])
        self.emit(f"bra {head};")
        self.emit(f"{end}:")

    def cases(self, depth, inside):
        """A chain of cases of one value, some of which fall into the next."""
        selector, end = self.fresh("t"), self.label()
        labels = [self.label() for _ in range(self.random.randrange(3, 6))]
        self.emit(f"and.b32 {selector}, {self.value()}, 7;")
        for case, label in enumerate(labels):
            predicate = self.fresh("p")
            self.emit(f"setp.eq.u32 {predicate}, {selector}, {case};")
            self.emit(f"@{predicate} bra {label};")
        self.emit(f"bra {end};")
        for label in labels:
            self.emit(f"{label}:")
            self.body(depth - 1, inside)
            if self.random.random() < 0.7:
                self.emit(f"bra {end};")
        self.emit(f"{end}:")

    def statement(self, depth, inside):
        choice = self.random.random()
        if depth > 0 and self.predicates < 150 and choice < 0.5:
            self.random.choice([self.conditional, self.conditional, self.loop, self.cases])(depth, inside)
        elif inside and choice < 0.58:
            self.emit(f"@{self.condition()} bra {self.random.choice(inside[-1])};")
        elif choice < 0.61:
            self.emit(f"@{self.condition()} bra DONE;")
        else:
            self.compute()

    def body(self, depth, inside):
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, inside)

    def exchange(self):
        """Each thread reads what its neighbour in the block wrote, between two barriers."""
        place, partner = self.fresh("t"), self.fresh("t")
        self.emit("bar.sync 0;")
        self.emit(f"mov.u32 {place}, %tid.x;")
        self.emit(f"shl.b32 {partner}, {place}, 2;")
        self.emit(f"mov.u32 {place}, tile;")
        self.emit(f"add.u32 {partner}, {partner}, {place};")
        self.emit(f"st.shared.u32 [{partner}], %v1;")
        self.emit("bar.sync 0;")
        other = self.fresh("t")
        self.emit(f"mov.u32 {other}, %tid.x;")
        self.emit(f"xor.b32 {other}, {other}, {self.random.choice([1, 2, 16, 31])};")
        self.emit(f"shl.b32 {other}, {other}, 2;")
        self.emit(f"add.u32 {other}, {other}, {place};")
        self.emit(f"ld.shared.u32 %v{self.random.randrange(SCALARS)}, [{other}];")

    def text(self):
        if self.random.random() < 0.4:
            self.exchange()
        for _ in range(self.random.randrange(2, 6)):
            self.statement(self.random.randrange(1, 4), [])
        self.lines.append("DONE:")
        for other in range(1, SCALARS):
            self.lines.append(f"xor.b32 %v0, %v0, %v{other};")
        return HEADER + "\n".join(self.lines) + "\nst.global.u32 [%a1], %v0;\nret;\n}\n"


LAUNCH = """schema = 1
machine = "ptx"
module = "{name}.ptx"

[buffers]
in = "u32[{threads}]:random"
out = "u32[{threads}]:zeros"

[[launch]]
kernel = "k"
grid = [2]
block = [{block}]
args = ["&in", "&out"]
"""

SUITE = """schema = 1
name = "paper"

[[kernels]]
paths = [
  "{root}/kernels/**/*.toml",
  "{root}/crates/filetests/tests/compilers/*.toml",
  "random/*.toml",
]
exclude = [{exclude}]

[sweep]
mechanisms = ["serial", "ipdom", "tf-stack", "min-pc", "exec-mask"]
warp_sizes = [8, 32]
limit = 20000000
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exclude", action="append", default=[], help="launch files to leave out, from the repository's root")
    options = parser.parse_args()
    kernels = options.folder / "random"
    kernels.mkdir(parents=True, exist_ok=True)
    for number in range(options.random):
        name = f"random{number:03}"
        (kernels / f"{name}.ptx").write_text(Kernel(options.seed * 1_000_003 + number).text())
        (kernels / f"{name}.toml").write_text(LAUNCH.format(name=name, threads=2 * THREADS, block=THREADS))
    (options.folder / "suite.toml").write_text(SUITE.format(root=ROOT, exclude=", ".join(f'"{ROOT}/{pattern}"' for pattern in options.exclude)))


main()
