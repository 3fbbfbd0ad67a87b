#!/usr/bin/env bash
# Programs for Hopper in CUDA C++, compiled by nvcc from PyPI and run on the virtual device, at early order, then late under checks:
#   cxx.sh [cute|cutlass|flash_attention|thunderkittens ...]   all whose checkout is named, by default
# Environment: CUTLASS_SOURCE, a checkout of NVIDIA/cutlass; FLASH_ATTENTION_SOURCE, one of Dao-AILab/flash-attention (with
# CUTLASS_SOURCE); THUNDERKITTENS_SOURCE, one of HazyResearch/ThunderKittens; ORDERS, how many random orders each program also runs in (0);
# MUTANTS, the share of mutations of each program that are run in place of the program (`programs.py`), ONLY, a pattern of their classes and
# places, and SURVIVORS, a folder for lists of those that are not found.
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
    -no-compress -cudart shared -I"$toolkit/include/cccl" -L"$toolkit/lib" -L"$built" "$@" "$source" -lcuda -o "$program"
}

# What the checks find in a program, where it is not nothing: there is no barrier in `wgmma_sm90` between the waits of single threads for
# `cp.async` and the product.
declare -A found=([wgmma_sm90]='overwritten-in-flight')

# mutated EXPECTED PROGRAM ARGUMENT...: runs mutations of its kernels, if nothing is found in them as they are.
mutated() {
  local expected=$1 program=$2
  shift 2
  [ -z "${found[$program]:-}" ] || return 0
  SIMTLAB_CLIENTS=0 "$built/simtlab" exec --libraries "$built" --capability 9.0 --check=race,sync --quiet -- "$environment/bin/python" \
    "$here/clients/hopper/programs.py" --share "$MUTANTS" --only "${ONLY:-}" ${SURVIVORS:+--list "$SURVIVORS/$program $*"} "$expected" "$programs/$program" "$@" || failed=1
}

# passes EXPECTED PROGRAM ARGUMENT...: runs it in each way; its output has to match a pattern, and what the checks find be as told above.
passes() {
  local expected=$1 program=$2 way output start seed findings
  [ -z "${MUTANTS:-}" ] || { mutated "$@"; return; }
  shift 2
  local ways=("" "--check=race,sync")
  for ((seed = 1; seed <= ${ORDERS:-0}; seed++)); do ways+=("--check=race,sync --async=random:$seed"); done
  for way in "${ways[@]}"; do
    start=$SECONDS
    # shellcheck disable=SC2086
    output=$("$built/simtlab" exec --libraries "$built" --capability 9.0 $way -- "$programs/$program" "$@" 2>&1) || true
    findings="checks: nothing found"
    [ -z "${found[$program]:-}" ] || findings="checks: [0-9]+ ${found[$program]}$"
    if grep -Eq "$expected" <<< "$output" && { [ -z "$way" ] || grep -Eq "^$findings" <<< "$output"; }; then
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

# Each depth is that of all stages of the rings, which have up to seven of 32 to 128 elements, and of one slice more at least.
cutlass() {
  example 48_hopper_warp_specialized_gemm --m=256 --n=256 --k=288 --alpha=1.5 --beta=0.5
  example 54_hopper_fp8_warp_specialized_gemm --m=128 --n=128 --k=1024
  example 57_hopper_grouped_gemm --m=64 --n=64 --k=896 --groups=2
  example 62_hopper_sparse_gemm --m=128 --n=128 --k=640
}

flash_attention() {
  local left_out=() feature
  for feature in LOCAL VARLEN APPENDKV PAGEDKV SPLIT SOFTCAP PACKGQA; do left_out+=("-DFLASHATTENTION_DISABLE_$feature"); done
  compile c++17 "$here/clients/hopper/cxx/attention.cu" attention "${left_out[@]}" -I"$FLASH_ATTENTION_SOURCE/hopper" -I"$CUTLASS_SOURCE/include"
  # One and several tiles of queries and keys, whole and partial; an even number of tiles of queries runs in clusters of two.
  passes '^0 of' attention 1 2 128 256 full
  passes '^0 of' attention 2 1 200 600 full
  passes '^0 of' attention 1 3 192 256 causal
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
  [ -z "${FLASH_ATTENTION_SOURCE:-}" ] || selected+=(flash_attention)
  [ -z "${THUNDERKITTENS_SOURCE:-}" ] || selected+=(thunderkittens)
fi
[ ${#selected[@]} -gt 0 ] || { echo "$0: name a checkout by CUTLASS_SOURCE, FLASH_ATTENTION_SOURCE or THUNDERKITTENS_SOURCE" >&2; exit 2; }
for program in "${selected[@]}"; do
  case $program in
    cute | cutlass) : "${CUTLASS_SOURCE:?a checkout of NVIDIA/cutlass}" ;;
    flash_attention) : "${CUTLASS_SOURCE:?a checkout of NVIDIA/cutlass}" "${FLASH_ATTENTION_SOURCE:?a checkout of Dao-AILab/flash-attention}" ;;
    thunderkittens) : "${THUNDERKITTENS_SOURCE:?a checkout of HazyResearch/ThunderKittens}" ;;
    *) echo "$0: no programs $program" >&2; exit 2 ;;
  esac
  "$program"
done
exit $failed
