#!/usr/bin/env bash
# tinygrad on libcuda.so.1, with its PTX renderer; and, given TINYGRAD_SOURCE (a checkout), its own GPU-less mode on ptx_run.
source "$(dirname "$0")/../common.sh"
build
venv tinygrad tinygrad==0.14.0 numpy
# For tinygrad's own host code.
[ -n "${CC:-}" ] || CC=$(command -v clang || { compgen -c clang- | grep -E '^clang-[0-9]+$' | sort -t- -k2 -n | tail -1; } || true)
[ -n "$CC" ] || { echo "tinygrad compiles host code: install clang, or name a compiler as CC" >&2; exit 1; }
export CC
export PYTHONPATH=$here/clients CACHEDB=$target/clients/tinygrad-cache.db

echo "tinygrad $(version_of tinygrad) on libcuda.so.1"
DEV=CUDA:PTX on_device "$environment/bin/python" "$here/clients/tinygrad/check.py"

if [ -n "${TINYGRAD_SOURCE:-}" ]; then
  echo "tinygrad's mock of CUDA on ptx_run"
  libraries=$target/clients/ptx_run
  mkdir -p "$libraries"
  ln -sf "$built/libsimtlab.so" "$libraries/libgpuocelot.so"
  cd "$TINYGRAD_SOURCE"
  DEV=MOCK+CUDA:PTX LD_LIBRARY_PATH=$libraries OCELOT_PATH=$libraries/libgpuocelot.so PYTHONPATH=$PYTHONPATH:$TINYGRAD_SOURCE \
    "$environment/bin/python" "$here/clients/tinygrad/check.py"
else
  echo "NOT RUN: the mock mode is in tinygrad's tests, which its package has not; give a checkout as TINYGRAD_SOURCE" >&2
fi
