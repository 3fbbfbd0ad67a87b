#!/usr/bin/env bash
# NVIDIA's CUDA samples, built by their own CMake files under `simtlab exec` and run on the virtual device, with a table of outcomes.
#   CUDA_SAMPLES=FOLDER run.sh [NAME ...]
# They run as NVIDIA's test runner runs them, with the arguments and numbers of devices in its test_args.json, which says, too, what is not run.
# FOLDER is a checkout of github.com/NVIDIA/cuda-samples, which stays as it is: a copy is built. Without names all samples run.
# ARCHITECTURES (80) replaces the list of architectures, which would take nine times as long to compile; LIMIT (60) is the most seconds of a run;
# TABLE (samples.tsv below target/clients/samples) receives a line for each sample: name, outcome, reason, seconds. BUILD_ONLY=1 only builds them.
# Outcomes: ran (exit code 0), waived (the sample says that it does not suit the device), failed, time (over the limit), not built, skipped.
# Of Debian's packages, samples want freeglut3-dev libglu1-mesa-dev libgles-dev libegl-dev libopenmpi-dev libfreeimage-dev libglfw3-dev libvulkan-dev, and xvfb to draw.
source "$(dirname "$0")/../common.sh"
: "${CUDA_SAMPLES:?say where a checkout of cuda-samples is}"
build
# Some samples include what headers of CCCL 13.0 include by the way.
toolkit samples nvidia-cuda-nvrtc nvidia-curand nvidia-cuda-profiler-api nvidia-cublas nvidia-cufft nvidia-cusolver nvidia-cusparse nvidia-nvtx nvidia-nvjpeg nvidia-npp nvidia-nvjitlink 'nvidia-cuda-cccl==13.0.*'
# The packages have other folders than the toolkit's installer.
ln -sfn ../lib "$toolkit/nvvm/lib64"
ln -sfn ../include "$toolkit/nvvm/include"
export CMAKE_LIBRARY_PATH=$toolkit/lib
# The driver that goes with the toolkit: some samples refuse an older one.
export SIMTLAB_CUDA_VERSION=13.5
# Samples on the driver API make fat binaries of machine code by commands of their own.
export NVCC_APPEND_FLAGS="-gencode arch=compute_80,code=compute_80"

copy=$environment/copy built_to=$environment/built table=${TABLE:-$environment/samples.tsv}
if [ ! -d "$copy" ]; then
  cp -r "$CUDA_SAMPLES" "$copy"
  find "$copy" -name CMakeLists.txt -exec sed -i "s/set(CMAKE_CUDA_ARCHITECTURES [0-9 ]*)/set(CMAKE_CUDA_ARCHITECTURES ${ARCHITECTURES:-80})/" {} +
fi

# Why a build failed: what CMake does not find, else the first error.
build_reason() {
  grep -hoE '[A-Za-z0-9]+ not found - will not build|Could NOT find [A-Za-z0-9]+|Could not find .*|Target "[^"]*" links to|CUDA::[a-zA-Z0-9_]+|fatal error: .*|undefined reference to .*|cannot find -l[^ :]*|error.*' "$1" | head -n 2 | paste -sd' ' | cut -c1-160
}

# Why a run failed: what the report names, else the program's last words.
run_reason() {
  { sed -nE 's/^  (not supported, called [^:]*: .*)/\1/p; s/^  (the (kernel|variable) .* cannot .*)/\1/p; s/^  (fault: .*)/\1/p; s/^  (hang: .*)/\1/p; s/^  (failed .*)/\1/p' "$1.err" | head -n 2
    grep -hE 'rror|ailed|FAIL' "$1.out" "$1.err" | head -n 1; } | head -n 2 | paste -sd';' | cut -c1-200
}

# build_sample FOLDER OUT TARGET...: configured once; later calls build what has changed.
build_sample() {
  local folder=$1 out=$2
  shift 2
  mkdir -p "$out"
  # What CMake found out about the compilers holds for all samples.
  [ -d "$out/CMakeFiles" ] || cp -r "$environment/compilers" "$out/CMakeFiles" 2> /dev/null
  [ -e "$out/build.ninja" ] || on_device cmake -G Ninja -S "$folder" -B "$out" -DCMAKE_BUILD_TYPE=Release || return
  on_device cmake --build "$out" -j "${JOBS:-2}" "$@"
}

# run_program PROGRAM OUT ARGUMENT...: sets outcome and reason.
run_program() {
  local program=$1 out=$2 code
  shift 2
  (cd "$(dirname "$program")" &&
    timeout -s INT "${LIMIT:-60}" "$built/simtlab" exec --libraries "$built" -- "$program" "$@" > "$out/run.out" 2> "$out/run.err" < /dev/null)
  code=$?
  reason=
  case $code in
    0) outcome=ran ;;
    2) outcome=waived reason=$(run_reason "$out/run") ;;
    124 | 130) outcome=time ;;
    *) outcome=failed reason="$code: $(run_reason "$out/run")" ;;
  esac
  # 3: the program has ended well, but a kernel has not. Some samples want assertions to fail.
  if [ $code = 3 ] && ! grep -E '^  (fault|hang): ' "$out/run.err" | grep -qv '\[assert'; then
    outcome=ran reason='assertions of its kernels fail'
  fi
}

sample() {
  local folder=$1 name out outcome reason program plan line words begun=$SECONDS
  name=$(basename "$folder")
  out=$built_to/$name
  mapfile -t plan < <("$environment/bin/python" "$here/clients/samples/arguments.py" "$copy/test_args.json" "$name")
  if [ "${plan[0]}" = skip ]; then
    printf '%s\tskipped\ttest_args.json\n' "$name"
    return
  fi
  # Some are parts of the project above them.
  if grep -q '^project(' "$folder/CMakeLists.txt"; then
    build_sample "$folder" "$out" > "$out.log" 2>&1
  else
    out=$built_to/$(basename "$(dirname "$folder")")/$name
    mkdir -p "$out"
    build_sample "$(dirname "$folder")" "$(dirname "$out")" --target "$(sed -nE 's/.*add_executable\(([^ )]+).*/\1/p' "$folder/CMakeLists.txt" | head -n 1)" > "$out.log" 2>&1
  fi
  if [ $? != 0 ]; then
    printf '%s\tnot built\t%s\n' "$name" "$(build_reason "$out.log")"
    return
  fi
  if [ ! -d "$environment/compilers" ] && ls -d "$out"/CMakeFiles/[0-9]* > /dev/null 2>&1; then
    mkdir "$environment/compilers"
    cp -r "$out"/CMakeFiles/[0-9]* "$environment/compilers/"
  fi
  # The program has the sample's name, or that of the driver API's variant.
  program=$(find "$out" -maxdepth 2 -type f -executable -name "$name*" ! -name '*.so*' | head -n 1)
  [ -n "$program" ] || program=$(find "$out" -maxdepth 1 -type f -executable ! -name '*.so*' | head -n 1)
  if [ -z "$program" ]; then
    printf '%s\tnot built\t%s\n' "$name" "$(build_reason "$out.log")"
    return
  fi
  if [ -n "${BUILD_ONLY:-}" ]; then
    printf '%s\tbuilt\t\n' "$name"
    return
  fi
  # Samples look for their data from where they are.
  cp -rn "$folder"/data "$(dirname "$program")" 2> /dev/null
  export SIMTLAB_DEVICES=${plan[0]}
  for line in "${plan[@]:1}"; do
    eval "words=($line)"
    run_program "$program" "$out" "${words[@]}"
    [ "$outcome" = ran ] || { reason="${line:+$line }$reason"; break; }
  done
  printf '%s\t%s\t%s\t%s\n' "$name" "$outcome" "$reason" "$((SECONDS - begun))"
}

# Samples that draw want a display; a virtual one does.
if [ -z "${DISPLAY:-}" ] && [ -z "${BUILD_ONLY:-}" ] && command -v Xvfb > /dev/null; then
  exec 7< <(exec Xvfb -displayfd 1 -screen 0 1024x1024x24 2> /dev/null)
  display=$!
  trap 'kill "$display"' EXIT
  read -r number <&7
  export DISPLAY=:$number
fi

set +e
mkdir -p "$built_to"
: > "$table"
find "$copy/Samples" -name CMakeLists.txt -exec grep -l add_executable {} + | sort | while read -r file; do
  folder=$(dirname "$file")
  if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "$(basename "$folder")"; then
    continue
  fi
  sample "$folder" < /dev/null | tee -a "$table"
done
cut -f 2 "$table" | sort | uniq -c
