// Calls that the device decides: function pointers, virtual functions, recursion, templates with lambdas.
#include "check.h"

typedef int (*Operation)(int, int);

__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ Operation table[] = {add, multiply, difference};

__global__ void by_table(const int *a, const int *b, int *out) {
  int i = threadIdx.x;
  out[i] = table[i % 3](a[i], b[i]);
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float s) : side(s) {}
  __device__ float area() const override { return side * side; }
};
struct Triangle : Shape {
  float base, height;
  __device__ Triangle(float b, float h) : base(b), height(h) {}
  __device__ float area() const override { return base * height / 2; }
};

__global__ void areas(float *out) {
  Square square(threadIdx.x);
  Triangle triangle(threadIdx.x, 3);
  const Shape *shape = threadIdx.x % 2 ? static_cast<const Shape *>(&square) : &triangle;
  out[threadIdx.x] = shape->area();
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void recursive(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

template <class F> __global__ void map(int *data, F f) { data[threadIdx.x] = f(data[threadIdx.x]); }

struct Affine {
  int a, b;
  __device__ int operator()(int x) const { return a * x + b; }
};

template <int N> __global__ void power(int *data) {
  int x = data[threadIdx.x], result = 1;
#pragma unroll
  for (int i = 0; i < N; ++i) result *= x;
  data[threadIdx.x] = result;
}

int main() {
  const int n = 64;
  std::vector<int> a(n), b(n);
  for (int i = 0; i < n; ++i) a[i] = next_random() % 100, b[i] = next_random() % 100;
  int *da = on_device(a), *db = on_device(b), *out;
  MUST(cudaMalloc(&out, n * sizeof(int)));
  by_table<<<1, n>>>(da, db, out);
  MUST(cudaDeviceSynchronize());
  std::vector<int> got = on_host(out, n);
  bool same = true;
  for (int i = 0; i < n; ++i) same &= got[i] == (i % 3 == 0 ? a[i] + b[i] : i % 3 == 1 ? a[i] * b[i] : a[i] - b[i]);
  CHECK(same);

  float *shapes;
  MUST(cudaMalloc(&shapes, n * sizeof(float)));
  areas<<<1, n>>>(shapes);
  MUST(cudaDeviceSynchronize());
  std::vector<float> area = on_host(shapes, n);
  same = true;
  for (int i = 0; i < n; ++i) same &= area[i] == (i % 2 ? float(i) * i : i * 1.5f);
  CHECK(same);

  recursive<<<1, n>>>(out);
  MUST(cudaDeviceSynchronize());
  got = on_host(out, n);
  int row[12] = {0, 1};
  for (int i = 2; i < 12; ++i) row[i] = row[i - 1] + row[i - 2];
  same = true;
  for (int i = 0; i < n; ++i) same &= got[i] == row[i % 12];
  CHECK(same);

  map<<<1, n>>>(da, Affine{3, -7});
  power<3><<<1, n>>>(db);
  got = on_host(da, n);
  std::vector<int> cubes = on_host(db, n);
  same = true;
  for (int i = 0; i < n; ++i) same &= got[i] == 3 * a[i] - 7 && cubes[i] == b[i] * b[i] * b[i];
  CHECK(same);
  return finish();
}
