#!/usr/bin/env bash
# CuPy 13, on libcudart.so.13. Five modules of its wheel carry NVIDIA's static runtime: they are compiled again, of the sources on PyPI and with CuPy's options,
# so that they hold ours; the other modules stay as they are. cupy.cuda.cub takes longest and is compiled with CUB=1 alone: under `exec` CuPy does without it
# (CUPY_ACCELERATORS).
source "$(dirname "$0")/../common.sh"
build
version=13.6.0
toolkit cupy-current cupy-cuda13x==$version 'numpy<2.3' scipy 'cython==3.0.*' 'setuptools>=77' wheel nvidia-cuda-nvrtc==13.5.* nvidia-cuda-profiler-api nvidia-nvtx \
  nvidia-cublas nvidia-curand nvidia-cufft nvidia-cusolver nvidia-cusparse nvidia-nvjitlink
python=$environment/bin/python
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
sources=$environment/cupy-$version
if [ ! -d "$sources" ]; then
  CUPY_USE_CUDA_PYTHON= "$python" -m pip download --quiet --no-deps --no-build-isolation --no-binary cupy -d "$environment" cupy==$version
  tar xzf "$sources.tar.gz" -C "$environment"
fi
cd "$sources"
headers=cupy/_core/include
includes=(-I. -I$headers -I$headers/cupy/_cccl/{cub,thrust,libcudacxx} -I"$toolkit/include"
  -I"$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" -I"$("$python" -c 'import numpy; print(numpy.get_include())')")

# compiled MODULE [CUDA-SOURCE [OPTION...]]: a module in place of the wheel's, unless it has been compiled before.
compiled() {
  local module=$1 cuda=${2:-} place=${1//.//} objects=()
  [ ! -e "$place.so" ] || return 0
  "$environment/bin/cython" -3 --cplus -X embedsignature=True,c_api_binop_methods=True,binding=False,legacy_implicit_noexcept=True \
    -E CUPY_USE_CUDA_PYTHON=False,CUPY_CUFFT_STATIC=False,CUPY_CYTHON_VERSION=3.0.0,CUPY_CUDA_VERSION=13000,CUPY_HIP_VERSION=0 \
    -I . --module-name "$module" "$place.pyx" -o "$place.cpp" 2> "$environment/cython.log"
  if [ -n "$cuda" ]; then
    nvcc -std=c++17 -O2 -w --expt-relaxed-constexpr -Xcompiler -fPIC -gencode arch=compute_80,code=compute_80 "${includes[@]}" -c "$cuda" -o "$place.cu.o"
    objects=("$place.cu.o")
  fi
  "${CXX:-c++}" -std=c++17 -O1 -w -fPIC -shared -D_FORCE_INLINES=1 '-DCYTHON_EXTERN_C=extern "C"' -DCUPY_CACHE_KEY=simtlab "${includes[@]}" "$place.cpp" \
    "${objects[@]}" -o "$place.so" -L"$built/link/13" -lcudart_static -lcuda -L"$toolkit/lib" "${@:3}" -ldl -lpthread -lrt
  cp "$place.so" "$packages/$place$suffix"
}

compiled cupy_backends.cuda.api.runtime
compiled cupy.cuda.jitify "" -l:libnvrtc.so.13
compiled cupy.cuda.thrust cupy/cuda/cupy_thrust.cu
[ "${CUB:-0}" = 0 ] || compiled cupy.cuda.cub cupy/cuda/cupy_cub.cu
compiled cupy.random._generator_api cupy/random/cupy_distributions.cu -l:libcurand.so.10
echo "CuPy $(version_of cupy-cuda13x), modules compiled again"
export CUPY_CACHE_DIR=$environment/kernels SIMTLAB_CUDA_VERSION=13.5 LD_LIBRARY_PATH=$toolkit/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PYTHONPATH=$here/clients on_device "$python" -W ignore "$here/clients/cupy/check.py"
