#!/usr/bin/env bash
# Kernels for Hopper that public tools compile, on the virtual device: run.sh [tutorials|consan|mutants|operations|bundled] [ARGUMENT...]
#   tutorials   kernels of Triton's tutorials against NumPy, early, and late under checks (the default)
#   consan      the published tests of Triton's concurrency sanitizer under our checks
#   mutants     mutations of the tutorials' kernels under our checks
#   operations  tensor copies of every type, swizzle and rank, and products of warp groups of every shape and type, against NumPy; needs no checkout
#   bundled     mutations of kernels/wgmma_gemm, cluster_reduce and multicast_copy, and these in 100 random orders; needs nothing else
# Environment: TRITON_SOURCE, a checkout of triton-lang/triton of summer 2026 or later.
source "$(dirname "$0")/../common.sh"
build
if [ "${1:-}" = bundled ]; then
  shift
  exec "${SIMTLAB_PYTHON:-python3}" "$here/clients/hopper/bundled.py" "$built/simtlab" "$here/kernels" "$@"
fi
venv hopper triton==3.9.* numpy ml_dtypes pytest
echo "triton $(version_of triton)"
program=${1:-tutorials}
shift || true
[ "$program" = operations ] || checkout=${TRITON_SOURCE:?a checkout of triton-lang/triton}
export TRITON_CACHE_DIR=${TRITON_CACHE_DIR:-$environment/cache} TRITON_DEFAULT_FP_FUSION=1
# The stand-in for PyTorch needs no preparation.
export SIMTLAB_CLIENTS=0
hopper() {
  local options=$1 file=$2
  shift 2
  # shellcheck disable=SC2086
  "$built/simtlab" exec --libraries "$built" --capability 9.0 --quiet $options -- "$environment/bin/python" "$here/clients/hopper/$file" "$@"
}
case $program in
  tutorials)
    hopper "" tutorials.py "$checkout" "$@"
    hopper --check=race,sync tutorials.py "$checkout" "$@"
    ;;
  consan) hopper --check=race,sync consan.py "$checkout/python/test/gluon/test_consan.py" "$@" ;;
  operations) hopper "" operations.py "$@" ;;
  mutants) hopper --check=race,sync mutants.py "$checkout" "$@" ;;
  *) echo "run.sh: no program $program" >&2 && exit 2 ;;
esac
