#!/usr/bin/env bash
# numba-cuda: kernels in Python, compiled by libnvvm, linked as PTX by the driver.
source "$(dirname "$0")/../common.sh"
build
venv numba-cuda numba-cuda==0.30.4 cuda-bindings==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* \
  nvidia-cuda-runtime-cu12==12.9.* numpy
echo "numba-cuda $(version_of numba-cuda)"
PYTHONPATH=$here/clients on_device "$environment/bin/python" -W ignore "$here/clients/numba-cuda/check.py"
# With nvJitLink installed, numba makes LTO-IR and links by it instead of by the driver.
venv numba-cuda-nvjitlink numba-cuda==0.30.4 cuda-bindings==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* \
  nvidia-cuda-runtime-cu12==12.9.* nvidia-nvjitlink-cu12==12.9.* numpy
echo "numba-cuda $(version_of numba-cuda), nvJitLink $(version_of nvidia-nvjitlink-cu12)"
PYTHONPATH=$here/clients on_device "$environment/bin/python" -W ignore "$here/clients/numba-cuda/check.py"
