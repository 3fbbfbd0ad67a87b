#!/usr/bin/env bash
# Makes the CUDA runtime libraries of libcudart.a, in the same folder: link.sh FOLDER (target/debug).
#   libcudart.so.12, libcudart.so.13   what programs load; they ask for symbols of the version that the name is
#   link/VERSION/                      what linkers look for: libcudart.so, libcudart_static.a, libcuda.so
#   link/tools/                        linkers that look there first (COMPILER_PATH)
#   link/simtlab.cmake, link/pkgconfig what build systems take
# Written files replace old ones at once, so that programs which run keep theirs.
set -euo pipefail

folder=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/link
cc=${CC:-cc}
. "$source/forward.sh"

# shared VERSION: libcudart.so.VERSION, with versions of symbols, which rustc cannot write.
shared() {
  local name=libcudart.so.$1 made=$folder/libcudart.so.$1.$$
  printf '%s {\n  global: cuda*; __cuda*;\n  local: *;\n};\n' "$name" > "$made.map"
  "$cc" -shared -o "$made" -Wl,-soname,"$name" -Wl,--version-script="$made.map" -Wl,--gc-sections \
    -Wl,--whole-archive "$folder/libcudart.a" -Wl,--no-whole-archive -lpthread -ldl -lm -lgcc_s -lc
  mv "$made" "$folder/$name"
  rm "$made.map"
}

# names VERSION: links, relative so that the folder can be moved, and a file for pkg-config.
names() {
  local place=$folder/link/$1
  ln -sfn "../../libcudart.so.$1" "$place/libcudart.so"
  ln -sfn "../../libcudart.so.$1" "$place/libcudart.so.$1"
  ln -sfn ../../libcuda.so "$place/libcuda.so"
  cat > "$folder/link/pkgconfig/simtlab-cudart-$1.pc" <<PC
libdir=\${pcfiledir}/../$1
Name: simtlab-cudart-$1
Description: The CUDA runtime and driver API on Simtlab's virtual device
Version: $1
Libs: -L\${libdir} -lcudart -lcuda
PC
}

for version in 12 13; do
  shared "$version"
  mkdir -p "$folder/link/$version" "$folder/link/pkgconfig"
  names "$version"
  if forwards; then
    # 35 is cudaErrorInsufficientDriver.
    forwarding "$folder/libcudart.so.$version" "$folder/link/$version" libcudart_static.a simtlab_cudart .simtlab.cudart 35
  fi
done
cp "$source/simtlab.cmake" "$folder/link/"
mkdir -p "$folder/link/tools"
for linker in ld ld.bfd ld.gold ld.lld ld.mold; do
  cp "$source/ld.sh" "$folder/link/tools/$linker.$$"
  chmod +x "$folder/link/tools/$linker.$$"
  mv "$folder/link/tools/$linker.$$" "$folder/link/tools/$linker"
done
