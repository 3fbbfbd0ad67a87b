// Streams, events, pinned memory, memory in stream order, callbacks, and a graph made by hand.
#include "check.h"

__global__ void scale(float *data, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}

static void CUDART_CB count(void *data) { ++*static_cast<int *>(data); }

int main() {
  const int streams = 4, n = 1000;
  float *pinned;
  MUST(cudaMallocHost(&pinned, streams * n * sizeof(float)));
  for (int i = 0; i < streams * n; ++i) pinned[i] = float(i);
  cudaStream_t stream[streams];
  cudaEvent_t start, stop;
  MUST(cudaEventCreate(&start));
  MUST(cudaEventCreate(&stop));
  MUST(cudaEventRecord(start));
  int called = 0;
  for (int s = 0; s < streams; ++s) {
    MUST(cudaStreamCreateWithFlags(&stream[s], s % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
    float *data, *host = pinned + s * n;
    MUST(cudaMallocAsync(&data, n * sizeof(float), stream[s]));
    MUST(cudaMemcpyAsync(data, host, n * sizeof(float), cudaMemcpyHostToDevice, stream[s]));
    scale<<<(n + 127) / 128, 128, 0, stream[s]>>>(data, s + 2.0f, n);
    MUST(cudaMemcpyAsync(host, data, n * sizeof(float), cudaMemcpyDeviceToHost, stream[s]));
    MUST(cudaFreeAsync(data, stream[s]));
    MUST(cudaLaunchHostFunc(stream[s], count, &called));
    MUST(cudaEventRecord(stop, stream[s]));
    MUST(cudaStreamWaitEvent(stream[(s + 1) % streams > s ? s : 0], stop, 0));
  }
  for (cudaStream_t s : stream) MUST(cudaStreamSynchronize(s));
  GIVES(cudaStreamQuery(stream[0]), cudaSuccess);
  GIVES(cudaEventQuery(stop), cudaSuccess);
  MUST(cudaEventSynchronize(stop));
  float milliseconds = -1;
  MUST(cudaEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds > 0);
  CHECK(called == streams);
  bool same = true;
  for (int i = 0; i < streams * n; ++i) same &= pinned[i] == float(i) * (i / n + 2);
  CHECK(same);

  // The device sees pinned memory itself.
  scale<<<(n + 127) / 128, 128>>>(pinned, 0.5f, n);
  MUST(cudaDeviceSynchronize());
  same = true;
  for (int i = 0; i < n; ++i) same &= pinned[i] == float(i);
  CHECK(same);

  // One after the other in a graph, launched three times.
  float *data = on_device(std::vector<float>(n, 1.0f)), factor = 2, other = 3;
  int count = n;
  void *first[] = {&data, &factor, &count}, *second[] = {&data, &other, &count};
  cudaKernelNodeParams params = {};
  params.func = (void *)scale;
  params.gridDim = dim3((n + 127) / 128);
  params.blockDim = dim3(128);
  params.kernelParams = first;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t before, after;
  MUST(cudaGraphCreate(&graph, 0));
  MUST(cudaGraphAddKernelNode(&before, graph, nullptr, 0, &params));
  params.kernelParams = second;
  MUST(cudaGraphAddKernelNode(&after, graph, &before, 1, &params));
  MUST(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) MUST(cudaGraphLaunch(exec, stream[0]));
  MUST(cudaStreamSynchronize(stream[0]));
  CHECK(on_host(data, n) == std::vector<float>(n, 216.0f));
  MUST(cudaGraphExecDestroy(exec));
  MUST(cudaGraphDestroy(graph));
  for (cudaStream_t s : stream) MUST(cudaStreamDestroy(s));
  GIVES(cudaStreamDestroy(stream[0]), cudaErrorInvalidResourceHandle);
  MUST(cudaEventDestroy(start));
  GIVES(cudaEventRecord(start), cudaErrorInvalidResourceHandle);
  MUST(cudaFreeHost(pinned));
  return finish();
}
