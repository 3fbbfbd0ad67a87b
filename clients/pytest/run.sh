#!/usr/bin/env bash
# The pytest plug-in on a project with five planted defects (clients/pytest/planted): each has to fail its own test with its kind and line, and no
# other test may fail; once in one process, and once on two workers of pytest-xdist.
source "$(dirname "$0")/../common.sh"
build
venv torch torch numpy pytest pytest-xdist
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$environment/cache} TRITON_DEFAULT_FP_FUSION=1
export SIMTLAB_COMMAND=$built/simtlab SIMTLAB_LIBRARIES=$built PYTHONPATH=$here/crates/python/python
cd "$here/clients/pytest/planted"
for workers in 0 2; do
  report=$environment/planted-$workers.json
  "$environment/bin/python" -m pytest -p simtlab_clients.pytest_plugin -p no:cacheprovider --quiet --tb=short -n "$workers" \
    --simtlab-check=all --simtlab-limit 1000000 --simtlab-report "$report" && { echo "no test has failed"; exit 1; }
  "$environment/bin/python" "$here/clients/pytest/judge.py" "$report"
done
