// Sums of vectors, of several types and of sizes that blocks do not divide.
#include "check.h"

template <class T> __global__ void add(const T *a, const T *b, T *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

template <class T> void try_size(int n) {
  std::vector<T> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = T(next_random() % 1000);
    b[i] = T(next_random() % 1000) / T(2);
  }
  T *da = on_device(a), *db = on_device(b), *dc;
  MUST(cudaMalloc(&dc, n * sizeof(T)));
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  MUST(cudaGetLastError());
  std::vector<T> c = on_host(dc, n);
  bool same = true;
  for (int i = 0; i < n; ++i) same &= c[i] == a[i] + b[i];
  CHECK(same);
  MUST(cudaFree(da));
  MUST(cudaFree(db));
  MUST(cudaFree(dc));
}

int main() {
  for (int n : {1, 31, 256, 1000, 40000}) {
    try_size<float>(n);
    try_size<double>(n);
    try_size<int>(n);
    try_size<long long>(n);
  }
  return finish();
}
