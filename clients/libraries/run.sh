#!/usr/bin/env bash
# Our cuBLAS, cuRAND, cuFFT, cuSPARSE and cuSOLVER against NumPy, SciPy and, for cuRAND, NVIDIA's device header compiled by NVRTC.
# Arguments go to each of the programs: --cases 10000 is a campaign of minutes a library. LIBRARIES chooses some of them.
source "$(dirname "$0")/../common.sh"
build
venv libraries 'numpy<3' scipy nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.* nvidia-cuda-cccl-cu12==12.9.* \
  nvidia-curand-cu12==10.3.10.*
packages=$(echo "$environment"/lib/python3*/site-packages/nvidia)
export CURAND_HEADERS=$packages/curand/include:$packages/cuda_runtime/include:$packages/cuda_cccl/include
export CURAND_ORIGINAL=$packages/curand/lib/libcurand.so.10
export LD_LIBRARY_PATH=$packages/cuda_nvrtc/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for library in ${LIBRARIES:-cublas cublaslt curand cufft cusolver cusparse misuse sizes}; do
  echo "$library"
  # Accesses out of bounds are faults of the last two: `exec` ends with 3 then, if the program itself ends well.
  on_device "$environment/bin/python" "$here/clients/libraries/$library.py" "$@" || [[ "$library $?" =~ ^(misuse|sizes)\ 3$ ]]
done
