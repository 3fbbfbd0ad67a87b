// Separate compilation: functions, variables, constants and managed variables of other files, and of a static library of device code; weak definitions in
// several files; a kernel of another file; pointers to functions of other files.
#include "../check.h"
#include "shared.h"

__constant__ float scale = 2;
__device__ int table[4] = {1, 2, 3, 4};
__device__ int (*const chosen[2])(int) = {library_square, library_cube};

__global__ void use(float *out, int *powers) {
  int i = threadIdx.x;
  out[i] = area(float(i), 3) + twice(i) + counter_of_file_b();
  powers[i] = chosen[i % 2](i);
  atomicAdd(&shared_count, 1);
}

int main() {
  float *out = on_device(std::vector<float>(32, 0));
  int *powers = on_device(std::vector<int>(32, 0));
  use<<<1, 32>>>(out, powers);
  MUST(cudaDeviceSynchronize());
  CHECK(shared_count == 32);
  auto values = on_host(out, 32);
  auto raised = on_host(powers, 32);
  int wrong = 0;
  for (int i = 0; i < 32; i++) {
    float want = 3.f * i * 2 + 2 * i + 40;
    wrong += values[i] != want || raised[i] != (i % 2 ? i * i * i : i * i);
  }
  CHECK(wrong == 0);
  float new_scale = 5;
  MUST(cudaMemcpyToSymbol(scale, &new_scale, sizeof new_scale));
  launch_of_file_b(out);
  CHECK(on_host(out, 1)[0] == 5.f * 1 + 4);
  return finish();
}
