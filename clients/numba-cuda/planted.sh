#!/usr/bin/env bash
# Defects planted in Python: each is found by `simtlab exec --check`, with its line, and nothing is found without it.
# numba-cuda keeps memory for the end of the process, so leaks are not looked for; nor are failed calls, by which it asks for features.
source "$(dirname "$0")/../common.sh"
build
venv numba-cuda numba-cuda==0.30.4 cuda-bindings==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-nvrtc-cu12==12.9.* \
  nvidia-cuda-runtime-cu12==12.9.* numpy
"$environment/bin/python" "$here/clients/cpp/planted.py" "$built/simtlab" "$built" race,init,sync,memory \
  "$here/clients/numba-cuda/planted.py" "$environment/bin/python" -W ignore "$here/clients/numba-cuda/planted.py"
