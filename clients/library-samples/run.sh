#!/usr/bin/env bash
# NVIDIA's samples of cuBLAS, cuBLASLt, cuRAND, cuFFT, cuSOLVER and cuSPARSE, built against NVIDIA's headers and libraries, and run on the
# virtual device and our libraries, with a table of outcomes.
#   run.sh [LIBRARY/SAMPLE ...]     cuSOLVER/gesvd; without names all samples run
# LIBRARY_SAMPLES names a checkout of github.com/NVIDIA/CUDALibrarySamples, else it is fetched; it stays as it is.
# Sources with kernels are compiled by nvcc, the others by the host's compiler: their own CMake files would take an hour to configure.
# LIMIT (60) is the most seconds of a run; TABLE (samples.tsv below target/clients/library-samples) receives a line for each program:
# library, sample, program, outcome, reason. Outcomes (judge.py):
#   verified    exit code 0, and the program printed what its README has, or says itself that its results are right
#   ran         exit code 0, and nothing to compare with
#   differs     exit code 0, and the README has other results
#   wrong       exit code 0, and the program says that its results are wrong
#   waived      exit code 2: the sample says that it does not suit the device
#   refused     a function that is not there, or one that refuses its options
#   failed      any other exit code; time: over the limit; not built
source "$(dirname "$0")/../common.sh"
build
toolkit library-samples nvidia-cublas nvidia-curand nvidia-cufft nvidia-cusolver nvidia-cusparse nvidia-nvjitlink nvidia-cuda-nvrtc
samples=${LIBRARY_SAMPLES:-$environment/CUDALibrarySamples}
if [ ! -d "$samples" ]; then
  git clone --quiet --filter=blob:none --no-checkout https://github.com/NVIDIA/CUDALibrarySamples "$samples"
  git -C "$samples" sparse-checkout set cuBLAS cuBLASLt cuRAND cuFFT cuSOLVER cuSPARSE
  git -C "$samples" checkout --quiet 34377293fb148e90aad16fd762fa2445f941be55
fi
built_to=$environment/built table=${TABLE:-$environment/samples.tsv}

# Why a build failed: the first error.
build_reason() {
  grep -hoE 'fatal error: .*|undefined reference to .*|cannot find -l[^ :]*|error.*' "$1" | head -n 1 | cut -c1-120
}

# compile SOURCE OBJECT
compile() {
  local options=(-O1 -w -I"$samples/$library/utils" -I"$samples/$library/Common" -I"$toolkit/include")
  # Kernels may be in the headers that the samples of cuFFT share.
  if [ "$library" = cuFFT ] || grep -qE '__global__|__device__|<<<' "$1"; then
    nvcc -x cu -std=c++17 -gencode arch=compute_80,code=compute_80 "${options[@]}" -c "$1" -o "$2"
  elif [ "${1##*.}" = c ]; then
    "${CC:-cc}" "${options[@]}" -c "$1" -o "$2"
  else
    # nvcc includes this by itself.
    "${CXX:-c++}" -x c++ -std=c++17 -include cassert "${options[@]}" -c "$1" -o "$2"
  fi
}

# link PROGRAM OBJECT...
link() {
  "${CXX:-c++}" -o "$@" -L"$toolkit/lib" -Wl,--as-needed -Wl,-rpath-link,"$toolkit/lib" -lcublas -lcublasLt -lcurand -lcufft -lcusolver -lcusparse \
    -lcudart -lnvJitLink -L"$built/link/13" -lcuda -lpthread -ldl -lm
}

# Why a run failed: what the report names, else the program's last words.
run_reason() {
  { sed -nE 's/.*undefined symbol: ([A-Za-z0-9_]+).*/no function \1/p' "$1.err"
     sed -nE 's/^  (not supported, called [^:]*: .*)/\1/p; s/^  (the (kernel|variable) .* cannot .*)/\1/p; s/^  (fault: .*)/\1/p; s/^  (hang: .*)/\1/p; s/^  (failed .*)/\1/p' "$1.err"
    grep -hE 'rror|ailed|FAIL' "$1.out" "$1.err"; } | head -n 1 | tr '\t' ' ' | cut -c1-160
}

# run_program LIBRARY SAMPLE PROGRAM
run_program() {
  local out=$built_to/$1/$2/$(basename "$3") code outcome reason=
  (cd "$samples/$1/$2" && timeout -s INT "${LIMIT:-60}" "$built/simtlab" exec --libraries "$built" -- "$3" > "$out.out" 2> "$out.err" < /dev/null)
  code=$?
  if [ "$code" = 124 ] || [ "$code" = 130 ]; then
    outcome=time
  elif grep -qE '^  (not supported, called|failed .*NOT_SUPPORTED|.*undefined symbol)|symbol lookup error' "$out.err"; then
    outcome=refused reason=$(run_reason "$out")
  elif [ "$code" = 2 ]; then
    outcome=waived reason=$(run_reason "$out")
  elif [ "$code" != 0 ]; then
    outcome=failed reason="$code: $(run_reason "$out")"
  else
    IFS=$'\t' read -r outcome reason <<< "$("$environment/bin/python" "$here/clients/library-samples/judge.py" "$samples/$1/$2" "$out.out")"
  fi
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$(basename "$3")" "$outcome" "$reason"
}

# sample LIBRARY/NAME: each source with a main function is a program; sources without belong to all of them.
sample() {
  local library=${1%%/*} name=${1#*/} out=$built_to/$1 sources mains others=() source object log
  mkdir -p "$out"
  sources=($(ls "$samples/$1"/*.c "$samples/$1"/*.cpp "$samples/$1"/*.cu 2> /dev/null))
  if [ "${#sources[@]}" -eq 0 ]; then
    printf '%s\t%s\t\tnot built\tits sources are built by steps of its own\n' "$library" "$name"
    return
  fi
  mains=($(grep -lE '^int main|^main\(' "${sources[@]}"))
  grep -q Common/helpers.cpp "$samples/$1/CMakeLists.txt" && sources+=("$samples/$library/Common/helpers.cpp")
  for source in "${sources[@]}"; do
    object=$out/$(basename "$source").o log=$out/$(basename "$source").log
    [ "$object" -nt "$source" ] || compile "$source" "$object" > "$log" 2>&1
    printf '%s\n' "${mains[@]}" | grep -qx "$source" || others+=("$object")
  done
  for source in "${mains[@]}"; do
    object=$out/$(basename "$source").o log=$out/$(basename "$source").log
    program=$out/$(basename "${source%.*}")
    [ "${#mains[@]}" -gt 1 ] || program=$out/$(basename "$name")
    if [ -e "$object" ] && link "$program" "$object" "${others[@]}" >> "$log" 2>&1; then
      run_program "$library" "$name" "$program"
    else
      printf '%s\t%s\t%s\tnot built\t%s\n' "$library" "$name" "$(basename "$program")" "$(cat "$out"/*.log | build_reason -)"
    fi
  done
}

set +e
: > "$table"
(cd "$samples" && find cuBLAS cuBLASLt cuRAND cuFFT cuSOLVER cuSPARSE -name CMakeLists.txt ! -path cuBLASLt/CMakeLists.txt | sed 's|/CMakeLists.txt||' | sort) | while read -r folder; do
  if [ $# -gt 0 ] && ! printf '%s\n' "$@" | grep -qx "$folder"; then
    continue
  fi
  sample "$folder" | tee -a "$table"
done
cut -f 1,4 "$table" | sort | uniq -c
