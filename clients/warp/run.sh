#!/usr/bin/env bash
# NVIDIA Warp: its native library is built here with the shared runtime, since that of its wheel carries NVIDIA's static one; then kernels beside NumPy.
#   WARP_SOURCE=FOLDER run.sh
# FOLDER is a checkout of github.com/NVIDIA/warp, which stays as it is: a copy is built. Warp's own options make a library with PTX for one virtual
# architecture, without its compiler for the CPU. With SUITE set, its unit tests of these names run, too (SUITE="test_atomic test_utils").
source "$(dirname "$0")/../common.sh"
: "${WARP_SOURCE:?say where a checkout of warp is}"
build
toolkit warp nvidia-cuda-nvrtc nvidia-nvptxcompiler numpy
copy=$environment/copy
if [ ! -e "$copy/warp/bin/warp.so" ]; then
  mkdir -p "$copy"
  cp -r "$WARP_SOURCE"/. "$copy"
  (cd "$copy" && on_device "$environment/bin/python" build_lib.py --cuda-path "$toolkit" --quick --use-dynamic-cuda --no-standalone --no-use-libmathdx)
fi
# Warp wants a driver that is not older than its toolkit, and NVRTC.
export SIMTLAB_CUDA_VERSION=13.5 LD_LIBRARY_PATH=$toolkit/lib WARP_CACHE_PATH=$environment/kernels
export PYTHONPATH=$copy:$here/clients
echo "warp $(cat "$copy/VERSION.md")"
on_device "$environment/bin/python" "$here/clients/warp/kernels.py"
for test in ${SUITE:-}; do
  on_device "$environment/bin/python" -m unittest "warp.tests.$test"
done
