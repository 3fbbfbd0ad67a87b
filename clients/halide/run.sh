#!/usr/bin/env bash
# Halide's CUDA target, scheduled by gpu_tile: pointwise functions, a blur, a reduction.
source "$(dirname "$0")/../common.sh"
build
venv halide halide numpy
echo "halide $(version_of halide)"
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/halide/check.py"
