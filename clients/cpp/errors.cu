// Errors: of the launch, of the kernel, of arguments; which stay, and what a reset ends.
#include <string>

#include "check.h"

__global__ void write(int *data, int i) { data[i] = 1; }
__global__ void __launch_bounds__(64) bounded(int *data) { data[threadIdx.x] = 2; }
__global__ void big() {
  extern __shared__ char memory[];
  memory[threadIdx.x] = 0;
}
static void not_a_kernel() {}

// A launch that faults: the launch is well, the wait is not, nothing works any more; until the device is reset.
template <class F> void fault(F launch, cudaError_t want) {
  int *data;
  MUST(cudaMalloc(&data, 64));
  launch(data);
  GIVES(cudaGetLastError(), cudaSuccess);
  GIVES(cudaDeviceSynchronize(), want);
  GIVES(cudaMalloc(&data, 64), want);
  write<<<1, 1>>>(data, 0);
  GIVES(cudaGetLastError(), want);
  GIVES(cudaGetLastError(), want);
  GIVES(cudaDeviceReset(), cudaSuccess);
  GIVES(cudaGetLastError(), cudaSuccess);
  MUST(cudaMalloc(&data, 64));
  write<<<1, 1>>>(data, 3);
  GIVES(cudaDeviceSynchronize(), cudaSuccess);
  CHECK(on_host(data, 4)[3] == 1);
  MUST(cudaFree(data));
}

int main() {
  int *data, *other;
  MUST(cudaMalloc(&data, 256));
  // Launches that cannot begin: the error stays until it is asked for, and harms nothing.
  write<<<1, 2048>>>(data, 0);
  GIVES(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
  GIVES(cudaGetLastError(), cudaErrorInvalidConfiguration);
  GIVES(cudaGetLastError(), cudaSuccess);
  for (dim3 block : {dim3(0), dim3(1, 1, 65), dim3(33, 32)}) {
    write<<<1, block>>>(data, 0);
    GIVES(cudaGetLastError(), cudaErrorInvalidConfiguration);
  }
  for (dim3 grid : {dim3(0), dim3(1, 65536), dim3(1, 1, 70000)}) {
    write<<<grid, 1>>>(data, 0);
    GIVES(cudaGetLastError(), cudaErrorInvalidConfiguration);
  }
  bounded<<<1, 65>>>(data);
  CHECK(cudaGetLastError() != cudaSuccess);
  big<<<1, 1, 1 << 20>>>();
  GIVES(cudaGetLastError(), cudaErrorInvalidValue);
  big<<<1, 32, 64 << 10>>>();
  GIVES(cudaGetLastError(), cudaErrorInvalidValue);
  GIVES(cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10), cudaSuccess);
  big<<<1, 32, 64 << 10>>>();
  GIVES(cudaDeviceSynchronize(), cudaSuccess);
  GIVES(cudaLaunchKernel((const void *)not_a_kernel, dim3(1), dim3(1), nullptr, 0, 0), cudaErrorInvalidDeviceFunction);
  GIVES(cudaGetLastError(), cudaErrorInvalidDeviceFunction);

  // Arguments.
  GIVES(cudaMalloc(&other, size_t(1) << 60), cudaErrorMemoryAllocation);
  GIVES(cudaMemcpy(data, &other, 257, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  GIVES(cudaMemcpy(data, data, 8, cudaMemcpyKind(9)), cudaErrorInvalidMemcpyDirection);
  GIVES(cudaMemset(data, 0, 300), cudaErrorInvalidValue);
  GIVES(cudaSetDevice(1000), cudaErrorInvalidDevice);
  GIVES(cudaSetDevice(-1), cudaErrorInvalidDevice);
  GIVES(cudaFree(data), cudaSuccess);
  GIVES(cudaFree(data), cudaErrorInvalidValue);
  GIVES(cudaFree(nullptr), cudaSuccess);
  GIVES(cudaFreeHost(&other), cudaErrorInvalidValue);
  GIVES(cudaHostUnregister(&other), cudaErrorHostMemoryNotRegistered);
  GIVES(cudaStreamSynchronize((cudaStream_t)0x1234), cudaErrorInvalidResourceHandle);
  GIVES(cudaMallocManaged(&other, 0), cudaErrorInvalidValue);
  GIVES(cudaGetLastError(), cudaErrorInvalidValue);
  GIVES(cudaMalloc(&other, 0), cudaSuccess);
  CHECK(other == nullptr);

  // Faults.
  fault([](int *d) { write<<<1, 1>>>(d, 1 << 20); }, cudaErrorIllegalAddress);
  fault([](int *) { write<<<1, 1>>>(nullptr, 0); }, cudaErrorIllegalAddress);
  fault([](int *d) { write<<<1, 1>>>((int *)((char *)d + 2), 0); }, cudaErrorMisalignedAddress);
  CHECK(std::string("cudaErrorIllegalAddress") == cudaGetErrorName(cudaErrorIllegalAddress));
  return finish();
}
