#!/usr/bin/env bash
# Makes libcudart.so.12 and libcudart.so.13 of libcudart.a, in the same folder: link.sh FOLDER (target/debug).
# Programs ask for symbols of the version that the library's name is.
set -euo pipefail

folder=$1
for version in 12 13; do
  name=libcudart.so.$version
  made=$folder/$name.$$
  map=$made.map
  printf '%s {\n  global: cuda*; __cuda*;\n  local: *;\n};\n' "$name" > "$map"
  "${CC:-cc}" -shared -o "$made" -Wl,-soname,"$name" -Wl,--version-script="$map" -Wl,--gc-sections \
    -Wl,--whole-archive "$folder/libcudart.a" -Wl,--no-whole-archive -lpthread -ldl -lm -lgcc_s -lc
  mv "$made" "$folder/$name"
  rm "$map"
done
