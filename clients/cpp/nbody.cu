// Bodies that draw each other: vector types, shared memory, reciprocal square roots, many launches.
#include "check.h"

constexpr int BODIES = 128, BLOCK = 32;
constexpr float SOFT = 0.01f, STEP = 0.001f;

__global__ void move(const float4 *from, float4 *to, float3 *speed) {
  __shared__ float4 tile[BLOCK];
  int i = blockIdx.x * BLOCK + threadIdx.x;
  float4 own = from[i];
  float3 pull = make_float3(0, 0, 0);
  for (int first = 0; first < BODIES; first += BLOCK) {
    tile[threadIdx.x] = from[first + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < BLOCK; ++j) {
      float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
      float inverse = rsqrtf(x * x + y * y + z * z + SOFT), force = tile[j].w * inverse * inverse * inverse;
      pull.x += x * force, pull.y += y * force, pull.z += z * force;
    }
    __syncthreads();
  }
  float3 v = speed[i];
  v.x += pull.x * STEP, v.y += pull.y * STEP, v.z += pull.z * STEP;
  speed[i] = v;
  to[i] = make_float4(own.x + v.x * STEP, own.y + v.y * STEP, own.z + v.z * STEP, own.w);
}

int main() {
  std::vector<float4> bodies(BODIES), next(BODIES);
  for (float4 &b : bodies) b = make_float4(random_float(), random_float(), random_float(), random_float());
  std::vector<float3> speed(BODIES, make_float3(0, 0, 0));
  float4 *a = on_device(bodies), *b = on_device(bodies);
  float3 *v = on_device(speed);
  for (int step = 0; step < 20; ++step) {
    move<<<BODIES / BLOCK, BLOCK>>>(a, b, v);
    std::swap(a, b);
    for (int i = 0; i < BODIES; ++i) {
      double px = 0, py = 0, pz = 0;
      for (const float4 &o : bodies) {
        double x = o.x - bodies[i].x, y = o.y - bodies[i].y, z = o.z - bodies[i].z;
        double force = o.w / std::pow(x * x + y * y + z * z + SOFT, 1.5);
        px += x * force, py += y * force, pz += z * force;
      }
      speed[i].x += px * STEP, speed[i].y += py * STEP, speed[i].z += pz * STEP;
      next[i] = make_float4(bodies[i].x + speed[i].x * STEP, bodies[i].y + speed[i].y * STEP,
                            bodies[i].z + speed[i].z * STEP, bodies[i].w);
    }
    std::swap(bodies, next);
  }
  MUST(cudaDeviceSynchronize());
  std::vector<float4> got = on_host(a, BODIES);
  double worst = 0;
  for (int i = 0; i < BODIES; ++i)
    worst = std::fmax(worst, std::fabs(got[i].x - bodies[i].x) + std::fabs(got[i].y - bodies[i].y) +
                                 std::fabs(got[i].z - bodies[i].z));
  CHECK(worst < 1e-5);
  return finish();
}
