#!/usr/bin/env bash
# nvidia-ml-py: NVIDIA's Python bindings of the management library, beside cuda.bindings; and a C program that is compiled with nvml.h.
source "$(dirname "$0")/../common.sh"
build
venv nvml nvidia-ml-py==13.615.71 nvidia-nvml-dev==13.5.37 cuda-bindings==12.9.*
echo "nvidia-ml-py $(version_of nvidia-ml-py)"
"${CC:-cc}" -Wall -I "$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13/include)" "$here/clients/nvml/devices.c" \
  -o "$environment/devices" "$built/libnvidia-ml.so.1"
SIMTLAB_DEVICES=3 on_device "$environment/devices"
PYTHONPATH=$here/clients on_device "$environment/bin/python" "$here/clients/nvml/check.py"
