#!/usr/bin/env bash
# Taichi's CUDA back end: atomics, products, divergent loops, functions, gradients, shared memory.
source "$(dirname "$0")/../common.sh"
build
venv taichi taichi==1.7.4 numpy
echo "taichi $(version_of taichi)"
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/taichi/check.py"
