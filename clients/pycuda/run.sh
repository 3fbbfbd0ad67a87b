#!/usr/bin/env bash
# PyCUDA, built here against CUDA's headers; its kernels are compiled by the complete nvcc from PyPI, to PTX.
source "$(dirname "$0")/../common.sh"
build
nvcc_version=13.5.37
# setuptools and wheel: PyCUDA is built in this environment, where its configuration is.
venv pycuda nvidia-cuda-nvcc==$nvcc_version nvidia-nvvm==$nvcc_version nvidia-cuda-crt==$nvcc_version \
  nvidia-cuda-runtime==$nvcc_version nvidia-cuda-profiler-api nvidia-cuda-cccl numpy setuptools wheel
toolkit=$(echo "$environment"/lib/python3*/site-packages/nvidia/cu13)

version=2026.1
if ! "$environment/bin/python" -m pip show --quiet pycuda 2> /dev/null; then
  # There is no wheel. The build takes minutes; it leaves out cuRAND and OpenGL.
  folder=$environment/build
  mkdir -p "$folder/lib64"
  ln -sf "$built/libcuda.so" "$folder/lib64/libcuda.so"
  ln -sfn "$toolkit/include" "$folder/include"
  (
    cd "$folder"
    "$environment/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --no-build-isolation pycuda==$version
    tar xzf pycuda-$version.tar.gz
    printf 'CUDA_ROOT = "%s"\nCUDA_ENABLE_CURAND = False\nCUDA_ENABLE_GL = False\n' "$folder" > pycuda-$version/siteconf.py
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation ./pycuda-$version
  )
fi
echo "PyCUDA $(version_of pycuda)"
export SIMTLAB_NVCC=$toolkit/bin/nvcc PATH=$here/clients/pycuda:$PATH PYCUDA_CACHE_DIR=$environment/kernels
mkdir -p "$PYCUDA_CACHE_DIR"
# What it keeps stays in its own folder, and not in the user's.
export XDG_CACHE_HOME=$environment/cache
PYTHONPATH=$here/clients on_device "$environment/bin/python" -W ignore "$here/clients/pycuda/check.py"
