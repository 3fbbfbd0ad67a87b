"""Which of the instructions that CCCL's `cuda::ptx` wrappers emit does the front end take, by family?

Every inline assembly statement of the wrappers' headers becomes one PTX file: operands are registers of the type of
their constraint, and constants are 16. `simtlab check` decides. With --ptxas, forms that it does not take for the target
are left out: without --target, for none of some targets.

    python3 forms.py INCLUDE SIMTLAB [--list FAMILY] [--target TARGET] [--ptxas PTXAS]
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import tempfile

ASM = re.compile(r'asm(?:\s+volatile)?\s*\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+):(.*?)\)\s*;', re.S)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
OPERAND = re.compile(r'"[=+]?&?([a-z])"\s*\(')
REGISTERS = {"h": ("b16", "%h"), "r": ("b32", "%r"), "l": ("b64", "%l"), "f": ("f32", "%f"), "d": ("f64", "%d"), "q": ("b128", "%q")}


def statements(include):
    """The text of each statement and the constraints of its operands."""
    folder = pathlib.Path(include) / "cuda/__ptx/instructions/generated"
    for path in sorted(folder.glob("*.h")):
        source = path.read_text().split("\n#include", 1)[-1]
        source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
        for found in ASM.finditer(source):
            text = "".join(LITERAL.findall(found[1])).replace("\\n", "\n").replace("\\t", " ")
            yield path.stem, text, OPERAND.findall(found[2])


def file(text, constraints, target):
    """A kernel with one statement."""
    def operand(found):
        kind = constraints[int(found[1])]
        return "16" if kind == "n" else f"{REGISTERS[kind][1]}{found[1]}"

    body = re.sub(r"%%", "%", re.sub(r"%(\d+)", operand, text))
    registers = "\n".join(f".reg .{ty} {name}<{len(constraints) + 1}>;" for ty, name in REGISTERS.values())
    return f".version 9.5\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{registers}\n{body}\nret;\n}}\n"


#: Targets, of which a form is judged for the first that ptxas takes it for.
TARGETS = ("sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_110a", "sm_120a")


PLAIN = {"setp", "mov", "selp"}


def family(text):
    """The opcode, with the word that tells one use of it from others."""
    found = re.findall(r"(?:^|[;{}]|@\S+\s)\s*([a-z][a-z0-9_]*(?:\.[A-Za-z0-9_:]+)*)", text)
    opcodes = [name for name in found if name.split(".")[0] not in PLAIN] or found
    words = (opcodes or [text.strip()])[0].split(".")
    if words[0] in ("cp", "red", "st", "barrier", "fence") and len(words) > 1:
        return ".".join(words[: 3 if words[1] == "reduce" else 2])
    return words[0]


def works(include):
    """The statements, each once."""
    seen = set()
    for header, text, constraints in statements(include):
        if (text, tuple(constraints)) not in seen:
            seen.add((text, tuple(constraints)))
            yield header, text, constraints


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("include")
    parser.add_argument("simtlab")
    parser.add_argument("--list")
    parser.add_argument("--target")
    parser.add_argument("--ptxas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        def check(job):
            number, (header, text, constraints) = job
            path = pathlib.Path(folder) / f"{number}.ptx"

            def taken_for(target):
                path.write_text(file(text, constraints, target))
                command = [options.ptxas, "-arch", target, "-o", os.devnull, str(path)]
                return not options.ptxas or subprocess.run(command, capture_output=True).returncode == 0

            if not any(taken_for(target) for target in ([options.target] if options.target else TARGETS)):
                return None
            done = subprocess.run([options.simtlab, "check", str(path)], capture_output=True, text=True)
            return header, text, done.returncode == 0, (done.stdout + done.stderr).strip().split("\n")[0]

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = [found for found in pool.map(check, enumerate(works(options.include))) if found]
    families = {}
    for header, text, taken, why in results:
        name = family(text)
        total, ours = families.get(name, (0, 0))
        families[name] = (total + 1, ours + taken)
        if options.list in (name, "all") and not taken:
            print(f"{header}: {' '.join(text.split())[:150]}  -- {why}")
    print(f"{'family':<28}{'forms':>7}{'taken':>7}")
    for name, (total, taken) in sorted(families.items(), key=lambda item: -item[1][0]):
        print(f"{name:<28}{total:>7}{taken:>7}")
    print(f"{'all':<28}{len(results):>7}{sum(taken for _, _, taken, _ in results):>7}")


main()
