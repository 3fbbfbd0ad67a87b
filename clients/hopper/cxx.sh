#!/usr/bin/env bash
# Programs for Hopper in CUDA C++, compiled by nvcc from PyPI and run on the virtual device, at early order, then late under checks:
#   cxx.sh [cute|cutlass|thunderkittens ...]   all whose checkout is named, by default
# Environment: CUTLASS_SOURCE, a checkout of NVIDIA/cutlass; THUNDERKITTENS_SOURCE, one of HazyResearch/ThunderKittens.
# A program passes if its own comparison with a reference does; the tutorials of CuTe and the sizes of ThunderKittens' levels have
# programs of ours around them. A compilation takes one to two minutes.
source "$(dirname "$0")/../common.sh"
build
toolkit hopper-cxx nvidia-curand nvidia-cublas
echo "nvcc $nvcc_version"
programs=$environment/programs
mkdir -p "$programs"
failed=0

# compile STANDARD SOURCE PROGRAM OPTION...: PTX for sm_90a. A program stays until its source changes.
compile() {
  local standard=$1 source=$2 program=$programs/$3
  shift 3
  [ "$program" -nt "$source" ] && return
  nvcc "-std=$standard" -O2 -gencode=arch=compute_90a,code=compute_90a --expt-relaxed-constexpr --expt-extended-lambda -w \
    -cudart shared -I"$toolkit/include/cccl" -L"$toolkit/lib" -L"$built" "$@" "$source" -lcuda -o "$program"
}

# passes EXPECTED PROGRAM ARGUMENT...: runs it both ways; its output has to match a pattern, and nothing may be found.
passes() {
  local expected=$1 program=$2 way output start
  shift 2
  for way in "" "--check=race,sync"; do
    start=$SECONDS
    # shellcheck disable=SC2086
    if output=$("$built/simtlab" exec --libraries "$built" --capability 9.0 $way -- "$programs/$program" "$@" 2>&1) && grep -Eq "$expected" <<< "$output"; then
      echo "$program $* ${way:-early}: passed in $((SECONDS - start)) s"
    else
      echo "$program $* ${way:-early}: FAILED"
      tail -5 <<< "$output"
      failed=1
    fi
  done
}

cute() {
  local tutorial
  for tutorial in wgmma_sm90 wgmma_tma_sm90; do
    compile c++17 "$here/clients/hopper/cxx/tutorial.cu" "$tutorial" -DTUTORIAL="\"$tutorial.cu\"" -I"$CUTLASS_SOURCE/include" \
      -I"$CUTLASS_SOURCE/tools/util/include" -I"$CUTLASS_SOURCE/examples/cute/tutorial/hopper"
    # The tutorials have no guards: blocks of 128 x 128 in clusters of two, and at least as much depth as their three stages.
    passes '^0 of' "$tutorial" 256 128 256 N T
    passes '^0 of' "$tutorial" 256 256 192 T N
  done
}

example() {
  local name=$1
  compile c++17 "$CUTLASS_SOURCE/examples/$name/$name.cu" "$name" -I"$CUTLASS_SOURCE/include" -I"$CUTLASS_SOURCE/tools/util/include" \
    -I"$CUTLASS_SOURCE/examples/common"
  shift
  passes 'Disposition: Passed' "$name" "$@" --iterations=0
}

cutlass() {
  example 48_hopper_warp_specialized_gemm --m=384 --n=256 --k=192 --alpha=1.5 --beta=0.5
  example 54_hopper_fp8_warp_specialized_gemm --m=256 --n=128 --k=256
  example 57_hopper_grouped_gemm --m=256 --n=128 --k=128 --groups=3
  example 62_hopper_sparse_gemm --m=256 --n=128 --k=256
}

thunderkittens() {
  local level
  for level in 02 04 06 08; do
    compile c++20 "$here/clients/hopper/cxx/level.cu" "level_$level" -DLEVEL="\"level_$level.cu\"" -DKITTENS_HOPPER -DNDEBUG \
      -I"$THUNDERKITTENS_SOURCE/include" -I"$THUNDERKITTENS_SOURCE/prototype" -I"$THUNDERKITTENS_SOURCE/kernels/gemm/educational_h100"
    passes '^Error count: 0' "level_$level" 256
  done
}

selected=("$@")
if [ $# = 0 ]; then
  [ -z "${CUTLASS_SOURCE:-}" ] || selected+=(cute cutlass)
  [ -z "${THUNDERKITTENS_SOURCE:-}" ] || selected+=(thunderkittens)
fi
[ ${#selected[@]} -gt 0 ] || { echo "$0: name a checkout by CUTLASS_SOURCE or THUNDERKITTENS_SOURCE" >&2; exit 2; }
for program in "${selected[@]}"; do
  case $program in
    cute | cutlass) : "${CUTLASS_SOURCE:?a checkout of NVIDIA/cutlass}" ;;
    thunderkittens) : "${THUNDERKITTENS_SOURCE:?a checkout of HazyResearch/ThunderKittens}" ;;
    *) echo "$0: no programs $program" >&2; exit 2 ;;
  esac
  "$program"
done
exit $failed
