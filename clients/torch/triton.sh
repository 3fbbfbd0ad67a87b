#!/usr/bin/env bash
# Triton's own tests of its language: TRITON_SOURCE=CHECKOUT bash clients/torch/triton.sh [FILE...]; the checkout is of the installed release.
# Environment: SAMPLE (0.2): the share of the tests, by the hash of their names; SAMPLE_LIMIT (60): seconds a test.
source "$(dirname "$0")/../common.sh"
build
venv torch torch numpy pytest expecttest scipy
echo "torch $(version_of torch), triton $(version_of triton), every $(awk "BEGIN {print 1 / ${SAMPLE:-0.2}}"). test"
tests=${TRITON_SOURCE:?a checkout of triton-lang/triton}/python/test
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$environment/cache} TRITON_DEFAULT_FP_FUSION=1
export SAMPLE=${SAMPLE:-0.2} SAMPLE_LIMIT=${SAMPLE_LIMIT:-60} PYTHONPATH=$here/clients
results=$environment/triton.xml
cd "$tests/unit/language"
on_device "$environment/bin/python" -m pytest -p sample -p no:cacheprovider --rootdir "$tests" --device cuda --quiet --tb=line \
  --junitxml="$results" "${@:-.}" || true
"$environment/bin/python" "$here/clients/results.py" "$results"
