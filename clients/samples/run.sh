#!/usr/bin/env bash
# NVIDIA's CUDA samples, built by their own CMake files under `simtlab exec` and run on the virtual device, with a table of outcomes.
#   CUDA_SAMPLES=FOLDER run.sh [NAME ...]
# FOLDER is a checkout of github.com/NVIDIA/cuda-samples, which stays as it is: a copy is built. Without names all samples run.
# ARCHITECTURES (80) replaces the list of architectures, which would take nine times as long to compile; LIMIT (60) is the most seconds of a run;
# TABLE (samples.tsv below target/clients/samples) receives a line for each sample: name, outcome, reason.
# Outcomes: ran (exit code 0), waived (the sample says that it does not suit the device), failed, time (over the limit), not built.
source "$(dirname "$0")/../common.sh"
: "${CUDA_SAMPLES:?say where a checkout of cuda-samples is}"
build
toolkit samples nvidia-cuda-nvrtc nvidia-curand nvidia-cuda-profiler-api nvidia-cublas nvidia-cufft nvidia-cusolver nvidia-cusparse
# Samples on the driver API make fat binaries of machine code by commands of their own.
export NVCC_APPEND_FLAGS="-gencode arch=compute_80,code=compute_80"

copy=$environment/copy built_to=$environment/built table=${TABLE:-$environment/samples.tsv}
if [ ! -d "$copy" ]; then
  cp -r "$CUDA_SAMPLES" "$copy"
  find "$copy" -name CMakeLists.txt -exec sed -i "s/set(CMAKE_CUDA_ARCHITECTURES [0-9 ]*)/set(CMAKE_CUDA_ARCHITECTURES ${ARCHITECTURES:-80})/" {} +
fi

# Why a build failed: what CMake does not find, else the first error.
build_reason() {
  grep -hoE 'Could NOT find [A-Za-z0-9]+|Could not find .*|Target "[^"]*" links to|CUDA::[a-zA-Z0-9_]+|fatal error: [^:]*|undefined reference to .*|cannot find -l[^ :]*|error.*' "$1" | head -n 2 | paste -sd' ' | cut -c1-160
}

# Why a run failed: what the report names, else the program's last words.
run_reason() {
  { sed -nE 's/^  (not supported, called [^:]*: .*)/\1/p; s/^  (the (kernel|variable) .* cannot .*)/\1/p; s/^  (fault: .*)/\1/p; s/^  (hang: .*)/\1/p; s/^  (failed .*)/\1/p' "$1.err" | head -n 2
    grep -hE 'rror|ailed|FAIL' "$1.out" "$1.err" | head -n 1; } | head -n 2 | paste -sd';' | cut -c1-200
}

sample() {
  local folder=$1 name out outcome reason code programs program
  name=$(basename "$folder")
  out=$built_to/$name
  mkdir -p "$out"
  # What CMake found out about the compilers holds for all samples.
  [ -d "$out/CMakeFiles" ] || cp -r "$environment/compilers" "$out/CMakeFiles" 2> /dev/null
  if ! { on_device cmake -G Ninja -S "$folder" -B "$out" -DCMAKE_BUILD_TYPE=Release && on_device cmake --build "$out" -j "${JOBS:-2}"; } > "$out/build.log" 2>&1; then
    printf '%s\tnot built\t%s\n' "$name" "$(build_reason "$out/build.log")"
    return
  fi
  if [ ! -d "$environment/compilers" ]; then
    mkdir "$environment/compilers"
    cp -r "$out"/CMakeFiles/[0-9]* "$environment/compilers/"
  fi
  # The program has the sample's name, or that of the driver API's variant.
  program=$(find "$out" -maxdepth 2 -type f -executable -name "$name*" ! -name '*.so*' | head -n 1)
  [ -n "$program" ] || program=$(find "$out" -maxdepth 1 -type f -executable ! -name '*.so*' | head -n 1)
  if [ -z "$program" ]; then
    printf '%s\tnot built\tno program\n' "$name"
    return
  fi
  # Samples look for their data from where they are.
  (cd "$(dirname "$program")" && cp -rn "$folder"/data . 2> /dev/null
    timeout -s INT "${LIMIT:-60}" "$built/simtlab" exec --libraries "$built" -- "$program" > "$out/run.out" 2> "$out/run.err" < /dev/null)
  code=$?
  reason=
  case $code in
    0) outcome=ran ;;
    2) outcome=waived reason=$(run_reason "$out/run") ;;
    124 | 130) outcome=time ;;
    *) outcome=failed reason="$code: $(run_reason "$out/run")" ;;
  esac
  printf '%s\t%s\t%s\n' "$name" "$outcome" "$reason"
}

set +e
: > "$table"
find "$copy/Samples" -name CMakeLists.txt -exec grep -l add_executable {} + | sort | while read -r file; do
  folder=$(dirname "$file")
  if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "$(basename "$folder")"; then
    continue
  fi
  sample "$folder" | tee -a "$table"
done
cut -f 2 "$table" | sort | uniq -c
