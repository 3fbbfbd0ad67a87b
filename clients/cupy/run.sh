#!/usr/bin/env bash
# CuPy 12.3, the last release with a shared CUDA runtime: on libcudart.so.12 and libcuda.so.1, with kernels as PTX from NVRTC, and on our
# mathematics libraries.
source "$(dirname "$0")/../common.sh"
build
venv cupy cupy-cuda12x==12.3.0 'numpy<1.27' scipy nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.*
packages=$(echo "$environment"/lib/python3*/site-packages)
echo "CuPy $(version_of cupy-cuda12x)"
export CUDA_PATH=$packages/nvidia/cuda_runtime CUPY_CACHE_DIR=$environment/kernels
export LD_LIBRARY_PATH=$packages/nvidia/cuda_nvrtc/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONPATH=$here/clients on_device "$environment/bin/python" -W ignore "$here/clients/cupy/check.py"
