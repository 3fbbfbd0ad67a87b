#!/usr/bin/env bash
# llm.c's training of GPT-2 in `float`: its CUDA program on the virtual device and on our cuBLAS, and its CPU program, 20 steps from the same
# checkpoint on the same tokens. Losses agree within the bound of llm.c's own tests.
# LLMC_SOURCE names a checkout of github.com/karpathy/llm.c, else it is fetched; it stays as it is.
source "$(dirname "$0")/../common.sh"
build
toolkit llm.c nvidia-cublas numpy
source_folder=${LLMC_SOURCE:-$environment/llm.c}
if [ ! -d "$source_folder" ]; then
  git clone --quiet https://github.com/karpathy/llm.c "$source_folder"
  git -C "$source_folder" checkout --quiet f1e2ace651495b74ae22d45d1723443fd00ecd3a
fi

work=$environment/work
mkdir -p "$work"
on_device nvcc -O3 --std=c++17 -gencode arch=compute_80,code=compute_80 "$source_folder/train_gpt2_fp32.cu" \
  -o "$work/train_gpt2_fp32cu" -lcublas 2> "$work/nvcc.log" || { cat "$work/nvcc.log"; exit 1; }
"${CC:-cc}" -O3 -std=gnu11 "$source_folder/train_gpt2.c" -o "$work/train_gpt2" -lm 2> "$work/cc.log" || { cat "$work/cc.log"; exit 1; }
cd "$work"
"$environment/bin/python" "$here/clients/llm.c/inputs.py" .
# It goes on for 40 steps, and writes text after 20, which nothing is compared with.
stdbuf -oL ./train_gpt2 | sed '/^generating/q' > cpu.out || true
# The CPU program's batch, sequence and rate; without samples of text.
on_device ./train_gpt2_fp32cu -b 4 -t 64 -l 1e-4 -v 10 -m 5 -g 1 > cuda.out
"$environment/bin/python" "$here/clients/llm.c/compare.py" cuda.out cpu.out
