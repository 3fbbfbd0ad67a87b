#!/usr/bin/env bash
# C++ programs of our own, compiled by the complete nvcc from PyPI, and run on libcudart.so.13.
# `separate` and `dynamic` are of relocatable device code, in the folder separate. With names of programs, those alone: run.sh reduce scan.
# BUILDS chooses how they are built, all by default:
#   shared   a shared runtime and PTX alone, without `simtlab exec`; NVCC_FLAGS adds options, such as --no-compress
#   default  `simtlab exec -- nvcc` with nvcc's defaults
#   static   the same with `-cudart static`
#   cmake    `simtlab exec -- cmake --build`, with CMake's defaults
source "$(dirname "$0")/../common.sh"
build
toolkit cpp
echo "nvcc $nvcc_version"

source=$here/clients/cpp
programs=("$@")
[ $# -gt 0 ] || programs=($(cd "$source" && ls *.cu | sed 's/\.cu$//' | grep -v planted) separate dynamic)

# compile BUILD PROGRAM FILE: machine code is of no use here, but part of the defaults.
compile() {
  local options=(-std=c++17 -O2 -I"$toolkit/include/cccl") files=("$source/$2.cu") nvcc=(on_device nvcc)
  case $1 in
    shared) nvcc=(nvcc -cudart shared -arch=compute_80 -code=compute_80 ${NVCC_FLAGS:-}) ;;
    static) nvcc+=(-cudart static) ;;
  esac
  case $2 in
    separate)
      options+=(-rdc=true)
      "${nvcc[@]}" "${options[@]}" -lib "$source/separate/library.cu" -o "$3.a"
      files=("$source"/separate/{main,b}.cu "$3.a")
      ;;
    dynamic)
      options+=(-rdc=true)
      files=("$source/separate/dynamic.cu")
      ;;
  esac
  "${nvcc[@]}" "${options[@]}" "${files[@]}" -o "$3"
}

# What is compiled stays until a source changes.
is_new() {
  [ -e "$source/$2.cu" ] && [ "$1" -nt "$source/$2.cu" ] && [ "$1" -nt "$source/check.h" ] && [ -z "${NVCC_FLAGS:-}" ]
}

passed=0 failed=()
for build in ${BUILDS:-shared default static cmake}; do
  folder=$environment/programs/$build
  mkdir -p "$folder"
  if [ "$build" = cmake ]; then
    list=$(IFS=';'; echo "${programs[*]}")
    on_device cmake -G Ninja -S "$source" -B "$folder" -DCMAKE_BUILD_TYPE=Release -DPROGRAMS="$list" > "$folder/configure.log" 2>&1 &&
      on_device cmake --build "$folder" > "$folder/build.log" 2>&1 || { cat "$folder"/*.log; exit 1; }
  fi
  for program in "${programs[@]}"; do
    file=$folder/$program
    if [ "$build" != cmake ] && ! is_new "$file" "$program"; then
      compile "$build" "$program" "$file" 2> "$file.log" || { cat "$file.log"; exit 1; }
    fi
    printf '%-8s %-12s ' "$build" "$program"
    # Faults are what `errors` is about: its exit code is its own.
    if on_device "$file" > "$file.out" 2> "$file.err" || { [ "$program" = errors ] && grep -q ' 0 failed$' "$file.out"; }; then
      passed=$((passed + 1))
      tail -1 "$file.out"
    else
      failed+=("$build/$program")
      cat "$file.out" "$file.err"
    fi
  done
done
echo "$((passed + ${#failed[@]})) programs: $passed passed, ${#failed[@]} failed ${failed[*]}"
[ ${#failed[@]} -eq 0 ]
