#!/bin/sh
# Compares mask algebra, compaction and first-fault with RVV 1.0 under QEMU user mode, on random inputs.
# Needs riscv64-unknown-elf-gcc (binutils with RVV 1.0) and qemu-riscv64.
set -eu
for tool in riscv64-unknown-elf-gcc qemu-riscv64; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed" >&2; exit 1; }
done
cd "$(dirname "$0")"
exec cargo test -p simtlab-pmask --test pmask -- --ignored rvv
