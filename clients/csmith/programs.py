"""Random C programs of Csmith as kernels: each thread runs the whole program, with numbers of its own.

The same program, compiled for the host, says what each thread has to return: a checksum of all global variables. Compilers, generator
and oracle come from elsewhere; what is tested is whatever they lead to: calls, local memory, bit fields, packed structures, 64-bit
arithmetic, loops and jumps in which threads part.

  programs.py FOLDER --simtlab PROGRAM [--seed N] [--count N]

Exit code 1 if any program differs. Its files stay in FOLDER.
"""

import argparse
import collections
import pathlib
import random
import re
import struct
import subprocess
import sys

BLOCK = 64
BLOCKS = 2
# Seconds of a program on the host: longer ones do not end, or are too long for an emulator.
HOST_LIMIT = 1
LIMIT = 60

MECHANISMS = ["serial", "ipdom", "predicated-stack", "multi-path", "tf-stack", "tf-sandy", "min-pc", "min-sp-pc", "convergence-barriers",
              "compaction", "exec-mask", "split-join"]

PRELUDE = """
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;
typedef unsigned long size_t;
#define INT8_MIN (-128)
#define INT16_MIN (-32768)
#define INT32_MIN (-2147483647-1)
#define INT64_MIN (-9223372036854775807L-1)
#define INT8_MAX 127
#define INT16_MAX 32767
#define INT32_MAX 2147483647
#define INT64_MAX 9223372036854775807L
#define UINT8_MAX 255
#define UINT16_MAX 65535
#define UINT32_MAX 4294967295U
#define UINT64_MAX 18446744073709551615UL
#define CHAR_BIT 8
#define INT_MAX INT32_MAX
#define INT_MIN INT32_MIN
#define LONG_MAX INT64_MAX
#define UINT_MAX UINT32_MAX
// What Csmith's arithmetic is written in.
#define STATIC static
#define FUNC_NAME(x) safe_##x
#define LOG_INDEX
#define LOG_EXEC
#define UNDEFINED(x) (x)
#define _CSMITH_BITFIELD(x) ((x) > 32 ? (x) % 32 : (x))
#define FLT_MAX __FLT_MAX__
#define DBL_MAX __DBL_MAX__
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define ldexpf __builtin_ldexpf
#define ldexp __builtin_ldexp
#ifdef __CUDA__
#pragma clang force_cuda_host_device begin
#endif
#include <safe_math.h>
"""

END = """
#ifdef __CUDA__
#pragma clang force_cuda_host_device end
inline __attribute__((device)) void *operator new(size_t, void *place) { return place; }
#ifdef IN_GLOBAL_MEMORY
__attribute__((device)) uint64_t room[(sizeof(Program) + 7) / 8 * THREADS];
#endif
extern "C" __attribute__((global)) void program(uint32_t *out) {
  uint32_t thread = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
#ifdef IN_GLOBAL_MEMORY
  out[thread] = (new (room + (sizeof(Program) + 7) / 8 * thread) Program(thread))->run();
#else
  Program one(thread);
  out[thread] = one.run();
#endif
}
#else
extern "C" int printf(const char *, ...);
int main() {
  for (uint32_t thread = 0; thread < THREADS; thread++) {
    Program one(thread);
    printf("%u\\n", one.run());
  }
}
#endif
"""


class Unusable(Exception):
    """The program has a form that is not one of a class."""


def options(rng):
    """What Csmith is asked for: small programs of varied shape."""
    words = ["--lang-cpp", "--cpp11", "--no-argc", "--no-volatiles", "--no-volatile-pointers"]
    # Their programs access members of packed structures by pointers, which have to be aligned.
    words.append("--no-packed-struct")
    words += ["--max-funcs", str(rng.randint(1, 8)), "--max-block-depth", str(rng.randint(2, 5))]
    words += ["--max-array-dim", "2", "--max-array-len-per-dim", "6"]
    words += ["--jumps" if rng.random() < 0.6 else "--no-jumps", "--unions" if rng.random() < 0.5 else "--no-unions"]
    return words


def program(source):
    """Makes the variables and functions of a program members of a class, and numbers of the thread part of integers."""
    types, found, rest = source.partition("/* --- GLOBAL VARIABLES --- */")
    if not found:
        raise Unusable("no variables")
    types = types[types.index("static long __undefined;") + len("static long __undefined;"):]
    variables, rest = rest.split("/* --- FORWARD DECLARATIONS --- */")
    functions, main = re.split(r"int main \(void\)\n", rest.split("/* --- FUNCTIONS --- */")[1])
    integer = re.compile(r"^static (u?int\d+_t) (g_\d+) = ([^;{]+);", re.M)
    # Constants of the thread, by which lanes part.
    variables = integer.sub(r"\1 \2 = (\1)(\3 ^ number(\2_at));", variables)
    count = 0

    def numbered(match):
        nonlocal count
        count += 1
        return f"number({count})"

    variables = re.sub(r"number\(g_\d+_at\)", numbered, variables)
    variables = re.sub(r"^static ", "", variables, flags=re.M)
    functions = re.sub(r"^static ", "", functions, flags=re.M)
    body = main[main.index("crc32_gentab();") + len("crc32_gentab();"):main.index("platform_main_end")]
    body = re.sub(r"transparent_crc\((.*), \"[^\"]*\", print_hash_value\);", r"add(\1);", body)
    body = re.sub(r"^.*print_hash_value.*$|^.*printf.*$", "", body, flags=re.M)
    return f"""{types}
struct Program {{
  uint32_t thread, sum = 0;
  __attribute__((noinline)) uint32_t number(uint32_t which) {{
    // Mostly 0: most threads of a warp do the same.
    uint32_t mixed = (thread * 0x9e3779b1u) ^ (which * 0x85ebca6bu);
    mixed ^= mixed >> 15;
    return (mixed & 3) == 0 ? mixed >> 8 & 31 : 0;
  }}
  void add(uint64_t value) {{
    for (int i = 0; i < 8; i++) sum = (sum ^ (uint8_t)(value >> (8 * i))) * 0x01000193u;
  }}
{variables}
{functions}
  Program(uint32_t thread) : thread(thread) {{}}
  uint32_t run() {{
    int i, j, k;
{body}
    return sum;
  }}
}};
"""


def run(command, limit, **rest):
    return subprocess.run(command, capture_output=True, text=True, timeout=limit, **rest)


def compile_both(folder, name, rng):
    source = folder / f"{name}.cu"
    flags = ["-w", "-Wno-c++11-narrowing", "-std=c++14", "-I/usr/include/csmith", "-fwrapv", "-fno-strict-aliasing"]
    level = rng.choice(["-O1", "-O2", "-O3"])
    # Some programs are not defined for the numbers of all threads: the host's two would differ.
    for program, how in (name, "-O0"), (f"{name}.optimised", level):
        host = run(["clang++", "-x", "c++", how, *flags, str(source), "-o", str(folder / program)], LIMIT)
        if host.returncode:
            raise Unusable("host: " + first_error(host.stderr))
    if rng.random() < 0.5:
        flags.append("-DIN_GLOBAL_MEMORY")
    device = ["clang++", "-x", "cuda", level, *flags, "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib", "-Xclang",
              "-target-feature", "-Xclang", "+ptx75", "-S", str(source), "-o", str(folder / f"{name}.ptx")]
    made = run(device, LIMIT)
    if made.returncode:
        raise Unusable("device: " + first_error(made.stderr))


def first_error(text):
    found = re.search(r"error: (.*)", text)
    return re.sub(r"'[^']*'", "...", found.group(1)) if found else text[:80]


def words(path):
    """The elements of a `.npy` file of 32-bit numbers."""
    content = path.read_bytes()
    begin = 10 + int.from_bytes(content[8:10], "little")
    return list(struct.unpack(f"<{(len(content) - begin) // 4}I", content[begin:]))


def ways(rng):
    """How a program is run: on both engines at the best level, on the fast one with AVX2, and by another mechanism."""
    yield "both", ["--engine", "both"]
    yield "avx2", ["--simd", "avx2"]
    mechanism = rng.choice(MECHANISMS)
    yield mechanism, ["--engine", "exact", "--mechanism", mechanism]


def judge(simtlab, folder, name, rng):
    """Returns the first difference from the host's results, or None."""
    try:
        host, optimised = (run([str(folder / program)], HOST_LIMIT) for program in (name, f"{name}.optimised"))
    except subprocess.TimeoutExpired:
        raise Unusable("it does not end on the host") from None
    if host.returncode or optimised.returncode:
        raise Unusable("it fails on the host")
    if host.stdout != optimised.stdout:
        raise Unusable("it is not defined")
    expected = [int(word) for word in host.stdout.split()]
    out = folder / f"{name}.npy"
    for way, flags in ways(rng):
        out.unlink(missing_ok=True)
        command = [simtlab, "run", str(folder / f"{name}.ptx"), "--grid", str(BLOCKS), "--block", str(BLOCK), "--arg",
                   f"out=u32[{BLOCKS * BLOCK}]", "--dump", f"out={out}", "--limit", "200000000", *flags]
        try:
            ran = run(command, LIMIT)
        except subprocess.TimeoutExpired:
            return f"{way}: more than {LIMIT} s"
        if ran.returncode:
            return f"{way}: exit code {ran.returncode}: {ran.stderr.strip().splitlines()[:1]}"
        found = words(out)
        if found != expected:
            wrong = [i for i, (a, b) in enumerate(zip(found, expected)) if a != b]
            return f"{way}: {len(wrong)} threads differ, first {wrong[:1]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--simtlab", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    outcomes, failed = collections.Counter(), []
    for seed in range(given.seed, given.seed + given.count):
        rng, name = random.Random(seed), f"p{seed}"
        try:
            # It writes a file of its own where it runs.
            made = run(["csmith", "--seed", str(seed), *options(rng)], LIMIT, cwd=given.folder)
            (given.folder / f"{name}.cu").write_text(PRELUDE + program(made.stdout) + END.replace("THREADS", str(BLOCKS * BLOCK)))
            compile_both(given.folder, name, rng)
            difference = judge(given.simtlab, given.folder, name, rng)
        except Unusable as reason:
            outcomes[f"not used: {reason}"] += 1
            continue
        except subprocess.TimeoutExpired:
            outcomes["not used: a compiler takes long"] += 1
            continue
        if difference:
            failed.append(seed)
            print(f"seed {seed}: {difference}", flush=True)
        else:
            for file in given.folder.glob(f"{name}*"):
                file.unlink()
        outcomes["differs" if difference else "same"] += 1
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:6} {outcome}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
