// The device heap: what a kernel allocates lasts until another frees it, also through `new` and `delete` with virtual destructors.
#include "check.h"

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
};

struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};

struct Strip : Shape {
  float *sides;
  int count;
  __device__ Strip(int n, float side) : sides(new float[n]), count(n) {
    for (int i = 0; i < n; i++) sides[i] = side;
  }
  __device__ ~Strip() override { delete[] sides; }
  __device__ float area() const override {
    float sum = 0;
    for (int i = 0; i < count; i++) sum += sides[i];
    return sum;
  }
};

__global__ void make(Shape **shapes) {
  int i = threadIdx.x;
  shapes[i] = i % 2 ? static_cast<Shape *>(new Square(float(i))) : new Strip(i + 1, 2);
}

__global__ void measure(Shape **shapes, float *areas) { areas[threadIdx.x] = shapes[threadIdx.x]->area(); }

__global__ void drop(Shape **shapes) { delete shapes[threadIdx.x]; }

__global__ void take(void **blocks, size_t size) { blocks[threadIdx.x] = malloc(size); }
__global__ void give(void **blocks) { free(blocks[threadIdx.x]); }

int main() {
  const int n = 64;
  size_t limit = 0;
  MUST(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
  MUST(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  CHECK(limit == 1 << 20);
  Shape **shapes = nullptr;
  float *areas = nullptr;
  void **blocks = nullptr;
  MUST(cudaMalloc(&shapes, n * sizeof *shapes));
  MUST(cudaMalloc(&areas, n * sizeof *areas));
  MUST(cudaMalloc(&blocks, n * sizeof *blocks));
  // Far more in all than the heap has: what is freed can be had again.
  for (int round = 0; round < 100; round++) {
    make<<<1, n>>>(shapes);
    measure<<<1, n>>>(shapes, areas);
    drop<<<1, n>>>(shapes);
    take<<<1, n>>>(blocks, 12 << 10);
    give<<<1, n>>>(blocks);
  }
  GIVES(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<float> found = on_host(areas, n);
  for (int i = 0; i < n; i++) CHECK(found[i] == (i % 2 ? float(i) * i : 2.0f * (i + 1)));
  // More than there is: null pointers, which can be freed, too.
  take<<<1, n>>>(blocks, 64 << 10);
  GIVES(cudaDeviceSynchronize(), cudaSuccess);
  int none = 0;
  for (void *block : on_host(blocks, n)) none += !block;
  CHECK(none == n - 16);
  give<<<1, n>>>(blocks);
  GIVES(cudaDeviceSynchronize(), cudaSuccess);
  return finish();
}
