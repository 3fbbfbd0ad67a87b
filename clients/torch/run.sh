#!/usr/bin/env bash
# PyTorch's CUDA wheel from PyPI and Triton: a small GPT in eager mode, as a graph and compiled, and operators beside the CPU's on PyTorch's own samples.
# Environment: SHARE (0.1): the share of operators and types; TRITON_CACHE_DIR. PyTorch's dependencies take 5 GB.
source "$(dirname "$0")/../common.sh"
build
venv torch torch numpy expecttest
echo "torch $(version_of torch), triton $(version_of triton)"
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$environment/cache} TRITON_DEFAULT_FP_FUSION=1
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/torch/check.py"
on_device "$environment/bin/python" "$here/clients/torch/gpt.py"
on_device "$environment/bin/python" "$here/clients/torch/operators.py" "${SHARE:-0.1}"
