#!/bin/sh
# Seeds for the fuzz target `pmask`: the bundled programs as files and as texts, and every word of the encoding vectors as code.
set -eu
cd "$(dirname "$0")/.."
to=fuzz/corpus/pmask
mkdir -p "$to"
for file in kernels/pmask/*/*.s kernels/pmask/*/*.elf; do
    { printf '\000'; cat "$file"; } > "$to/file-$(basename "$file")"
    { printf '\001'; cat "$file"; } > "$to/text-$(basename "$file")"
done
# Words of the third column, least byte first, after a mode and six bytes of options.
{ printf '\002\000\003\077\010\003\001'
  awk -F '\t' 'NR > 1 && $3 ~ /^0x/ { print $3 }' crates/pmask/tests/vectors/encoding_vectors.tsv |
      sed 's/^0x\(..\)\(..\)\(..\)\(..\)$/\4\3\2\1/' | xxd -r -p
} > "$to/code-vectors"
