// Heat that spreads: rows with a pitch, copies of rectangles and of boxes, fills.
#include "check.h"

__global__ void spread(const char *from, char *to, size_t pitch, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  auto at = [&](int i, int j) {
    i = min(max(i, 0), width - 1), j = min(max(j, 0), height - 1);
    return reinterpret_cast<const float *>(from + j * pitch)[i];
  };
  reinterpret_cast<float *>(to + y * pitch)[x] = (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 4;
}

int main() {
  const int width = 50, height = 37, steps = 9, row = width * sizeof(float);
  std::vector<float> grid(width * height), next(grid);
  for (float &v : grid) v = random_float();
  char *a, *b;
  size_t pitch, other;
  MUST(cudaMallocPitch(&a, &pitch, row, height));
  MUST(cudaMallocPitch(&b, &other, row, height));
  CHECK(pitch == other && pitch >= size_t(row));
  MUST(cudaMemcpy2D(a, pitch, grid.data(), row, row, height, cudaMemcpyHostToDevice));
  for (int step = 0; step < steps; ++step) {
    spread<<<dim3(4, 5), dim3(16, 8)>>>(a, b, pitch, width, height);
    std::swap(a, b);
    auto at = [&](int i, int j) {
      i = i < 0 ? 0 : i >= width ? width - 1 : i, j = j < 0 ? 0 : j >= height ? height - 1 : j;
      return grid[j * width + i];
    };
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        next[y * width + x] = (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 4;
    std::swap(grid, next);
  }
  std::vector<float> got(width * height);
  MUST(cudaMemcpy2D(got.data(), row, a, pitch, row, height, cudaMemcpyDeviceToHost));
  CHECK(got == grid);
  MUST(cudaMemcpy2D(got.data(), row - 1, a, pitch, row, 1, cudaMemcpyDeviceToHost));
  GIVES(cudaMemcpy2D(got.data(), row - 1, a, pitch, row, height, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);

  // A box within a box.
  cudaExtent extent = make_cudaExtent(20, 6, 5);
  cudaPitchedPtr box;
  MUST(cudaMalloc3D(&box, extent));
  MUST(cudaMemset3D(box, 7, extent));
  std::vector<unsigned char> in(8 * 3 * 2), out(20 * 6 * 5);
  for (auto &v : in) v = (unsigned char)next_random();
  cudaMemcpy3DParms params = {};
  params.srcPtr = make_cudaPitchedPtr(in.data(), 8, 8, 3);
  params.dstPtr = box;
  params.dstPos = make_cudaPos(4, 2, 1);
  params.extent = make_cudaExtent(8, 3, 2);
  params.kind = cudaMemcpyHostToDevice;
  MUST(cudaMemcpy3D(&params));
  cudaMemcpy3DParms back = {};
  back.srcPtr = box;
  back.dstPtr = make_cudaPitchedPtr(out.data(), 20, 20, 6);
  back.extent = extent;
  back.kind = cudaMemcpyDefault;
  MUST(cudaMemcpy3D(&back));
  bool same = true;
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 20; ++x) {
        bool inside = x >= 4 && x < 12 && y >= 2 && y < 5 && z >= 1 && z < 3;
        unsigned char want = inside ? in[((z - 1) * 3 + y - 2) * 8 + x - 4] : 7;
        same &= out[(z * 6 + y) * 20 + x] == want;
      }
  CHECK(same);
  return finish();
}
