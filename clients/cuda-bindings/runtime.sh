#!/usr/bin/env bash
# cuda.bindings, its runtime half: in the wheel two modules carry NVIDIA's static runtime. Their sources are in the wheel, too; compiled again, they hold ours.
source "$(dirname "$0")/../common.sh"
build
venv cuda-bindings-runtime cuda-bindings==12.9.* nvidia-cuda-runtime-cu12==12.9.* nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-profiler-api-cu12==12.9.* \
  nvidia-cuda-nvrtc-cu12==12.9.* 'cython==3.2.*' numpy
python=$environment/bin/python
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
cd "$packages"
for module in cyruntime_ptds cyruntime; do
  # The second half of the functions takes each thread's own default stream.
  [ "$module" = cyruntime ] && define= || define=-DCUDA_API_PER_THREAD_DEFAULT_STREAM
  place=cuda/bindings/_bindings/$module
  "$environment/bin/cython" --cplus -3 -I . --module-name "${place//\//.}" "$place.pyx" -o "$environment/$module.cpp"
  "${CXX:-c++}" -std=c++14 -O1 -w -fPIC -shared $define -I"$include" -Icuda/bindings -Icuda/bindings/_bindings -Invidia/cuda_runtime/include \
    -Invidia/cuda_nvcc/include -Invidia/cuda_profiler_api/include "$environment/$module.cpp" -o "$environment/$module$suffix" -L"$built/link/12" \
    -lcudart_static -ldl -lpthread
  mv "$environment/$module$suffix" "$place$suffix"
done
echo "cuda.bindings $(version_of cuda-bindings), two modules compiled again"
PYTHONPATH=$here/clients on_device "$python" "$here/clients/cuda-bindings/runtime.py"
