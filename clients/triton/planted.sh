#!/usr/bin/env bash
# Defects planted in Triton: each is found by `simtlab exec --check`, with its line, and nothing is found without it.
# Triton keeps its modules for the end of the process, so leaks are not looked for; nor are failed calls, by which it asks for features.
source "$(dirname "$0")/../common.sh"
build
venv triton triton==3.9.* numpy
export TRITON_CACHE_DIR=$environment/cache TRITON_DEFAULT_FP_FUSION=1
"$environment/bin/python" "$here/clients/cpp/planted.py" "$built/simtlab" "$built" race,init,sync,memory \
  "$here/clients/triton/planted.py" "$environment/bin/python" "$here/clients/triton/planted.py"
