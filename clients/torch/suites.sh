#!/usr/bin/env bash
# Test suites of projects that use PyTorch's CUDA tensors, unmodified, in samples: suites.sh pytorch|liger|fla
# Samples are decided by rule: of the tests that a pattern names, those with the smallest hashes of their names (clients/suite.py).
#   pytorch  2,000 tests for `cuda` of test_torch.py, test_nn.py, test_autograd.py   PYTORCH_SOURCE: a checkout of the installed release
#   liger    300 tests of Liger-Kernel's test/transformers, its Triton kernels       LIGER_SOURCE: a checkout of linkedin/Liger-Kernel
#   fla      300 tests of flash-linear-attention's tests/ops, on the package of PyPI  FLA_SOURCE: a checkout of fla-org/flash-linear-attention
# Environment: COUNT, SAMPLE_LIMIT (60): seconds of the processor a test. A run that was ended goes on: results are kept below target/clients/torch/suites.
source "$(dirname "$0")/../common.sh"
build
venv torch torch numpy scipy expecttest hypothesis pytest transformers einops datasets fla-core==0.6.0
suites=$environment/suites
mkdir -p "$suites"
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$environment/cache} TRITON_DEFAULT_FP_FUSION=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}

# suite NAME FOLDER COUNT PATTERN PATH PYTEST...: runs the sample in a folder with a Python path, and counts.
suite() {
  local name=$1 folder=$2 count=$3 pattern=$4 path=$5
  shift 5
  cd "$folder"
  echo "$name: torch $(version_of torch), triton $(version_of triton)"
  PYTHONPATH=$here/clients${path:+:$path} "$built/simtlab" exec --quiet --faults launch --libraries "$built" -- "$environment/bin/python" \
    "$here/clients/suite.py" run "$suites/$name.jsonl" --count "${COUNT:-$count}" --limit "${SAMPLE_LIMIT:-60}" --only "$pattern" -- "$@"
  local classes=("$here/clients/torch/classes/$name.toml")
  [ -e "${classes[0]}" ] || classes=()
  PYTHONPATH=$here/clients "$environment/bin/python" "$here/clients/suite.py" tell "$suites/$name.jsonl" "${classes[@]}"
}

case ${1:?pytorch, liger or fla} in
  pytorch)
    # Tests of tensors of many gigabytes are skipped where the device says that it has less.
    export SIMTLAB_DEVICE_MEMORY=${SIMTLAB_DEVICE_MEMORY:-4294967296}
    suite pytorch "${PYTORCH_SOURCE:?a checkout of pytorch/pytorch}/test" 2000 'CUDA::|_cuda' "" test_torch.py test_nn.py test_autograd.py
    ;;
  liger)
    source=$(realpath "${LIGER_SOURCE:?a checkout of linkedin/Liger-Kernel}")
    suite liger "$source" 300 '' "$source/src:$source" --rootdir=. test/transformers
    ;;
  fla)
    source=$(realpath "${FLA_SOURCE:?a checkout of fla-org/flash-linear-attention}")
    suite fla "$source/tests" 300 '' "" --rootdir=. ops
    ;;
  *)
    echo "there is no suite $1" >&2
    exit 2
    ;;
esac
