#!/usr/bin/env bash
# kernel_tuner on the virtual device, the last release for the NumPy of CuPy 12.3: it measures kernels through CuPy 12.3, with PTX from NVRTC.
source "$(dirname "$0")/../common.sh"
build
venv kernel_tuner kernel_tuner==1.1.0 cupy-cuda12x==12.3.0 'numpy<1.27' nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.*
packages=$(echo "$environment"/lib/python3*/site-packages)
echo "kernel_tuner $(version_of kernel_tuner)"
export CUDA_PATH=$packages/nvidia/cuda_runtime CUPY_CACHE_DIR=$environment/kernels
export LD_LIBRARY_PATH=$packages/nvidia/cuda_nvrtc/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# It leaves the source of a kernel that cannot be compiled in the current folder.
cd "$environment"
on_device "$environment/bin/python" -W ignore "$here/clients/kernel_tuner/check.py"
