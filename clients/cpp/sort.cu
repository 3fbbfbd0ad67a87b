// A bitonic sort: steps in shared memory while they fit into a block, else in global memory.
#include <algorithm>

#include "check.h"

constexpr int BLOCK = 256;

__device__ void order(unsigned &a, unsigned &b, bool up) {
  if ((a > b) == up) {
    unsigned t = a;
    a = b;
    b = t;
  }
}

__global__ void step(unsigned *data, int size, int distance) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ distance;
  if (partner > i) order(data[i], data[partner], (i & size) == 0);
}

__global__ void steps_in_block(unsigned *data, int size, int distance) {
  __shared__ unsigned part[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x, t = threadIdx.x;
  part[t] = data[i];
  for (; distance > 0; distance /= 2) {
    __syncthreads();
    int partner = t ^ distance;
    if (partner > t) order(part[t], part[partner], (i & size) == 0);
  }
  __syncthreads();
  data[i] = part[t];
}

int main() {
  const int n = 4096;
  std::vector<unsigned> values(n);
  for (unsigned &v : values) v = next_random();
  unsigned *data = on_device(values);
  for (int size = 2; size <= n; size *= 2) {
    int distance = size / 2;
    for (; distance >= BLOCK; distance /= 2) step<<<n / BLOCK, BLOCK>>>(data, size, distance);
    steps_in_block<<<n / BLOCK, BLOCK>>>(data, size, distance);
  }
  MUST(cudaGetLastError());
  std::sort(values.begin(), values.end());
  CHECK(on_host(data, n) == values);
  return finish();
}
