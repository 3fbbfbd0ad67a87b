#!/usr/bin/env bash
# Defects planted in kernels of CuPy: each is found by `simtlab exec --check`, with its line, and nothing is found without it.
# CuPy keeps modules for the end of the process, so leaks are not looked for; nor are failed calls, by which it asks for features.
source "$(dirname "$0")/../common.sh"
build
venv cupy cupy-cuda12x==12.3.0 'numpy<1.27' scipy nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.*
packages=$(echo "$environment"/lib/python3*/site-packages)
export CUDA_PATH=$packages/nvidia/cuda_runtime CUPY_CACHE_DIR=$environment/kernels
export LD_LIBRARY_PATH=$packages/nvidia/cuda_nvrtc/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
"$environment/bin/python" "$here/clients/cpp/planted.py" "$built/simtlab" "$built" race,init,sync,memory \
  "$here/clients/cupy/planted.py" "$environment/bin/python" -W ignore "$here/clients/cupy/planted.py"
