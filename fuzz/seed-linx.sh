#!/bin/sh
# Seeds for the fuzz target `linx`: the bundled kernels as texts, the listing samples as code and as bodies.
set -eu
cd "$(dirname "$0")/.."
to=fuzz/corpus/linx
mkdir -p "$to"
for file in kernels/linx/*/*.linx crates/filetests/tests/linx/*/*.s; do
    { printf '\000'; cat "$file"; } > "$to/text-$(basename "$file")"
done
for table in golden worked_examples; do
    data=crates/linx/tests/data/$table.tsv
    column=1
    [ "$table" = golden ] && column=2
    for mode in 2 3; do
        awk -F '\t' -v column=$column '$1 !~ /^#/ && $column ~ /^[0-9a-f]+$/ { print $column }' "$data" |
            split -l 40 - "$to/.part-"
        for part in "$to"/.part-*; do
            { printf "\\00$mode\\006\\000\\000"; xxd -r -p "$part"; } > "$to/code-$table-$mode-${part##*-}"
        done
        rm "$to"/.part-*
    done
done
awk -F '\t' '/codec B/ { print $1 }' crates/linx/tests/data/golden_llvm.tsv |
    { printf '\004'; xxd -r -p; } > "$to/codec-b"
