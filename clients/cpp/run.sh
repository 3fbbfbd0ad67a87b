#!/usr/bin/env bash
# C++ programs of our own, compiled by the complete nvcc from PyPI with a shared runtime, and run on libcudart.so.13.
# With names of programs, those alone: run.sh reduce scan. NVCC_FLAGS adds options, such as --no-compress.
source "$(dirname "$0")/../common.sh"
build
nvcc_version=13.5.37
venv cpp nvidia-cuda-nvcc==$nvcc_version nvidia-nvvm==$nvcc_version nvidia-cuda-crt==$nvcc_version \
  nvidia-cuda-runtime==$nvcc_version nvidia-cuda-cccl
toolkit=$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13)
# The package has no link for the linker.
mkdir -p "$environment/link"
ln -sf "$toolkit/lib/libcudart.so.13" "$environment/link/libcudart.so"
echo "nvcc $nvcc_version"

source=$here/clients/cpp
programs=("$@")
[ $# -gt 0 ] || programs=($(cd "$source" && ls *.cu | sed 's/\.cu$//' | grep -v planted))
mkdir -p "$environment/programs"
passed=0 failed=()
for program in "${programs[@]}"; do
  file=$environment/programs/$program
  # Machine code is of no use here; what is compiled stays until the source changes.
  if [ ! "$file" -nt "$source/$program.cu" ] || [ ! "$file" -nt "$source/check.h" ] || [ -n "${NVCC_FLAGS:-}" ]; then
    "$toolkit/bin/nvcc" -std=c++17 -O2 -cudart shared -arch=compute_80 -code=compute_80 ${NVCC_FLAGS:-} \
      -I"$toolkit/include/cccl" -L"$environment/link" "$source/$program.cu" -o "$file"
  fi
  printf '%-12s ' "$program"
  # Faults are what `errors` is about: its exit code is its own.
  if on_device "$file" > "$file.out" 2> "$file.err" || { [ "$program" = errors ] && grep -q ' 0 failed$' "$file.out"; }; then
    passed=$((passed + 1))
    tail -1 "$file.out"
  else
    failed+=("$program")
    cat "$file.out" "$file.err"
  fi
done
echo "${#programs[@]} programs: $passed passed, ${#failed[@]} failed ${failed[*]}"
[ ${#failed[@]} -eq 0 ]
