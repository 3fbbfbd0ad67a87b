// Barriers of a whole grid, by cooperative groups: sums that every block needs of all others, several launches in a row, and launches
// that the device cannot hold at once.
#include "check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Each round adds to each word its two neighbours, in a ring: everybody reads before anybody writes.
__global__ void ring(unsigned *data, int n, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; round++) {
    unsigned i = grid.thread_rank(), left = data[(i + n - 1) % n], right = data[(i + 1) % n];
    grid.sync();
    data[i] += left + right;
    grid.sync();
  }
}

// Arrives early and waits late.
__global__ void arrives(unsigned *data, unsigned *sums) {
  cg::grid_group grid = cg::this_grid();
  atomicAdd(&data[blockIdx.x], threadIdx.x);
  auto token = grid.barrier_arrive();
  unsigned sum = 0;
  grid.barrier_wait(std::move(token));
  for (unsigned b = 0; b < gridDim.x; b++) sum += data[b];
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void valid(int *out) { *out = cg::this_grid().is_valid(); }

static void rounds(int blocks, int threads) {
  int n = blocks * threads, count = 3;
  std::vector<unsigned> expected(n);
  for (auto &value : expected) value = next_random() & 0xffff;
  unsigned *data = on_device(expected);
  for (int round = 0; round < count; round++) {
    std::vector<unsigned> before = expected;
    for (int i = 0; i < n; i++) expected[i] = before[i] + before[(i + n - 1) % n] + before[(i + 1) % n];
  }
  void *args[] = {&data, &n, &count};
  MUST(cudaLaunchCooperativeKernel(ring, blocks, threads, args, 0, 0));
  CHECK(on_host(data, n) == expected);
  cudaFree(data);
}

int main() {
  for (int blocks : {1, 2, 5, 64}) {
    rounds(blocks, 32);
    rounds(blocks, 100);
    rounds(blocks, 256);
  }
  std::vector<unsigned> zeros(8);
  unsigned *data = on_device(zeros), *sums = on_device(zeros);
  void *args[] = {&data, &sums};
  MUST(cudaLaunchCooperativeKernel(arrives, 8, 96, args, 0, 0));
  CHECK(on_host(sums, 8) == std::vector<unsigned>(8, 8 * 95 * 96 / 2));

  // As many blocks as there is room for, and one more.
  int per = 0, processors = 0, n = 0, none = 0;
  MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, ring, 1024, 0));
  MUST(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  void *nothing[] = {&data, &n, &none};
  GIVES(cudaLaunchCooperativeKernel(ring, per * processors, 1024, nothing, 0, 0), cudaSuccess);
  GIVES(cudaLaunchCooperativeKernel(ring, per * processors + 1, 1024, nothing, 0, 0), cudaErrorCooperativeLaunchTooLarge);
  GIVES(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
  GIVES(cudaDeviceSynchronize(), cudaSuccess);

  // Only these launches have a grid to wait for.
  int *out = nullptr, seen = -1;
  MUST(cudaMalloc(&out, sizeof *out));
  valid<<<1, 1>>>(out);
  MUST(cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost));
  CHECK(seen == 0);
  void *its[] = {&out};
  MUST(cudaLaunchCooperativeKernel(valid, 1, 1, its, 0, 0));
  MUST(cudaMemcpy(&seen, out, sizeof seen, cudaMemcpyDeviceToHost));
  CHECK(seen == 1);
  return finish();
}
