#!/usr/bin/env bash
# RISCOF, from PyPI, on the machine `pmask`: signatures of riscv-arch-test against QEMU's user mode.
# Needs Debian's gcc-riscv64-unknown-elf and qemu-user. RISCV_SOURCES names a folder with a checkout of riscv-arch-test, else it is
# fetched. An argument names a folder of its suite, such as rv64i_m/M. Environment as in ../common.sh.
source "$(dirname "$0")/../common.sh"
installed 'gcc-riscv64-unknown-elf, qemu-user' riscv64-unknown-elf-gcc qemu-riscv64
build
sources=${RISCV_SOURCES:-$target/clients/riscv}
tests=$sources/riscv-arch-test
checkout "$tests" riscv-non-isa/riscv-arch-test cd94912
folder=$target/clients/riscof
mkdir -p "$folder"
venv riscof-venv riscof==1.25.3 'setuptools<81'
plugins=$here/clients/machines/riscof
jobs=$(nproc)
section() { printf '[%s]\npluginpath=%s\nispec=%s\npspec=%s\nPATH=%s\njobs=%s\n' "$1" "$plugins/$1" "$plugins/simtlab/isa.yaml" "$plugins/simtlab/platform.yaml" "$2" "$jobs"; }
{
  printf '[RISCOF]\nDUTPlugin=simtlab\nDUTPluginPath=%s\nReferencePlugin=qemu\nReferencePluginPath=%s\n\n' "$plugins/simtlab" "$plugins/qemu"
  section simtlab "$built/simtlab"
  section qemu "$(command -v qemu-riscv64)"
} > "$folder/config.ini"
suite=$tests/riscv-test-suite/${1:-rv64i_m/M}
PYTHONPATH="$plugins/simtlab" "$environment/bin/riscof" run --config "$folder/config.ini" --work-dir "$folder/work" --no-browser \
  --suite "$suite" --env "$tests/riscv-test-suite/env" 2>&1 | tee "$folder/log" | grep -E 'Passed|Failed|ERROR' || true
passed=$(grep -c ': Passed' "$folder/log" || true)
failed=$(grep -c ': Failed' "$folder/log" || true)
echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" -eq 0 ]
