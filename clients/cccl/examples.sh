#!/usr/bin/env bash
# The examples of Thrust and CUB under all checks, with a table: examples.sh [NAME ...]
#   CCCL=FOLDER is a checkout of github.com/NVIDIA/cccl (else one of the commit below is made); it is compiled with its own headers.
#   CATCH2=FOLDER is one of github.com/catchorg/Catch2 (else one of v3.7.1), which most examples of CUB include.
# LIMIT (120) is the most seconds of a run; CHECK (all) the checks; TABLE (examples.tsv below target/clients/cccl) receives a line for each
# example: name, outcome, findings. Outcomes: silent (exit code 0, no finding), found, failed, time (over the limit), not built.
source "$(dirname "$0")/../common.sh"
build
toolkit cccl nvidia-curand
sources=${CCCL:-$environment/checkout}
checkout "$sources" NVIDIA/cccl 571f2fc3bc53cd710e306ad43d58995c1fe4219f
table=${TABLE:-$environment/examples.tsv} programs=$environment/programs
catch2=${CATCH2:-$environment/catch2} shim=$environment/shim
checkout "$catch2" catchorg/Catch2 v3.7.1
mkdir -p "$programs"

# Catch2 is compiled from one file; the headers that the examples name include that of this file.
if [ ! -f "$shim/catch.o" ]; then
  grep -rhoE '<catch2/[^>]*>' "$sources/c2h/include" | sort -u | tr -d '<>' | while read -r header; do
    mkdir -p "$shim/$(dirname "$header")"
    echo '#include <catch_amalgamated.hpp>' > "$shim/$header"
  done
  g++ -std=c++17 -DCATCH_AMALGAMATED_CUSTOM_MAIN -I"$catch2/extras" -c "$catch2/extras/catch_amalgamated.cpp" -o "$shim/catch.o"
fi

compile() {
  nvcc -std=c++17 -O2 -lineinfo --extended-lambda -arch=compute_80 -code=compute_80 -cudart shared -I"$toolkit/include" -I"$sources/thrust" -I"$sources/cub" \
    -I"$sources/libcudacxx/include" -I"$sources/thrust/examples" -I"$sources/c2h/include" -I"$shim" -I"$catch2/extras" -L"$toolkit/lib" -o "$2" \
    "$1" "$shim/catch.o"
}

example() {
  local source=$1 name program code outcome findings
  name=${source#"$sources"/} name=${name%.cu}
  program=$programs/${name//\//-}
  if [ ! -x "$program" ] && ! compile "$source" "$program" > "$program.log" 2>&1; then
    printf '%s\tnot built\t%s\n' "$name" "$(grep -m 1 -oE 'error.*' "$program.log" | cut -c1-120)"
    return
  fi
  timeout -s INT "${LIMIT:-120}" "$built/simtlab" exec --libraries "$built" --check="${CHECK:-all}" -- "$program" \
    > "$program.out" 2> "$program.err" < /dev/null
  code=$?
  findings=$(sed -n 's/^checks: \([0-9]\)/\1/p' "$program.err")
  case $code in
    0) outcome=silent ;;
    6) outcome=found ;;
    124 | 130) outcome=time ;;
    *) outcome="failed ($code)" ;;
  esac
  printf '%s\t%s\t%s\n' "$name" "$outcome" "$findings"
}

set +e
: > "$table"
find "$sources"/{thrust,cub}/examples -name '*.cu' | sort | while read -r source; do
  if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "$(basename "$source" .cu)"; then
    continue
  fi
  example "$source" | tee -a "$table"
done
cut -f 2 "$table" | sort | uniq -c
