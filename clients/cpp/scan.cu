// Inclusive sums of prefixes: of each block, of the blocks' sums, and both together.
#include "check.h"

constexpr int BLOCK = 256;

__global__ void scan_blocks(const int *in, int *out, int *sums, int n) {
  __shared__ int values[2][BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x, t = threadIdx.x, now = 0;
  values[0][t] = i < n ? in[i] : 0;
  for (int step = 1; step < BLOCK; step *= 2) {
    __syncthreads();
    values[1 - now][t] = values[now][t] + (t >= step ? values[now][t - step] : 0);
    now = 1 - now;
  }
  __syncthreads();
  if (i < n) out[i] = values[now][t];
  if (t == BLOCK - 1) sums[blockIdx.x] = values[now][t];
}

__global__ void add_sums(int *out, const int *sums, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n && blockIdx.x > 0) out[i] += sums[blockIdx.x - 1];
}

int main() {
  for (int n : {1, 256, 257, 30000}) {
    std::vector<int> values(n), want(n);
    for (int i = 0; i < n; ++i) {
      values[i] = int(next_random() % 100) - 50;
      want[i] = values[i] + (i > 0 ? want[i - 1] : 0);
    }
    int blocks = (n + BLOCK - 1) / BLOCK, *in = on_device(values), *out, *sums, *none;
    MUST(cudaMalloc(&out, n * sizeof(int)));
    MUST(cudaMalloc(&sums, blocks * sizeof(int)));
    MUST(cudaMalloc(&none, sizeof(int)));
    scan_blocks<<<blocks, BLOCK>>>(in, out, sums, n);
    scan_blocks<<<1, BLOCK>>>(sums, sums, none, blocks);
    add_sums<<<blocks, BLOCK>>>(out, sums, n);
    MUST(cudaDeviceSynchronize());
    CHECK(on_host(out, n) == want);
  }
  return finish();
}
