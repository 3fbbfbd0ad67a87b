#!/usr/bin/env bash
# cuda.bindings: NVIDIA's own low-level Python bindings of the driver API, with PTX from NVRTC.
source "$(dirname "$0")/../common.sh"
build
venv cuda-bindings cuda-bindings==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* numpy
echo "cuda.bindings $(version_of cuda-bindings)"
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/cuda-bindings/check.py"
