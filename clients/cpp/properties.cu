// What the device says of itself, and what the runtime says of kernels.
#include <cstring>

#include "check.h"

__global__ void __launch_bounds__(192) kernel(int *data) {
  __shared__ int memory[100];
  memory[threadIdx.x % 100] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = memory[99 - threadIdx.x % 100];
}

int main() {
  int devices = 0, runtime = 0, driver = 0;
  MUST(cudaGetDeviceCount(&devices));
  CHECK(devices >= 1);
  MUST(cudaRuntimeGetVersion(&runtime));
  MUST(cudaDriverGetVersion(&driver));
  CHECK(runtime / 1000 == CUDART_VERSION / 1000 && driver >= 12000);

  // The structure ends where the compiler takes it to end, and fields of its middle and end are where it takes them to be.
  struct {
    cudaDeviceProp p;
    unsigned char after[64];
  } s;
  memset(&s, 0xee, sizeof s);
  MUST(cudaGetDeviceProperties(&s.p, 0));
  bool kept = true;
  for (unsigned char byte : s.after) kept &= byte == 0xee;
  CHECK(kept);
  CHECK(s.p.reserved[sizeof s.p.reserved / sizeof(int) - 1] == 0);
  CHECK(strstr(s.p.name, "Simtlab") != nullptr);
  auto is = [&](cudaDeviceAttr attribute, long long field) {
    int value = -1;
    MUST(cudaDeviceGetAttribute(&value, attribute, 0));
    return value == field;
  };
  CHECK(is(cudaDevAttrMaxThreadsPerBlock, s.p.maxThreadsPerBlock) && s.p.maxThreadsPerBlock == 1024);
  CHECK(is(cudaDevAttrMaxGridDimY, s.p.maxGridSize[1]) && is(cudaDevAttrWarpSize, s.p.warpSize) && s.p.warpSize == 32);
  CHECK(is(cudaDevAttrComputeCapabilityMajor, s.p.major) && is(cudaDevAttrMultiProcessorCount, s.p.multiProcessorCount));
  CHECK(is(cudaDevAttrL2CacheSize, s.p.l2CacheSize) && is(cudaDevAttrPciBusId, s.p.pciBusID) && s.p.l2CacheSize > 0);
  CHECK(is(cudaDevAttrManagedMemory, s.p.managedMemory) && s.p.managedMemory == 1);
  CHECK(is(cudaDevAttrMaxSharedMemoryPerBlockOptin, s.p.sharedMemPerBlockOptin) && s.p.sharedMemPerBlockOptin >= 96 << 10);
  CHECK(is(cudaDevAttrMaxBlocksPerMultiprocessor, s.p.maxBlocksPerMultiProcessor) && s.p.maxBlocksPerMultiProcessor > 0);
  CHECK(is(cudaDevAttrMemoryPoolsSupported, s.p.memoryPoolsSupported) && s.p.memoryPoolsSupported == 1);
  size_t free_bytes = 0, total = 0;
  MUST(cudaMemGetInfo(&free_bytes, &total));
  CHECK(free_bytes <= total && total == s.p.totalGlobalMem);

  cudaFuncAttributes attributes;
  MUST(cudaFuncGetAttributes(&attributes, kernel));
  CHECK(attributes.sharedSizeBytes == 400 && attributes.maxThreadsPerBlock == 192 && attributes.numRegs > 0);
  CHECK(attributes.ptxVersion >= 75 && attributes.maxDynamicSharedSizeBytes > 0);
  int blocks = 0, grid = 0, block = 0;
  MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 0));
  CHECK(blocks == s.p.maxThreadsPerMultiProcessor / 128);
  MUST(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel));
  CHECK(block > 0 && block <= 192 && grid >= s.p.multiProcessorCount);
  size_t limit = 0;
  MUST(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  MUST(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  CHECK(limit == 4096);
  GIVES(cudaDeviceGetLimit(&limit, cudaLimit(77)), cudaErrorUnsupportedLimit);
  int least = 0, greatest = 0;
  MUST(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);
  char bus[32];
  int found = -1;
  MUST(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  MUST(cudaDeviceGetByPCIBusId(&found, bus));
  CHECK(found == 0);
  return finish();
}
