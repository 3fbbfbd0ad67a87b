#!/usr/bin/env bash
# Makes the shared mathematics libraries of the static ones in the same folder: link.sh FOLDER (target/debug).
# Programs ask for symbols of the version that the library's name is. CUDA 12 and 13 have different names for some.
set -euo pipefail

folder=$1

# library ARCHIVE PATTERN SONAME...: exports the functions with these names.
library() {
  local archive=$folder/$1 pattern=$2 name made map
  [ -e "$archive" ] || return 0
  shift 2
  for name in "$@"; do
    made=$folder/$name.$$
    map=$made.map
    printf '%s {\n  global: %s;\n  local: *;\n};\n' "$name" "$pattern" > "$map"
    "${CC:-cc}" -shared -o "$made" -Wl,-soname,"$name" -Wl,--version-script="$map" -Wl,--gc-sections \
      -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lpthread -ldl -lm -lgcc_s -lc
    mv "$made" "$folder/$name"
    rm "$map"
  done
}

library libcublas.a 'cublas*; simtlab_cublas*' libcublas.so.12 libcublas.so.13
library libcublaslt.a 'cublasLt*' libcublasLt.so.12 libcublasLt.so.13
library libcurand.a 'curand*' libcurand.so.10
library libcufft.a 'cufft*' libcufft.so.11 libcufft.so.12
library libcusparse.a 'cusparse*' libcusparse.so.12
library libcusolver.a 'cusolver*' libcusolver.so.11 libcusolver.so.12
