#!/usr/bin/env bash
# Which forms of CCCL's `cuda::ptx` the front end takes, of those that ptxas takes for a target: run.sh [TARGET] (sm_90a).
source "$(dirname "$0")/../common.sh"
build
toolkit cccl
python3 "$here/clients/cccl/forms.py" "$toolkit/include/cccl" "$built/simtlab" --target "${1:-sm_90a}" --ptxas "$toolkit/bin/ptxas"
