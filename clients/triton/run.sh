#!/usr/bin/env bash
# Triton: kernels that it compiles for compute capability 8.0 (SIMTLAB_COMPUTE_CAPABILITY=9.0 for others), without PyTorch.
source "$(dirname "$0")/../common.sh"
build
venv triton triton==3.9.* numpy
echo "triton $(version_of triton)"
export TRITON_CACHE_DIR=$environment/cache TRITON_DEFAULT_FP_FUSION=1
# The folder clients/torch would be taken for PyTorch, which is not installed here.
mkdir -p "$environment/modules"
ln -sf "$here/clients/checks.py" "$environment/modules/"
PYTHONPATH=$environment/modules on_device "$environment/bin/python" "$here/clients/triton/check.py"
