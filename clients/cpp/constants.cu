// Variables of modules, by their names: constants, device variables, offsets, addresses, sizes.
#include "check.h"

__constant__ float weights[5];
__constant__ struct {
  int bias;
  double factor;
} settings = {3, 0.5};
__device__ int counter = 10;
__device__ float table[8];

__global__ void filter(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < 5; ++j) sum += weights[j] * in[min(max(i + j - 2, 0), n - 1)];
  out[i] = sum;
  if (i < 8) table[i] = float(settings.bias + i * settings.factor);
  atomicAdd(&counter, 1);
}

int main() {
  const int n = 300;
  const float w[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
  MUST(cudaMemcpyToSymbol(weights, w, sizeof w));
  std::vector<float> in(n);
  for (float &v : in) v = random_float();
  float *din = on_device(in), *dout;
  MUST(cudaMalloc(&dout, n * sizeof(float)));
  filter<<<3, 128>>>(din, dout, n);
  MUST(cudaGetLastError());
  std::vector<float> out = on_host(dout, n);
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < 5; ++j) {
      int at = i + j - 2;
      sum += double(w[j]) * in[at < 0 ? 0 : at >= n ? n - 1 : at];
    }
    worst = std::fmax(worst, std::fabs(sum - out[i]));
  }
  CHECK(worst < 1e-6);
  int counted;
  MUST(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
  CHECK(counted == 10 + n);
  float row[8];
  MUST(cudaMemcpyFromSymbol(row, table, 4 * sizeof(float), 4 * sizeof(float)));
  CHECK(row[0] == 5.0f && row[3] == 6.5f);
  // Part of it anew.
  MUST(cudaMemcpyToSymbol(weights, w, sizeof(float), 2 * sizeof(float)));
  float back[5];
  MUST(cudaMemcpyFromSymbol(back, weights, sizeof back));
  CHECK(back[1] == w[1] && back[2] == w[0] && back[3] == w[3]);
  void *address;
  size_t size;
  MUST(cudaGetSymbolAddress(&address, counter));
  MUST(cudaGetSymbolSize(&size, table));
  CHECK(size == sizeof table);
  MUST(cudaMemset(address, 0, sizeof(int)));
  MUST(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
  CHECK(counted == 0);
  GIVES(cudaMemcpyToSymbol(weights, w, sizeof w, 4), cudaErrorInvalidValue);
  GIVES(cudaGetSymbolSize(&size, row), cudaErrorInvalidSymbol);
  return finish();
}
