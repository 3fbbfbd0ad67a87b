// A product of matrices by tiles in shared memory, static and dynamic.
#include "check.h"

constexpr int TILE = 16;

__global__ void multiply(const float *a, const float *b, float *c, int m, int k, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE + 1];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int first = 0; first < k; first += TILE) {
    ta[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
    tb[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

__global__ void transpose(const float *in, float *out, int size) {
  extern __shared__ float tile[];
  int x = threadIdx.x, y = threadIdx.y, side = blockDim.x;
  tile[y * (side + 1) + x] = in[(blockIdx.y * side + y) * size + blockIdx.x * side + x];
  __syncthreads();
  out[(blockIdx.x * side + y) * size + blockIdx.y * side + x] = tile[x * (side + 1) + y];
}

int main() {
  const int m = 45, k = 70, n = 33;
  std::vector<float> a(m * k), b(k * n);
  for (float &v : a) v = random_float();
  for (float &v : b) v = random_float();
  float *da = on_device(a), *db = on_device(b), *dc;
  MUST(cudaMalloc(&dc, m * n * sizeof(float)));
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  multiply<<<grid, dim3(TILE, TILE)>>>(da, db, dc, m, k, n);
  MUST(cudaGetLastError());
  std::vector<float> c = on_host(dc, m * n);
  double worst = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double(a[i * k + l]) * b[l * n + j];
      worst = std::fmax(worst, std::fabs(sum - c[i * n + j]));
    }
  CHECK(worst < 1e-4);

  const int size = 64, side = 32;
  std::vector<float> square(size * size);
  for (float &v : square) v = random_float();
  float *in = on_device(square), *out;
  MUST(cudaMalloc(&out, size * size * sizeof(float)));
  transpose<<<dim3(size / side, size / side), dim3(side, side), side * (side + 1) * sizeof(float)>>>(in, out, size);
  MUST(cudaGetLastError());
  std::vector<float> turned = on_host(out, size * size);
  bool same = true;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) same &= turned[i * size + j] == square[j * size + i];
  CHECK(same);
  return finish();
}
