#!/usr/bin/env bash
# Public RISC-V programs on the machine `pmask`: riscv-tests, riscv-arch-test (signatures against qemu-riscv64), embench-iot, CoreMark.
# Needs Debian's gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf and qemu-user. RISCV_SOURCES names a folder with checkouts of
# riscv-tests, riscv-arch-test, embench-iot and coremark, else they are fetched. Arguments choose suites. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
installed 'gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf, qemu-user' riscv64-unknown-elf-gcc qemu-riscv64
build
sources=${RISCV_SOURCES:-$target/clients/riscv}
checkout "$sources/riscv-tests" riscv-software-src/riscv-tests 34e6b6d
checkout "$sources/riscv-arch-test" riscv-non-isa/riscv-arch-test cd94912
checkout "$sources/embench-iot" embench/embench-iot 09c2ed8
checkout "$sources/coremark" eembc/coremark d5fad6b
programs=$target/clients/riscv-programs
mkdir -p "$programs"
exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/machines/pmask.py" "$built/simtlab" "$sources" "$programs" "$@"
