#!/usr/bin/env bash
# Eight kernels on the virtual device beside the interpreters that run them without it: Numba's simulator and Triton's interpreter.
# Prints a table in milliseconds of processor time: the first launch, with compilation; a launch after it; the interpreter's launch.
# Environment: SIMTLAB_PROFILE=release; PyTorch's dependencies take 5 GB.
source "$(dirname "$0")/../common.sh"
build
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export PYTHONPATH=$here/clients/interpreters

venv numba-cuda numba-cuda==0.30.4 cuda-bindings==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* \
  nvidia-cuda-runtime-cu12==12.9.* numpy
kernels=$here/clients/interpreters/numba_kernels.py
on_device "$environment/bin/python" "$kernels" > "$logs/numba"
NUMBA_ENABLE_CUDASIM=1 "$environment/bin/python" "$kernels" > "$logs/numba-simulator"

venv torch torch numpy
kernels=$here/clients/interpreters/triton_kernels.py
# A cache of its own, so that the first launch compiles.
TRITON_CACHE_DIR=$logs/cache on_device "$environment/bin/python" "$kernels" > "$logs/triton"
TRITON_INTERPRET=1 "$environment/bin/python" "$kernels" > "$logs/triton-interpreter"

echo "| kernel | first | then | interpreter | times |"
echo "|---|---|---|---|---|"
"$environment/bin/python" "$here/clients/interpreters/table.py" Numba "$logs/numba" "$logs/numba-simulator"
"$environment/bin/python" "$here/clients/interpreters/table.py" Triton "$logs/triton" "$logs/triton-interpreter"
