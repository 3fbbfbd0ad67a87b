// Planted defects, one a name, and each without the defect: planted NAME [mended]. planted.py runs them with `simtlab exec --check`.
// `//@ NAME KIND` at the end of a line says that the defect of that name is found there, as of that kind; without a line in the
// source, the comment stands in `main`.
#include <cstring>

#include "check.h"

constexpr unsigned ALL = 0xffffffff;

// Threads of other warps write what is read.
template <bool mended> __global__ void shared_race(int *out) {
  __shared__ int tile[128];
  int i = threadIdx.x;
  tile[i] = i;  //@ shared_race race-in-block
  if (mended) __syncthreads();
  out[i] = tile[(i + 40) % 128];
}

// All threads write one word.
template <bool mended> __global__ void equal_writes(int *out) {
  if (!mended || threadIdx.x == 0) out[0] = 1;  //@ equal_writes race-of-equal-writes
}

// The second use of an array may overtake the first.
template <bool mended> __global__ void reused_array(int *out) {
  __shared__ int tile[128];
  int i = threadIdx.x, sum = 0;
  for (int round = 0; round < 3; round++) {
    tile[i] = i + round;  //@ reused_array race-in-block
    __syncthreads();
    sum += tile[127 - i];
    if (mended) __syncthreads();
  }
  out[i] = sum;
}

// Lanes of a warp exchange values without a barrier.
template <bool mended> __global__ void warp_race(int *out) {
  __shared__ int tile[32];
  int i = threadIdx.x;
  tile[i] = i;  //@ warp_race race-in-warp
  if (mended) __syncwarp();
  out[i] = tile[(i + 16) % 32];
}

// Blocks add to one word.
template <bool mended> __global__ void blocks_race(int *out) {
  if (threadIdx.x != 0) return;
  if (mended) atomicAdd(out, 1);
  else *out += 1;  //@ blocks_race race-between-blocks
}

// A barrier in a branch that half of each warp takes.
template <bool mended> __global__ void divergent_barrier(int *out) {
  int i = threadIdx.x;
  if (i % 2 == 0) {
    out[i] = i;
    if (!mended) __syncthreads();  //@ divergent_barrier divergent-barrier
  }
  if (mended) __syncthreads();
  out[i] += 1;
}

// A barrier in a loop that threads leave at different times.
template <bool mended> __global__ void barrier_in_loop(int *out) {
  int i = threadIdx.x, sum = 0;
  for (int k = 0; k < (mended ? 4 : i % 4 + 1); k++) {
    sum += k;
    out[i] = sum;
    __syncthreads();  //@ barrier_in_loop divergent-barrier
  }
  out[i] = sum;
}

// A mask that names lanes in another branch.
template <bool mended> __global__ void absent_lanes(int *out) {
  int i = threadIdx.x, value = i;
  if (i % 32 < 16) {
    value = __shfl_xor_sync(mended ? 0xffff : ALL, value, 1);  //@ absent_lanes absent-lanes
    out[i] = value;
  } else {
    out[i] = -value;
  }
}

// A word that the host never wrote decides a branch.
template <bool mended> __global__ void uninitialised_global(const int *in, int *out) {
  int i = threadIdx.x;
  int found = in[i];  //@ uninitialised_global uninitialised-global
  if (found > 0) out[i] = 1;
  else out[i + 128] = 2;
}

// The sum of an array of which half was written.
template <bool mended> __global__ void uninitialised_shared(int *out) {
  __shared__ int tile[128];
  int i = threadIdx.x;
  if (mended || i < 64) tile[i] = i;
  __syncthreads();
  int value = tile[127 - i];  //@ uninitialised_shared uninitialised-shared
  if (value > 40) atomicAdd(out + 1, value);
}

// An element of a local array that was not written.
template <bool mended> __global__ void uninitialised_local(const int *which, int *out) {
  int array[16];
  int i = threadIdx.x;
  for (int k = 0; k < (mended ? 16 : 8); k++) array[which[k]] = k;
  if (array[which[i % 16]] > 3) out[i] = 1;  //@ uninitialised_local uninitialised-local
}

// One element too far, in the next allocation.
template <bool mended> __global__ void neighbour(int *out) {
  int i = threadIdx.x;
  out[mended ? i : i + 256] = i;  //@ neighbour fault
}

// One element too far, in the next array.
template <bool mended> __global__ void shared_neighbour(int *out) {
  __shared__ int first[128], second[128];
  int i = threadIdx.x;
  second[i] = 0;
  __syncthreads();
  first[mended ? i : i + 1] = i;  //@ shared_neighbour fault
  __syncthreads();
  out[i] = first[i] + second[i];
}

__global__ void nothing(int *) {}

static int *memory(size_t words, bool written = true) {
  int *at = nullptr;
  MUST(cudaMalloc(&at, words * sizeof(int)));
  if (written) MUST(cudaMemset(at, 0, words * sizeof(int)));
  return at;
}

template <bool mended> static bool kernels(const char *name) {
  int *out = memory(256);
  bool known = true;
  if (!strcmp(name, "shared_race")) shared_race<mended><<<1, 128>>>(out);
  else if (!strcmp(name, "equal_writes")) equal_writes<mended><<<1, 64>>>(out);
  else if (!strcmp(name, "reused_array")) reused_array<mended><<<1, 128>>>(out);
  else if (!strcmp(name, "warp_race")) warp_race<mended><<<1, 32>>>(out);
  else if (!strcmp(name, "blocks_race")) blocks_race<mended><<<4, 32>>>(out);
  else if (!strcmp(name, "divergent_barrier")) divergent_barrier<mended><<<1, 64>>>(out);
  else if (!strcmp(name, "barrier_in_loop")) barrier_in_loop<mended><<<1, 64>>>(out);
  else if (!strcmp(name, "absent_lanes")) absent_lanes<mended><<<1, 64>>>(out);
  else if (!strcmp(name, "uninitialised_shared")) uninitialised_shared<mended><<<1, 128>>>(out);
  else if (!strcmp(name, "uninitialised_global")) {
    int *in = memory(128, mended);
    uninitialised_global<mended><<<1, 128>>>(in, out);
    MUST(cudaFree(in));
  } else if (!strcmp(name, "uninitialised_local")) {
    std::vector<int> which(16);
    for (int k = 0; k < 16; k++) which[k] = k;
    int *in = on_device(which);
    uninitialised_local<mended><<<1, 32>>>(in, out);
    MUST(cudaFree(in));
  } else if (!strcmp(name, "neighbour")) {
    int *next = memory(4096);
    neighbour<mended><<<1, 64>>>(out);
    cudaFree(next);
  } else if (!strcmp(name, "shared_neighbour")) shared_neighbour<mended><<<1, 128>>>(out);
  else known = false;
  cudaDeviceSynchronize();
  cudaFree(out);
  return known;
}

// Defects of the host's code.
static bool host(const char *name, bool mended) {
  std::vector<int> bytes(1024);
  int *at = memory(256);
  if (!strcmp(name, "leak")) {  //@ leak leak
    if (mended) cudaFree(at);
    return true;
  }
  if (!strcmp(name, "double_free")) {  //@ double_free failed-call
    if (!mended) cudaFree(at);
  } else if (!strcmp(name, "free_of_a_part")) {  //@ free_of_a_part failed-call
    if (!mended) cudaFree(at + 4);
  } else if (!strcmp(name, "copy_beyond")) {  //@ copy_beyond failed-call
    cudaMemcpy(at, bytes.data(), mended ? 1024 : 4096, cudaMemcpyHostToDevice);
  } else if (!strcmp(name, "large_block")) {  //@ large_block failed-call
    nothing<<<1, mended ? 64 : 2048>>>(at);
  } else if (!strcmp(name, "copy_of_nothing")) {  //@ copy_of_nothing uninitialised-copy
    int *other = memory(256, mended);
    cudaMemcpy(bytes.data(), other, 1024, cudaMemcpyDeviceToHost);
    cudaFree(other);
  } else {
    cudaFree(at);
    return false;
  }
  cudaFree(at);
  return true;
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  bool mended = argc > 2;
  bool known = host(name, mended) || (mended ? kernels<true>(name) : kernels<false>(name));
  return known ? 0 : 2;
}
