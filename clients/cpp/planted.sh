#!/usr/bin/env bash
# Defects planted in C++: each is found by `simtlab exec --check`, with its line, and nothing is found without it.
source "$(dirname "$0")/../common.sh"
build
nvcc_version=13.5.37
venv cpp nvidia-cuda-nvcc==$nvcc_version nvidia-nvvm==$nvcc_version nvidia-cuda-crt==$nvcc_version \
  nvidia-cuda-runtime==$nvcc_version nvidia-cuda-cccl
toolkit=$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13)
mkdir -p "$environment/link" "$environment/programs"
ln -sf "$toolkit/lib/libcudart.so.13" "$environment/link/libcudart.so"
"$toolkit/bin/nvcc" -std=c++17 -O2 -lineinfo -cudart shared -arch=compute_80 -code=compute_80 -L"$environment/link" \
  "$here/clients/cpp/planted.cu" -o "$environment/programs/planted"
"$environment/bin/python" "$here/clients/cpp/planted.py" "$built/simtlab" "$built" all "$here/clients/cpp/planted.cu" \
  "$environment/programs/planted"
