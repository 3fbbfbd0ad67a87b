"""Makes stand-ins for closed mathematics libraries that CuPy's extension modules are linked with but arrays do not need.

Each has the functions that the installed modules ask for, and no others; a call says so and gives a status that means failure."""

import collections
import pathlib
import re
import subprocess
import sys

LIBRARIES = ("libcublas.so.12", "libcufft.so.11", "libcurand.so.10", "libcusparse.so.12", "libcusolver.so.11")

PROGRAM = """
#include <stdio.h>
static int missing(const char *name) {{
  fprintf(stderr, "%s: {library} is a stand-in without functions\\n", name);
  return 1;
}}
{functions}
"""


def wanted(folder):
    """Names of functions by library, from the versions of undefined symbols."""
    names = collections.defaultdict(set)
    for module in folder.rglob("*.so"):
        symbols = subprocess.run(["nm", "-D", "--undefined-only", module], capture_output=True, text=True).stdout
        for name, library in re.findall(r"U (\w+)@+(\S+)", symbols):
            names[library].add(name)
    return names


def make(folder, library, names):
    """Compiles a library with these functions, in the version that its name is."""
    functions = "\n".join(f'int {name}(void) {{ return missing("{name}"); }}' for name in sorted(names))
    source, script = folder / f"{library}.c", folder / f"{library}.map"
    source.write_text(PROGRAM.format(library=library, functions=functions))
    script.write_text(f"{library} {{ global: *; }};\n")
    options = [f"-Wl,-soname,{library}", f"-Wl,--version-script={script}"]
    subprocess.run(["cc", "-shared", "-fPIC", *options, source, "-o", folder / library], check=True)


packages, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
found = wanted(packages)
for library in LIBRARIES:
    make(folder, library, found[library])
