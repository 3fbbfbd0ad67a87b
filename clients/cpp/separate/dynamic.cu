// Kernels that launch kernels: recursion to a result that is known, streams, fire and forget, tails, copies and fills in the order of a stream, and the
// errors that they get.
#include "../check.h"

// Sorts by halves: each call launches two of itself, and the merge into its tail.
__global__ void merge(const int *from, int *to, int left, int middle, int right) {
  int i = left, j = middle;
  for (int k = left; k < right; k++) to[k] = j >= right || (i < middle && from[i] <= from[j]) ? from[i++] : from[j++];
}
__global__ void put_back(const int *from, int *to, int left, int right) {
  for (int i = left + threadIdx.x; i < right; i += blockDim.x) to[i] = from[i];
}
__global__ void sort(int *values, int *room, int left, int right) {
  if (right - left < 2) return;
  int middle = (left + right) / 2;
  sort<<<1, 1>>>(values, room, left, middle);
  sort<<<1, 1, 0, cudaStreamFireAndForget>>>(values, room, middle, right);
  merge<<<1, 1, 0, cudaStreamTailLaunch>>>(values, room, left, middle, right);
  put_back<<<1, 32, 0, cudaStreamTailLaunch>>>(room, values, left, right);
}

__global__ void add(int *at, int value) { atomicAdd(at, value); }
__global__ void double_it(int *at) { *at *= 2; }

// Of one stream: ((0 + 3) * 2, copied, then filled.
__global__ void streams(int *values, int *codes) {
  cudaStream_t stream;
  codes[0] = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEvent_t event;
  codes[1] = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  add<<<1, 1, 0, stream>>>(values, 3);
  double_it<<<1, 1, 0, stream>>>(values);
  codes[2] = cudaEventRecord(event, stream);
  codes[3] = cudaMemcpyAsync(values + 1, values, 4, cudaMemcpyDeviceToDevice, stream);
  codes[4] = cudaMemsetAsync(values, 1, 4, stream);
  codes[5] = cudaStreamDestroy(stream);
  codes[6] = cudaEventDestroy(event);
  cudaDeviceGetAttribute(&codes[7], cudaDevAttrWarpSize, 0);
  codes[8] = cudaGetLastError();
  add<<<1, 4096>>>(values, 1);
  codes[9] = cudaGetLastError();
  codes[10] = cudaGetLastError();
}

__global__ void many(int *sum) { add<<<2, 32>>>(sum, 1); }

int main() {
  std::vector<int> values(500);
  for (int &v : values) v = int(next_random() % 1000);
  int *memory = on_device(values), *room = on_device(values);
  sort<<<1, 1>>>(memory, room, 0, int(values.size()));
  MUST(cudaDeviceSynchronize());
  std::vector<int> sorted = on_host(memory, values.size());
  bool ordered = true;
  long sum = 0, want = 0;
  for (size_t i = 0; i < values.size(); i++) {
    ordered = ordered && (i == 0 || sorted[i - 1] <= sorted[i]);
    sum += sorted[i];
    want += values[i];
  }
  CHECK(ordered && sum == want);

  int *two = on_device(std::vector<int>(2, 0)), *codes = on_device(std::vector<int>(11, -1));
  streams<<<1, 1>>>(two, codes);
  MUST(cudaDeviceSynchronize());
  auto got = on_host(two, 2);
  auto code = on_host(codes, 11);
  CHECK(got[1] == 6 && got[0] == 0x01010101);
  for (int i = 0; i < 7; i++) CHECK(code[i] == cudaSuccess);
  CHECK(code[7] == 32 && code[8] == cudaSuccess);
  CHECK(code[9] == cudaErrorInvalidConfiguration && code[10] == cudaSuccess);

  int *total = on_device(std::vector<int>(1, 0));
  many<<<8, 64>>>(total);
  MUST(cudaDeviceSynchronize());
  CHECK(on_host(total, 1)[0] == 8 * 64 * 64);
  return finish();
}
