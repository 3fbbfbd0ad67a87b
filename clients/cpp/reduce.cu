// Sums by shuffles and atomics, by cooperative groups, and by atomics alone.
#include <climits>
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void by_shuffles(const int *in, int n, int *out) {
  __shared__ int of_warp[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__global__ void by_groups(const int *in, int n, int *out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int i = blockIdx.x * blockDim.x + threadIdx.x, value = i < n ? in[i] : INT_MIN;
  for (int step = tile.size() / 2; step > 0; step /= 2) value = max(value, tile.shfl_down(value, step));
  if (tile.thread_rank() == 0) atomicMax(out, value);
}

__global__ void behind_returns(const int *in, int n, int *out) {
  // Lanes beyond the end return; the others meet in a barrier that names all.
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __shared__ int first;
  if (threadIdx.x == 0) first = in[i];
  __syncwarp();
  if (threadIdx.x < 32) atomicAdd(out, in[i] - first);
}

__global__ void mean(const float *in, int n, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, double(in[i]) / n);
}

int main() {
  const int n = 30011;
  std::vector<int> values(n);
  std::vector<float> floats(n);
  long sum = 0;
  int largest = INT_MIN;
  double average = 0;
  for (int i = 0; i < n; ++i) {
    values[i] = int(next_random() % 2001) - 1000;
    floats[i] = random_float();
    sum += values[i];
    largest = values[i] > largest ? values[i] : largest;
    average += double(floats[i]) / n;
  }
  int *in = on_device(values), *out = on_device(std::vector<int>{0, INT_MIN, 0});
  by_shuffles<<<20, 256>>>(in, n, out);
  by_groups<<<(n + 127) / 128, 128>>>(in, n, out + 1);
  behind_returns<<<1, 64>>>(in, 13, out + 2);
  MUST(cudaGetLastError());
  std::vector<int> got = on_host(out, 3);
  CHECK(got[0] == sum);
  CHECK(got[1] == largest);
  int differences = 0;
  for (int i = 0; i < 13; ++i) differences += values[i] - values[0];
  CHECK(got[2] == differences);
  float *in_floats = on_device(floats);
  double *out_mean = on_device(std::vector<double>{0});
  mean<<<(n + 255) / 256, 256>>>(in_floats, n, out_mean);
  CHECK(std::fabs(on_host(out_mean, 1)[0] - average) < 1e-9);
  return finish();
}
