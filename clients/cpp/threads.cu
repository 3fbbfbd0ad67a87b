// Many threads of the host at once: each with its own stream, memory and errors.
#include <atomic>
#include <thread>

#include "check.h"

__device__ int total;

__global__ void work(int *data, int n, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    data[i] += step * i;
    atomicAdd(&total, 1);
  }
}

int main() {
  const int threads = 8, rounds = 10, n = 300;
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      cudaStream_t stream;
      int *data;
      if (cudaStreamCreate(&stream) || cudaMalloc(&data, n * sizeof(int)) || cudaMemset(data, 0, n * sizeof(int))) ++wrong;
      for (int round = 0; round < rounds; ++round) {
        // Errors of others are not seen here.
        if (t % 2) {
          work<<<1, 5000, 0, stream>>>(data, n, 1);
          if (cudaGetLastError() != cudaErrorInvalidConfiguration) ++wrong;
        }
        work<<<3, 128, 0, stream>>>(data, n, t);
        if (cudaGetLastError() != cudaSuccess) ++wrong;
      }
      std::vector<int> got(n);
      if (cudaMemcpyAsync(got.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost, stream)) ++wrong;
      if (cudaStreamSynchronize(stream)) ++wrong;
      for (int i = 0; i < n; ++i)
        if (got[i] != rounds * t * i) ++wrong;
      if (cudaFree(data) || cudaStreamDestroy(stream)) ++wrong;
    });
  for (std::thread &t : all) t.join();
  CHECK(wrong == 0);
  int sum;
  MUST(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
  CHECK(sum == threads * rounds * n);
  return finish();
}
