// A forward pass of FlashAttention 3 in half precision, heads of 128, against attention in double precision on the host.
//   attention BATCH HEADS QUERIES KEYS causal|full
// Prints the number of outputs that differ from the host's by more than half precision explains.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "flash_fwd_launch_template.h"

constexpr int head_size = 128;

// Values of a tensor (batch, length, heads, head_size), on the host and on the device.
struct Rows {
  std::vector<cutlass::half_t> values;
  cutlass::half_t* device = nullptr;

  Rows(int batch, int length, int heads) : values(static_cast<std::size_t>(batch) * length * heads * head_size) {
    CHECK_CUDA(cudaMalloc(&device, values.size() * sizeof(values[0])));
  }

  void fill(std::mt19937& random) {
    std::normal_distribution<float> normal;
    for (auto& value : values) value = cutlass::half_t(normal(random));
    CHECK_CUDA(cudaMemcpy(device, values.data(), values.size() * sizeof(values[0]), cudaMemcpyHostToDevice));
  }
};

struct Sizes {
  int batch, heads, queries, keys;
  bool causal;
};

// Attention of one query: the sums of values weighted by softmax, and the logarithm of the sum of the weights.
double attend(const Sizes& shape, const Rows& q, const Rows& k, const Rows& v, int batch, int head, int query, double* out) {
  const auto at = [&](const Rows& tensor, int length, int row) {
    return tensor.values.data() + ((static_cast<std::size_t>(batch) * length + row) * shape.heads + head) * head_size;
  };
  const int visible = shape.causal ? query + shape.keys - shape.queries + 1 : shape.keys;
  std::vector<double> scores(visible > 0 ? visible : 0);
  double most = -INFINITY;
  for (int key = 0; key < visible; ++key) {
    double sum = 0;
    for (int i = 0; i < head_size; ++i) sum += double(float(at(q, shape.queries, query)[i])) * double(float(at(k, shape.keys, key)[i]));
    scores[key] = sum / std::sqrt(double(head_size));
    most = std::fmax(most, scores[key]);
  }
  double total = 0;
  for (int i = 0; i < head_size; ++i) out[i] = 0;
  for (int key = 0; key < visible; ++key) {
    const double weight = std::exp(scores[key] - most);
    total += weight;
    for (int i = 0; i < head_size; ++i) out[i] += weight * double(float(at(v, shape.keys, key)[i]));
  }
  for (int i = 0; i < head_size; ++i) out[i] /= total;
  return most + std::log(total);
}

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "%s BATCH HEADS QUERIES KEYS causal|full\n", argv[0]);
    return 2;
  }
  const Sizes shape{std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), std::strcmp(argv[5], "causal") == 0};
  std::mt19937 random(1);
  Rows q(shape.batch, shape.queries, shape.heads), k(shape.batch, shape.keys, shape.heads), v(shape.batch, shape.keys, shape.heads);
  Rows o(shape.batch, shape.queries, shape.heads);
  for (Rows* tensor : {&q, &k, &v}) tensor->fill(random);
  std::vector<float> logarithms(static_cast<std::size_t>(shape.batch) * shape.heads * shape.queries);
  float* softmax_lse = nullptr;
  int* next_tile = nullptr;
  CHECK_CUDA(cudaMalloc(&softmax_lse, logarithms.size() * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&next_tile, sizeof(int)));
  CHECK_CUDA(cudaMemset(next_tile, 0, sizeof(int)));

  Flash_fwd_params params{};
  params.q_ptr = q.device, params.k_ptr = k.device, params.v_ptr = v.device, params.o_ptr = o.device;
  params.q_row_stride = params.k_row_stride = params.v_row_stride = params.o_row_stride = std::int64_t(shape.heads) * head_size;
  params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = head_size;
  params.q_batch_stride = params.o_batch_stride = shape.queries * params.q_row_stride;
  params.k_batch_stride = params.v_batch_stride = shape.keys * params.k_row_stride;
  params.v_dim_stride = 1;
  params.softmax_lse_ptr = softmax_lse;
  params.b = params.b_k = shape.batch, params.h = params.h_k = shape.heads;
  params.seqlen_q = shape.queries, params.seqlen_k = shape.keys;
  params.d = params.dv = params.d_rounded = params.dv_rounded = head_size;
  params.scale_softmax = 1 / std::sqrt(float(head_size));
  params.window_size_left = -1, params.window_size_right = shape.causal ? 0 : -1;
  params.is_causal = shape.causal;
  params.num_splits = 1;
  params.tile_count_semaphore = next_tile;
  params.arch = 90;
  CHECK_CUDA(cudaDeviceGetAttribute(&params.num_sm, cudaDevAttrMultiProcessorCount, 0));
  run_mha_fwd_<90, cutlass::half_t, head_size, head_size, false, false, false, false>(params, nullptr);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaMemcpy(o.values.data(), o.device, o.values.size() * sizeof(o.values[0]), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaMemcpy(logarithms.data(), softmax_lse, logarithms.size() * sizeof(float), cudaMemcpyDeviceToHost));

  int wrong = 0;
  double largest = 0;
  for (int batch = 0; batch < shape.batch; ++batch) {
    for (int head = 0; head < shape.heads; ++head) {
      for (int query = 0; query < shape.queries; ++query) {
        double expected[head_size];
        const double logarithm = attend(shape, q, k, v, batch, head, query, expected);
        const auto* row = o.values.data() + ((std::size_t(batch) * shape.queries + query) * shape.heads + head) * head_size;
        for (int i = 0; i < head_size; ++i) {
          // Weights are rounded to half precision before they are multiplied, and so is the result.
          const double error = std::fabs(float(row[i]) - expected[i]);
          largest = std::fmax(largest, error);
          wrong += !(error < 2e-3 * (1 + std::fabs(expected[i])));
        }
        const float computed = logarithms[(std::size_t(batch) * shape.heads + head) * shape.queries + query];
        wrong += !(std::fabs(computed - logarithm) < 1e-4 * (1 + std::fabs(logarithm)));
      }
    }
  }
  std::printf("%d of %zu differ, the largest error is %g\n", wrong, o.values.size() + logarithms.size(), largest);
  return wrong != 0;
}
