#!/usr/bin/env bash
# Macros of PMASK for GNU as and LLVM, and a self-checking suite of PMASK as ELF files, made from the machine's table and vectors; then
# all of it on the machine. GCC (gcc-riscv64-unknown-elf) and clang are used where they are installed. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
build
exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/machines/pmask_suite.py" "$built/simtlab" "$here/crates/pmask" "${1:-$target/clients/pmask-suite}"
