#!/usr/bin/env bash
# nvJitLink: the statuses of our library beside those of NVIDIA's, for options and inputs that are right and wrong in many ways. The inputs are made by nvcc.
source "$(dirname "$0")/../common.sh"
build
toolkit nvjitlink nvidia-nvjitlink==13.5.*
folder=$environment/inputs source=$here/clients/nvjitlink
mkdir -p "$folder"
cd "$folder"
echo 'extern __device__ int twice(int); extern "C" __global__ void k(int *p) { p[threadIdx.x] = twice(p[threadIdx.x]); }' > a.cu
echo '__device__ int twice(int x) { return 2 * x; }' > b.cu
echo '__device__ int twice(int x) { return x + x; }' > c.cu
for name in a b c; do
  nvcc -rdc=true -arch=compute_80 -ptx $name.cu -o $name.ptx
  nvcc -rdc=true -gencode arch=compute_80,code=compute_80 -fatbin $name.cu -o $name.fatbin
  nvcc -rdc=true -gencode arch=compute_80,code=compute_80 -c $name.cu -o $name.o
  nvcc -rdc=true -arch=sm_80 -cubin $name.cu -o $name.cubin
  nvcc -rdc=true -dlto -arch=sm_80 -ltoir $name.cu -o $name.ltoir
done
ar rcs libb.a b.o
python=$environment/bin/python
"$python" "$source/cases.py" "$toolkit/lib/libnvJitLink.so.13" . > nvidia.tsv
SIMTLAB_NVJITLINK=$toolkit/lib/libnvJitLink.so.13 "$python" "$source/cases.py" "$built/libnvJitLink.so.13" . > ours.tsv
echo "nvJitLink $(version_of nvidia-nvjitlink)"
"$python" "$source/compare.py" nvidia.tsv ours.tsv
