#!/usr/bin/env bash
# Random C programs of Csmith, compiled by clang for the host and as kernels, against each other: run.sh [COUNT [SEED]] (200, 1)
# Each thread runs the whole program with numbers of its own, in local or in global memory; on both engines, with AVX2, and by a mechanism.
# Of Debian's packages, it wants csmith, libcsmith-dev and clang. What differs stays below target/clients/csmith.
source "$(dirname "$0")/../common.sh"
installed "csmith libcsmith-dev clang" csmith clang++
build
python3 "$here/clients/csmith/programs.py" "$target/clients/csmith" --simtlab "$built/simtlab" --count "${1:-200}" --seed "${2:-1}"
