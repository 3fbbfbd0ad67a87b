"""Support for GNU as and LLVM made from the machine's table, and a self-checking suite of PMASK as ELF files.

Usage: pmask_suite.py SIMTLAB CRATE FOLDER. CRATE is the folder of the crate `pmask`, with its table and its vectors. Writes to FOLDER
`pmask.inc` (a macro for each instruction of PMASK, for GNU as and LLVM's assembler), `rv_xphmg_pmask` (the same in the format of riscv-opcodes), and
for each mnemonic `NAME.s` and `NAME.elf`: a program that runs the vectors of the mnemonic and ends by HTIF (`tohost`) with code 0, or with the
number of the first vector that failed. Another implementation can run these files: it needs machine mode, 4 banks of 64 bits, level M2 and HTIF.
Then runs everything on the machine, the programs once built by `simtlab asm` and once by GCC and by clang with `pmask.inc`, where these are installed.
Exit code 1 if anything fails.
"""

import os
import re
import shutil
import subprocess
import sys

GROUPS = ("pmask", "cexp", "rt")
SENTINEL = 0x5E47_1E15_0BAD_CAFE
LINK = "-nostdlib -nostartfiles -static -Wl,-Ttext=0x80000000 -Wl,--build-id=none"
# Other banks than the one that an instruction names have to stay.
OTHERS = {1: 0x1111_2222_3333_4444, 2: 0x5555_6666_7777_8888, 3: 0x9999_AAAA_BBBB_CCCC}
READS_BANK = ("pmlow.rd", "pmhigh.rd", "pmany", "pmnone", "pmall", "pmpopcnt")
WRITES_BANK = ("pmlow.wr", "pmhigh.wr", "pmand", "pmor", "pmxor", "pmandn")


class Form:
    """An instruction of the table."""

    def __init__(self, row):
        name, _, _, pattern, fields, self.syntax, attributes, *_ = row
        self.pattern = int(pattern, 16)
        self.name = re.split(r"[ {]", self.syntax)[0] or name
        self.group = re.search(r"group=(\w+)", attributes)[1]
        self.fields = dict(field.split("=", 1) for field in fields.split(";") if field)
        self.operands = re.findall(r"{\??{?(\w+)(?::(\w+))?}?", self.syntax)

    def place(self, start):
        """The operand whose field starts at a bit, as `.insn` writes it, or the register of the bits that are fixed there."""
        for field, bits in self.fields.items():
            if bits.startswith(f"{start}:"):
                return f"x\\{field}" if field == "b" else f"\\{field}"
        return f"x{self.pattern >> start & 31}"

    def insn(self):
        """The `.insn` line with the operands of a macro, or none for forms that it cannot write."""
        opcode, funct3, funct7 = self.pattern & 127, self.pattern >> 12 & 7, self.pattern >> 25
        if "off" in self.fields:
            return f".insn b {opcode:#x}, {funct3}, {self.place(15)}, {self.place(20)}, \\off"
        if "imm" in self.fields:
            return f".insn i {opcode:#x}, {funct3}, {self.place(7)}, {self.place(15)}, \\imm"
        if set(self.fields) <= {"rd", "rs1", "rs2", "b"}:
            return f".insn r {opcode:#x}, {funct3}, {funct7:#x}, {self.place(7)}, {self.place(15)}, {self.place(20)}"
        return None


def forms(table):
    """The forms of PMASK, by the word that they are written with."""
    found = {}
    for line in open(table, encoding="utf-8"):
        row = line.rstrip("\n").split("\t")
        if len(row) > 6 and re.search(rf"group=({'|'.join(GROUPS)})\b", row[6]):
            form = Form(row)
            found.setdefault(form.name, []).append(form)
    return found


def macros(found):
    """A macro for each instruction. Instructions with a form for fewer operands take those first."""
    out = ["# Instructions of XPHMG_PMASK as macros for GNU as and LLVM's assembler. Made from the table of the machine; do not edit.", "# Operands as on docs/pmask.md: `pmand 2, a1`."]
    for name, alternatives in found.items():
        written = [(form, form.insn()) for form in alternatives if form.insn()]
        if not written:
            out.append(f"# {name}: not as a macro")
            continue
        optional = "{?" in alternatives[0].syntax
        operands = [[operand for operand, _ in form.operands] for form, _ in written]
        if optional:
            # `pmmov.to_p0 [bank,] rs1`: without a bank the field is 0.
            full, insn = operands[0], written[0][1]
            short = insn.replace(f"x\\{full[0]}", "x0").replace(f"\\{full[1]}", "\\first")
            long = insn.replace(f"x\\{full[0]}", "x\\first").replace(f"\\{full[1]}", "\\second")
            out += [f".macro {name} first, second", "  .ifb \\second", f"    {short}", "  .else", f"    {long}", "  .endif", ".endm"]
        elif len(written) == 1:
            out += [f".macro {name} {', '.join(operands[0])}".rstrip(), f"  {written[0][1]}", ".endm"]
        else:
            # `pcmp.lt.s [bank,] rs1, rs2`.
            (two, two_insn), (three, three_insn) = sorted(zip(operands, (insn for _, insn in written)), key=lambda pair: len(pair[0]))
            names = ["first", "second", "third"]
            rename = lambda insn, of: re.sub(r"\\(\w+)", lambda m: "\\" + names[of.index(m[1])], insn)
            out += [f".macro {name} first, second, third", "  .ifb \\third", f"    {rename(two_insn, two)}", "  .else", f"    {rename(three_insn, three)}", "  .endif", ".endm"]
    return "\n".join(out) + "\n"


def opcodes(found):
    """The instructions in the format of riscv-opcodes: name, operands, fixed bits."""
    out = ["# XPHMG_PMASK; made from the table of the machine, do not edit."]
    for alternatives in found.values():
        for form in alternatives:
            taken, operands = 0, []
            for field, bits in form.fields.items():
                for part in re.findall(r"(\d+):(\d+)", bits):
                    taken |= ((1 << int(part[1])) - 1) << int(part[0])
                operands.append({"off": "bimm12hi bimm12lo", "imm": "imm12", "b": f"pbank@{bits.split(':')[0]}"}.get(field, field))
            fixed, bit = [], 0
            while bit < 32:
                end = bit
                while end < 32 and not taken >> end & 1:
                    end += 1
                if end > bit:
                    fixed.append(f"{end - 1}..{bit}={form.pattern >> bit & ((1 << (end - bit)) - 1):#x}")
                bit = end + 1
            bank = ".bank" if "b" in form.fields and len(alternatives) > 1 else ""
            out.append(f"{form.name}{bank} {' '.join(operands)} {' '.join(reversed(fixed))}")
    return "\n".join(out) + "\n"


def statement(name, bank):
    """The instruction of a vector, with rd = a0, rs1 = a1, rs2 = a2."""
    if name == "pmmov.p0":
        return "pmmov.p0 a0"
    if name == "psel":
        return "psel a0, a1, a2"
    if name.startswith("pcmp.") or name == "ptestnz":
        return f"{name} a1, a2"
    if name == "pmmov.to_p0":
        return f"{name} a1" if bank == "-" else f"{name} {bank}, a1"
    if name in READS_BANK:
        return f"{name} {bank}, a0"
    if name in WRITES_BANK:
        return f"{name} {bank}, a1"
    return f"{name} {bank}"


def set_bank(bank, value):
    """Writes a bank; P0 stays."""
    return [f"li t1, {value & 0xFFFF_FFFF:#x}", f"pmlow.wr {bank}, t1", f"li t1, {value >> 32:#x}", f"pmhigh.wr {bank}, t1"]


def get_bank(bank, register):
    """Reads a bank."""
    return [f"pmlow.rd {bank}, {register}", f"pmhigh.rd {bank}, t1", "slli t1, t1, 32", f"or {register}, {register}, t1"]


def case(number, row):
    """The lines of a vector."""
    _, name, banks, vl, bank, p0, before, rs1, rs2, p0_after, after, rd, trap, *_ = row
    value = lambda text: 0 if text == "-" else int(text, 0)
    named, there = value(bank), int(banks)
    programmable = 0 < named < there
    lines = [f"# {row[0]}", f"li gp, {number}", f"li t0, {there}", f"bne s1, t0, over{number}", f"li t0, {value(vl) << 8:#x}", "csrw 0x7f8, t0"]
    for other in range(1, there):
        lines += set_bank(other, value(before) if other == named else OTHERS[other])
    lines += [f"li t1, {value(p0)}", "pmmov.to_p0 t1", f"li a0, {SENTINEL:#x}", f"li a1, {value(rs1):#x}", f"li a2, {value(rs2):#x}"]
    lines += ["li s11, 0", statement(name, bank), "pmmov.p0 s2"]
    lines += [f"li t0, {value(trap)}", f"bne s11, t0, fail{number}", f"li t0, {value(p0_after)}", f"bne s2, t0, fail{number}"]
    lines += [f"li t0, {SENTINEL if rd == '-' else value(rd):#x}", f"bne a0, t0, fail{number}"]
    if after != "-" and (programmable or named == 0) and bank != "-":
        lines += [*get_bank(named, "s3"), f"li t0, {value(after):#x}", f"bne s3, t0, fail{number}"]
    for other in range(1, there):
        if other != named:
            lines += [*get_bank(other, "s3"), f"li t0, {OTHERS[other]:#x}", f"bne s3, t0, fail{number}"]
    # Branches reach 4 KB.
    return [*lines, f"j over{number}", f"fail{number}: j fail", f"over{number}:"]


def program(rows):
    """A program for the vectors of a mnemonic."""
    # s1 is the number of banks, the virtual one included.
    lines = [".globl _start", ".globl tohost", ".text", "_start:", "la t0, handler", "csrw mtvec, t0", "csrr s1, 0x7c7", "srli s1, s1, 1", "andi s1, s1, 7",
             "addi s1, s1, 1"]
    for number, row in rows:
        lines += case(number, row)
    lines += ["li gp, 0", "fail:", "slli t0, gp, 1", "ori t0, t0, 1", "la t1, tohost", "sd t0, 0(t1)", "here: j here", ".balign 4", "handler:",
              "csrr s11, mcause", "csrr t2, mepc", "addi t2, t2, 4", "csrw mepc, t2", "mret", ".data", ".balign 64", "tohost: .dword 0", ".balign 64"]
    return "\n".join(lines) + "\n"


def run(*command):
    """Runs a command; returns its exit code and what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def compilers():
    """The compilers that are installed, with the options for this machine, and those for linking, if they can link."""
    gcc, clang = "riscv64-unknown-elf-gcc", "clang"
    if shutil.which(gcc):
        yield "gcc", [gcc, "-march=rv64gc", "-mabi=lp64d"], LINK.split()
    if shutil.which(clang):
        link = ["-fuse-ld=lld", *LINK.split()] if shutil.which("ld.lld") else None
        yield "clang", [clang, "--target=riscv64-unknown-elf", "-march=rv64gc", "-mno-relax"], link


def encodings(name, compiler, crate, folder):
    """Compares words that a compiler's assembler makes with the macros with those of the vectors; returns how many and what differs."""
    rows = [line.rstrip("\n").split("\t") for line in open(f"{crate}/tests/vectors/encoding_vectors.tsv", encoding="utf-8")][1:]
    # Branches in the vectors name distances; control of RSV lanes is another extension.
    rows = [row for row in rows if not re.match(r"sv|bp|bep", row[0])]
    source, out = os.path.join(folder, "encodings.S"), os.path.join(folder, f"encodings.{name}.o")
    with open(source, "w", encoding="utf-8") as file:
        file.write('.include "pmask.inc"\n.option norvc\n.globl _start\n_start:\n' + "".join(f"{row[0].replace('%', '')}\n" for row in rows))
    code, text = run(*compiler, "-c", f"-Wa,-I{folder}", f"-I{folder}", source, "-o", out)
    if code:
        return 0, [f"encodings with {name}: {text.splitlines()[0]}"]
    data = open(out, "rb").read()
    wanted = [int(row[2], 16).to_bytes(4, "little") for row in rows]
    start = data.find(wanted[0])
    wrong = [f"{row[0]} with {name}: {data[start + 4 * i:start + 4 * i + 4][::-1].hex()}, not {row[2]}" for i, row in enumerate(rows)
             if data[start + 4 * i:start + 4 * i + 4] != wanted[i]]
    return len(rows) - len(wrong), wrong


def main():
    """Writes and runs everything."""
    simtlab, crate, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    found = forms(f"{crate}/src/rv64.tsv")
    for name, text in (("pmask.inc", macros(found)), ("rv_xphmg_pmask", opcodes(found))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    rows = [line.rstrip("\n").split("\t") for line in open(f"{crate}/tests/vectors/semantic_vectors.tsv", encoding="utf-8") if not line.startswith("# ")][1:]
    named = {}
    for number, row in enumerate(rows, 1):
        named.setdefault(row[1], []).append((number, row))
    passed, wrong = 0, []
    for name, of in named.items():
        path = os.path.join(folder, name)
        with open(f"{path}.s", "w", encoding="utf-8") as file:
            file.write(program(of))
        code, text = run(simtlab, "asm", "--isa", "pmask", f"{path}.s", "-o", f"{path}.elf")
        built = [(f"{name}.elf", f"{path}.elf")] if code == 0 else []
        wrong += [] if code == 0 else [f"{name}.s: {text.splitlines()[0]}"]
        for compiler, command, link in compilers():
            if link is None:
                continue
            with open(f"{path}.S", "w", encoding="utf-8") as file:
                file.write(f'.include "pmask.inc"\n.option norvc\n{program(of)}')
            code, text = run(*command, *link, f"-Wa,-I{folder}", f"-I{folder}", f"{path}.S", "-o", f"{path}.{compiler}.elf")
            built += [(f"{name} by {compiler}", f"{path}.{compiler}.elf")] if code == 0 else []
            wrong += [] if code == 0 else [f"{name} by {compiler}: {text.splitlines()[0]}"]
        for shown, elf in built:
            for banks in ("4", "3", "2", "1"):
                code, text = run(simtlab, "run", "--isa", "pmask", elf, "--stats", "none", "--banks", banks)
                passed += code == 0
                wrong += [] if code == 0 else [f"{shown} with {banks} banks: {(text.splitlines() or ['?'])[0]}"]
    for name, command, _ in compilers():
        good, more = encodings(name, command, crate, folder)
        print(f"encodings with {name}: {good} as in the vectors")
        passed, wrong = passed + good, wrong + more
    for line in wrong:
        print(f"FAILED {line}")
    print(f"{len(named)} programs of {len(rows)} vectors")
    print(f"{passed} passed, {len(wrong)} failed")
    return 1 if wrong or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
