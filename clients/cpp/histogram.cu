// A histogram with a part for each block in shared memory, and the largest bin by compare-and-swap.
#include "check.h"

constexpr int BINS = 64;

__global__ void histogram(const unsigned char *data, int n, unsigned *bins) {
  __shared__ unsigned own[BINS];
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[data[i] % BINS], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

// The largest count with its place, as one word.
__global__ void largest(const unsigned *bins, unsigned long long *best) {
  unsigned long long mine = (unsigned long long)bins[threadIdx.x] << 32 | threadIdx.x, seen = *best;
  while (mine > seen) {
    unsigned long long old = atomicCAS(best, seen, mine);
    if (old == seen) break;
    seen = old;
  }
}

int main() {
  const int n = 100003;
  std::vector<unsigned char> data(n);
  std::vector<unsigned> want(BINS);
  for (auto &value : data) {
    value = (unsigned char)((next_random() % 256) * (next_random() % 256) / 256);
    ++want[value % BINS];
  }
  unsigned char *device = on_device(data);
  unsigned *bins;
  MUST(cudaMalloc(&bins, BINS * sizeof(unsigned)));
  MUST(cudaMemset(bins, 0, BINS * sizeof(unsigned)));
  histogram<<<12, 192>>>(device, n, bins);
  MUST(cudaGetLastError());
  CHECK(on_host(bins, BINS) == want);
  auto *best = on_device(std::vector<unsigned long long>{0});
  largest<<<1, BINS>>>(bins, best);
  unsigned long long top = 0;
  for (int i = 0; i < BINS; ++i) {
    unsigned long long own = (unsigned long long)want[i] << 32 | i;
    top = own > top ? own : top;
  }
  CHECK(on_host(best, 1)[0] == top);
  return finish();
}
