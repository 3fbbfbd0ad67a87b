// Managed memory: a list whose pointers host and device follow, hints, attributes; managed variables.
#include "check.h"

struct Node {
  int value;
  Node *next;
};

__global__ void sum(const Node *list, int *out) {
  int total = 0;
  for (; list; list = list->next) total += list->value;
  *out = total;
}

__global__ void double_all(Node *list) {
  for (; list; list = list->next) list->value *= 2;
}

__managed__ int launched = 3;
__device__ __managed__ int squares[4] = {1, 4, 9, 16};
__global__ void next() {
  ++launched;
  squares[launched % 4] += 100;
}

int main() {
  Node *list = nullptr;
  int *out, want = 0;
  MUST(cudaMallocManaged(&out, sizeof(int)));
  for (int i = 0; i < 20; ++i) {
    Node *node;
    MUST(cudaMallocManaged(&node, sizeof(Node)));
    *node = {int(next_random() % 100), list};
    want += node->value;
    list = node;
  }
  sum<<<1, 1>>>(list, out);
  MUST(cudaDeviceSynchronize());
  CHECK(*out == want);
  double_all<<<1, 1>>>(list);
  MUST(cudaDeviceSynchronize());
  int got = 0;
  for (Node *node = list; node; node = node->next) got += node->value;
  CHECK(got == 2 * want);

  cudaPointerAttributes attributes;
  MUST(cudaPointerGetAttributes(&attributes, list));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == list && attributes.hostPointer == list);
  MUST(cudaPointerGetAttributes(&attributes, &want));
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
  cudaMemLocation device = {};
  device.type = cudaMemLocationTypeDevice;
  GIVES(cudaMemAdvise(list, sizeof(Node), cudaMemAdviseSetPreferredLocation, device), cudaSuccess);
  GIVES(cudaMemPrefetchAsync(list, sizeof(Node), device, 0, 0), cudaSuccess);
  MUST(cudaMemcpy(out, &want, sizeof(int), cudaMemcpyDefault));
  CHECK(*out == want);
  MUST(cudaMemset(out, 0xff, sizeof(int)));
  CHECK(*out == -1);
  while (list) {
    Node *next = list->next;
    MUST(cudaFree(list));
    list = next;
  }
  GIVES(cudaFree(out), cudaSuccess);

  // Managed variables: the host reads what kernels write, and the other way round.
  CHECK(launched == 3 && squares[2] == 9);
  next<<<1, 1>>>();
  MUST(cudaDeviceSynchronize());
  CHECK(launched == 4 && squares[0] == 101);
  launched = 9;
  next<<<1, 1>>>();
  MUST(cudaDeviceSynchronize());
  CHECK(launched == 10 && squares[2] == 109 && squares[1] == 4);
  int copy[4];
  MUST(cudaMemcpyFromSymbol(copy, squares, sizeof squares));
  CHECK(copy[2] == 109);
  MUST(cudaPointerGetAttributes(&attributes, &launched));
  CHECK(attributes.type == cudaMemoryTypeManaged);
  return finish();
}
