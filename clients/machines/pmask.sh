#!/usr/bin/env bash
# Public RISC-V programs on the machine `pmask`: riscv-tests, riscv-arch-test (signatures against qemu-riscv64), embench-iot, CoreMark.
# Needs Debian's gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf and qemu-user. RISCV_SOURCES names a folder with checkouts of
# riscv-tests, riscv-arch-test, embench-iot and coremark, else they are fetched. Arguments choose suites. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
for tool in riscv64-unknown-elf-gcc qemu-riscv64; do
  command -v "$tool" >/dev/null || { echo "$tool is not installed: gcc-riscv64-unknown-elf, picolibc-riscv64-unknown-elf, qemu-user" >&2; exit 1; }
done
build
sources=${RISCV_SOURCES:-$target/clients/riscv}

# checkout REPOSITORY COMMIT: into the folder of its name.
checkout() {
  local folder=$sources/${1##*/}
  [ -d "$folder" ] && return
  git clone --quiet --recurse-submodules "https://github.com/$1" "$folder"
  git -C "$folder" checkout --quiet --recurse-submodules "$2"
}
checkout riscv-software-src/riscv-tests 34e6b6d
checkout riscv-non-isa/riscv-arch-test cd94912
checkout embench/embench-iot 09c2ed8
checkout eembc/coremark d5fad6b
programs=$target/clients/riscv-programs
mkdir -p "$programs"
exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/machines/pmask.py" "$built/simtlab" "$sources" "$programs" "$@"
