#!/usr/bin/env bash
# Unmodified programs under `simtlab exec --debug`: stopped in their kernels, looked at, continued.
# One is Python (numba-cuda), the other C++ that nvcc has compiled.
source "$(dirname "$0")/../common.sh"
build
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# debugged NAME COMMAND...: runs a program, and its commands in NAME.txt; prints what the debugger says.
debugged() {
  local name=$1 place=
  shift
  "$built/simtlab" exec --libraries "$built" --debug -- "$@" > "$folder/$name.out" 2> "$folder/$name.err" &
  local program=$!
  while [ -z "$place" ]; do
    sleep 0.1
    place=$(sed -n 's/^kernels wait for a debugger: simtlab debug --attach //p' "$folder/$name.err")
  done
  "$built/simtlab" debug --attach "$place" --script "$here/clients/debugger/$name.txt" | tee "$folder/$name.said"
  wait "$program" || { cat "$folder/$name.err"; exit 1; }
  cat "$folder/$name.out"
}

# says NAME TEXT...: fails if one of the texts is not in what the debugger or the program has said.
says() {
  local name=$1
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$folder/$name.said" "$folder/$name.out" || { echo "$name: no '$text'"; exit 1; }
  done
}

venv numba-cuda numba-cuda==0.30.4 cuda-bindings==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* \
  nvidia-cuda-runtime-cu12==12.9.* numpy
debugged steps "$environment/bin/python" -W ignore "$here/clients/debugger/steps.py"
says steps 'under ipdom, grid 1, block 8' 'steps.py:14' 'lanes part: {1-7} and {0}' '60' 'start of the launch' \
  '[0, 1, 7, 2, 5, 8, 16, 3]'

toolkit cpp
"$toolkit/bin/nvcc" -std=c++17 -O2 -lineinfo -cudart shared -arch=compute_80 -code=compute_80 -I"$toolkit/include/cccl" \
  "$here/clients/cpp/vector_add.cu" -o "$folder/vector_add"
debugged vector_add "$folder/vector_add"
says vector_add 'void add<float>' ': breakpoint 1' 'written at issue 1 by' 'block (3,0,0), warp 7, lane 7' '20 passed, 0 failed'
echo "both programs were stopped, looked at and continued"
