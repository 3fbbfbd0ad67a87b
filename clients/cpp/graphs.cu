// Stream capture: fork and join, copies, fills and host functions as one graph, which is launched again and again, updated, and nested.
#include "check.h"

const int N = 1000;

__global__ void add(int *data, const int *more, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += more[i];
}

__global__ void scale(int *data, int by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= by;
}

void count(void *calls) { ++*static_cast<int *>(calls); }

// A capture of `data = (data + more) * by` in two streams that part and meet.
cudaGraph_t captured(cudaStream_t stream, int *data, int *more, int *host, int by, int *calls) {
  cudaStream_t other;
  cudaEvent_t parted, met;
  MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  MUST(cudaEventCreate(&parted));
  MUST(cudaEventCreate(&met));
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  MUST(cudaEventRecord(parted, stream));
  MUST(cudaStreamWaitEvent(other, parted, 0));
  MUST(cudaMemcpyAsync(more, host, N * sizeof(int), cudaMemcpyHostToDevice, other));
  MUST(cudaMemsetAsync(data, 0, N * sizeof(int), stream));
  MUST(cudaEventRecord(met, other));
  MUST(cudaStreamWaitEvent(stream, met, 0));
  add<<<(N + 127) / 128, 128, 0, stream>>>(data, more, N);
  scale<<<(N + 127) / 128, 128, 0, stream>>>(data, by, N);
  MUST(cudaLaunchHostFunc(stream, count, calls));
  cudaStreamCaptureStatus status;
  MUST(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph;
  MUST(cudaStreamEndCapture(stream, &graph));
  MUST(cudaStreamDestroy(other));
  return graph;
}

int main() {
  int *data, *more, calls = 0;
  int host[N], got[N];
  MUST(cudaMalloc(&data, sizeof host));
  MUST(cudaMalloc(&more, sizeof host));
  cudaStream_t stream;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < N; ++i) host[i] = i;

  cudaGraph_t graph = captured(stream, data, more, host, 3, &calls);
  CHECK(calls == 0);
  size_t nodes;
  MUST(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 5);
  cudaGraphExec_t exec;
  MUST(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < N; ++i) host[i] = i * round;
    MUST(cudaGraphLaunch(exec, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(got, data, sizeof got, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < N; ++i) wrong += got[i] != 3 * i * round;
    CHECK(wrong == 0);
    CHECK(calls == round);
  }

  // The same with another factor takes the place of the first.
  cudaGraph_t other = captured(stream, data, more, host, 5, &calls);
  cudaGraphExecUpdateResultInfo result;
  MUST(cudaGraphExecUpdate(exec, other, &result));
  CHECK(result.result == cudaGraphExecUpdateSuccess);
  MUST(cudaGraphLaunch(exec, stream));
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaMemcpy(got, data, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(got[7] == 5 * 7 * 3);

  // A graph by hand, that holds another.
  cudaGraph_t whole;
  cudaGraphNode_t inner, last;
  MUST(cudaGraphCreate(&whole, 0));
  MUST(cudaGraphAddChildGraphNode(&inner, whole, nullptr, 0, graph));
  MUST(cudaGraphAddMemcpyNode1D(&last, whole, &inner, 1, got, data, sizeof got, cudaMemcpyDeviceToHost));
  cudaGraphExec_t nested;
  MUST(cudaGraphInstantiate(&nested, whole, 0));
  got[7] = 0;
  MUST(cudaGraphLaunch(nested, stream));
  MUST(cudaStreamSynchronize(stream));
  CHECK(got[7] == 3 * 7 * 3);
  CHECK(calls == 5);

  // What cannot be captured.
  MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  return finish();
}
