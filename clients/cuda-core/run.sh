#!/usr/bin/env bash
# cuda.core: NVIDIA's Pythonic interface: programs compiled to PTX, pools of memory, launches with LaunchConfig, linkers by nvJitLink.
source "$(dirname "$0")/../common.sh"
build
venv cuda-core cuda-core==1.2.* cuda-bindings==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* nvidia-nvjitlink-cu12==12.9.* numpy
echo "cuda.core $(version_of cuda-core)"
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/cuda-core/check.py"
