// Kernels that wait for the host: a persistent kernel with a mailbox in managed memory, one that waits for pinned memory, and one that another stream
// releases.
#include "check.h"

struct Mailbox {
  int request;
  int answer;
};

__global__ void serve(volatile Mailbox *box) {
  for (int round = 1;; ++round) {
    while (box->request != round && box->request >= 0) {}
    if (box->request < 0) return;
    box->answer = round * round;
    __threadfence_system();
  }
}

__global__ void wait_for(volatile int *flag, int value, int *out) {
  while (*flag != value) {}
  *out = value;
}

__global__ void set(volatile int *flag, int value) { *flag = value; }

int main() {
  cudaStream_t stream, other;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));

  Mailbox *box;
  MUST(cudaMallocManaged(&box, sizeof *box));
  box->request = 0;
  serve<<<1, 1, 0, stream>>>(box);
  MUST(cudaGetLastError());
  volatile Mailbox *seen = box;
  for (int round = 1; round <= 20; ++round) {
    seen->request = round;
    while (seen->answer != round * round) {}
  }
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  seen->request = -1;
  MUST(cudaStreamSynchronize(stream));

  int *flag, *out;
  MUST(cudaMallocHost(&flag, sizeof *flag));
  MUST(cudaMallocManaged(&out, sizeof *out));
  *flag = *out = 0;
  cudaEvent_t done;
  MUST(cudaEventCreate(&done));
  wait_for<<<1, 32, 0, stream>>>(flag, 3, out);
  MUST(cudaEventRecord(done, stream));
  CHECK(cudaEventQuery(done) == cudaErrorNotReady);
  *(volatile int *)flag = 3;
  MUST(cudaEventSynchronize(done));
  CHECK(*out == 3);

  int *device;
  MUST(cudaMalloc(&device, sizeof *device));
  MUST(cudaMemset(device, 0, sizeof *device));
  wait_for<<<1, 1, 0, stream>>>(device, 5, out);
  set<<<1, 1, 0, other>>>(device, 5);
  MUST(cudaDeviceSynchronize());
  CHECK(*out == 5);
  return finish();
}
