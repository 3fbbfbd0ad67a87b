#!/usr/bin/env bash
# Makes the shared mathematics libraries of the static ones in the same folder, NVML, CUPTI, nvJitLink, the PTX compiler and the library in front of
# NVRTC: link.sh FOLDER (target/debug).
# Programs ask for symbols of the version that the library's name is. CUDA 12 and 13 have different names for some.
set -euo pipefail

folder=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/link
. "$source/../../cudart/link/forward.sh"

# exporting NAME PATTERN OPTION...: a shared library of this name, which exports the functions with these names.
exporting() {
  local name=$1 pattern=$2 made=$folder/$1.$$ map=$folder/$1.$$.map version=$1
  shift 2
  # NVML's symbols have no version: its name could not be one.
  [[ "$name" != *-* ]] || version=
  printf '%s {\n  global: %s;\n  local: *;\n};\n' "$version" "$pattern" > "$map"
  "${CC:-cc}" -shared -o "$made" -Wl,-soname,"$name" -Wl,--version-script="$map" "$@"
  mv "$made" "$folder/$name"
  rm "$map"
}

# whole NAME PATTERN ARCHIVE OPTION...: a shared library of this name, of a static one.
whole() {
  local name=$1 pattern=$2 archive=$3
  shift 3
  exporting "$name" "$pattern" "$@" -Wl,--gc-sections -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lpthread -ldl -lm -lgcc_s -lc
}

# library ARCHIVE PATTERN SONAME...: of a static library.
library() {
  local archive=$folder/$1 pattern=$2 name
  [ -e "$archive" ] || return 0
  shift 2
  for name in "$@"; do
    whole "$name" "$pattern" "$archive"
  done
}

library libcublas.a 'cublas*; simtlab_cublas*' libcublas.so.12 libcublas.so.13
library libcublaslt.a 'cublasLt*' libcublasLt.so.12 libcublasLt.so.13
library libcurand.a 'curand*' libcurand.so.10
library libcufft.a 'cufft*' libcufft.so.11 libcufft.so.12
library libcusparse.a 'cusparse*' libcusparse.so.12
library libcupti.a 'cupti*' libcupti.so.12 libcupti.so.13
library libnvml.a 'nvml*' libnvidia-ml.so.1
library libcusolver.a 'cusolver*' libcusolver.so.11 libcusolver.so.12

for version in 12 13; do
  exporting "libnvrtc.so.$version" 'nvrtc*; simtlab_nvrtc' -std=gnu11 -O1 -Wall -fPIC -DVERSION="\"$version\"" "$source/nvrtc.c" -lpthread -ldl
done

if [ -e "$folder/libnvjitlink.a" ]; then
  for version in 12 13; do
    whole "libnvJitLink.so.$version" 'nvJitLink*; __nvJitLink*; simtlab_nvjitlink_provide' "$folder/libnvjitlink.a" -std=gnu11 -O1 -Wall -fPIC \
      -DVERSION="\"$version\"" -DMAJOR="$version" "$source/nvjitlink.c"
    # NVIDIA has it as a static library alone: programs are linked with an archive that finds this one.
    whole "libnvptxcompiler.so.$version" 'nvPTXCompiler*' "$folder/libnvjitlink.a"
    mkdir -p "$folder/link/$version"
    ln -sfn "../../libnvJitLink.so.$version" "$folder/link/$version/libnvJitLink.so"
    if forwards; then
      # 4 is NVPTXCOMPILE_ERROR_INTERNAL.
      forwarding "$folder/libnvptxcompiler.so.$version" "$folder/link/$version" libnvptxcompiler_static.a simtlab_nvptxcompiler \
        .simtlab.nvptxcompiler 4
    fi
  done
fi
