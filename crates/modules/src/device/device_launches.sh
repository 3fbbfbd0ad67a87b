#!/usr/bin/env bash
# Makes device_launches.ptx of device_launches.cu with nvcc 13.5 (NVCC): bash device_launches.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
"${NVCC:-nvcc}" -rdc=true -arch=compute_75 -ptx device_launches.cu -o device_launches.ptx
# The headers of the host reserve the names.
sed -i 's/CDP2_/__cudaCDP2/g' device_launches.ptx
