#!/usr/bin/env bash
# Defects planted in C++: each is found by `simtlab exec --check`, with its line, and nothing is found without it.
source "$(dirname "$0")/../common.sh"
build
toolkit cpp
mkdir -p "$environment/programs"
"$toolkit/bin/nvcc" -std=c++17 -O2 -lineinfo -cudart shared -arch=compute_80 -code=compute_80 \
  "$here/clients/cpp/planted.cu" -o "$environment/programs/planted"
"$environment/bin/python" "$here/clients/cpp/planted.py" "$built/simtlab" "$built" all "$here/clients/cpp/planted.cu" \
  "$environment/programs/planted"
