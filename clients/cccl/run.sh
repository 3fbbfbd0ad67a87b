#!/usr/bin/env bash
# Which forms of CCCL's `cuda::ptx` the front end takes, of those that ptxas takes for a target: run.sh [TARGET|any] (sm_90a). With `any`
# ptxas is asked for targets of each generation from 9.0 on, until it takes the form for one.
source "$(dirname "$0")/../common.sh"
build
toolkit cccl
selection=(--target "${1:-sm_90a}")
[ "${1:-}" != any ] || selection=()
python3 "$here/clients/cccl/forms.py" "$toolkit/include/cccl" "$built/simtlab" "${selection[@]}" --ptxas "$toolkit/bin/ptxas"
