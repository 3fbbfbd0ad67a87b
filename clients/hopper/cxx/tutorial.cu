// A tutorial of CuTe with a check of its results: compiled with -DTUTORIAL='"wgmma_sm90.cu"'. The tutorials time their products and
// compare nothing. Elements are small integers, so that all sums are exact in binary16.
//   tutorial M N K TRANS_A TRANS_B
#define main tutorial_main
#include TUTORIAL
#undef main

#include <cstdint>

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "%s M N K TRANS_A TRANS_B\n", argv[0]);
    return 2;
  }
  using T = cute::half_t;
  const int m = std::atoi(argv[1]), n = std::atoi(argv[2]), k = std::atoi(argv[3]);
  const char trans_a = argv[4][0], trans_b = argv[5][0];
  thrust::host_vector<T> a(m * k), b(n * k), c(m * n);
  std::uint32_t state = 1;
  auto next = [&] {
    state = state * 1664525 + 1013904223;
    return T(int(state >> 30) - 1);
  };
  for (auto& x : a) x = next();
  for (auto& x : b) x = next();
  thrust::device_vector<T> device_a = a, device_b = b, device_c = c;
  const int lda = trans_a == 'N' ? m : k, ldb = trans_b == 'N' ? k : n;
  gemm(trans_a, trans_b, m, n, k, T(1.0f), device_a.data().get(), lda, device_b.data().get(), ldb, T(0.0f), device_c.data().get(), m);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  c = device_c;
  long wrong = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += float(trans_a == 'N' ? a[i + l * lda] : a[l + i * lda]) * float(trans_b == 'N' ? b[l + j * ldb] : b[j + l * ldb]);
      }
      wrong += float(c[i + j * m]) != sum;
    }
  }
  std::printf("%ld of %ld elements are wrong\n", wrong, long(m) * n);
  return wrong != 0;
}
