// Nodes of graphs: parameters that are read and changed, disabled nodes, clones, memory, objects of the program.
#include "check.h"

const int N = 256;

__device__ int symbol[N];

__global__ void add(int *data, int more) { data[threadIdx.x] += more; }

void destroyed(void *calls) { ++*static_cast<int *>(calls); }

int first_of(const int *data) {
  int got[N];
  MUST(cudaMemcpy(got, data, sizeof got, cudaMemcpyDeviceToHost));
  bool same = true;
  for (int i = 1; i < N; ++i) same &= got[i] == got[0];
  CHECK(same);
  return got[0];
}

cudaGraphExec_t executable(cudaGraph_t graph, unsigned flags = 0) {
  cudaGraphExec_t exec;
  MUST(cudaGraphInstantiate(&exec, graph, flags));
  return exec;
}

// Parameters of launches and copies in the forms of the runtime.
void parameters(int *data) {
  cudaGraph_t graph;
  MUST(cudaGraphCreate(&graph, 0));
  int more = 5, ones[N];
  for (int &one : ones) one = 1;
  cudaGraphNode_t copy, kernel;
  MUST(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, data, ones, sizeof ones, cudaMemcpyHostToDevice));
  void *arguments[] = {&data, &more};
  cudaGraphNodeParams any = {};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.func = (void *)add;
  any.kernel.gridDim = dim3(1);
  any.kernel.blockDim = dim3(N);
  any.kernel.kernelParams = arguments;
  MUST(cudaGraphAddNode(&kernel, graph, &copy, nullptr, 1, &any));
  cudaKernelNodeParams shown;
  MUST(cudaGraphKernelNodeGetParams(kernel, &shown));
  CHECK(shown.func == (void *)add && shown.blockDim.x == N && shown.gridDim.x == 1);
  CHECK(*(int **)shown.kernelParams[0] == data && *(int *)shown.kernelParams[1] == 5);
  cudaMemcpy3DParms layers;
  MUST(cudaGraphMemcpyNodeGetParams(copy, &layers));
  CHECK(layers.srcPtr.ptr == ones && layers.dstPtr.ptr == data && layers.extent.width == sizeof ones);
  CHECK(layers.kind == cudaMemcpyHostToDevice);
  cudaGraphExec_t exec = executable(graph);
  MUST(cudaGraphLaunch(exec, 0));
  CHECK(first_of(data) == 6);

  // What is shown serves to change a node, as programs do that update pointers.
  more = 7;
  shown.kernelParams = arguments;
  MUST(cudaGraphExecKernelNodeSetParams(exec, kernel, &shown));
  MUST(cudaGraphLaunch(exec, 0));
  CHECK(first_of(data) == 8);
  MUST(cudaGraphNodeSetEnabled(exec, copy, 0));
  MUST(cudaGraphLaunch(exec, 0));
  CHECK(first_of(data) == 15);
  unsigned enabled = 9;
  MUST(cudaGraphNodeGetEnabled(exec, copy, &enabled));
  CHECK(enabled == 0);
  more = 20;
  MUST(cudaGraphNodeGetParams(kernel, &any));
  CHECK(any.type == cudaGraphNodeTypeKernel && any.kernel.func == (void *)add);
  any.kernel.kernelParams = arguments;
  MUST(cudaGraphExecNodeSetParams(exec, kernel, &any));
  MUST(cudaGraphLaunch(exec, 0));
  CHECK(first_of(data) == 35);

  // The clone has a life of its own.
  cudaGraph_t clone;
  cudaGraphNode_t cloned;
  MUST(cudaGraphClone(&clone, graph));
  MUST(cudaGraphNodeFindInClone(&cloned, kernel, clone));
  more = 100;
  MUST(cudaGraphKernelNodeSetParams(cloned, &shown));
  MUST(cudaGraphLaunch(executable(clone), 0));
  CHECK(first_of(data) == 101);
  MUST(cudaGraphLaunch(executable(graph), 0));
  CHECK(first_of(data) == 6);
  MUST(cudaGraphDestroy(clone));
  MUST(cudaGraphDestroy(graph));
}

// Copies to and from variables, and a graph in a node.
void symbols(int *data) {
  cudaGraph_t graph, child;
  MUST(cudaGraphCreate(&graph, 0));
  MUST(cudaGraphCreate(&child, 0));
  int threes[N], got[N] = {};
  for (int &three : threes) three = 3;
  cudaGraphNode_t to, from, node;
  MUST(cudaGraphAddMemcpyNodeToSymbol(&to, child, nullptr, 0, symbol, threes, sizeof threes, 0, cudaMemcpyHostToDevice));
  MUST(cudaGraphAddMemcpyNodeFromSymbol(&from, child, &to, 1, got, symbol, sizeof got, 0, cudaMemcpyDeviceToHost));
  MUST(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  cudaGraph_t inner;
  MUST(cudaGraphChildGraphNodeGetGraph(node, &inner));
  CHECK(inner != child);
  cudaGraphExec_t exec = executable(graph);
  MUST(cudaGraphLaunch(exec, 0));
  CHECK(got[0] == 3 && got[N - 1] == 3);
  // Another child with work of the same kinds takes its place.
  MUST(cudaGraphMemcpyNodeSetParamsFromSymbol(from, data, symbol, sizeof got, 0, cudaMemcpyDeviceToDevice));
  MUST(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
  MUST(cudaGraphLaunch(exec, 0));
  CHECK(first_of(data) == 3);
  MUST(cudaGraphDestroy(child));
  MUST(cudaGraphDestroy(graph));
}

// Memory that a graph allocates and frees.
void memory(int *data) {
  cudaGraph_t graph;
  MUST(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams allocation = {};
  allocation.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.poolProps.location.type = cudaMemLocationTypeDevice;
  allocation.bytesize = N * sizeof(int);
  cudaGraphNode_t allocate, fill, copy, release;
  MUST(cudaGraphAddMemAllocNode(&allocate, graph, nullptr, 0, &allocation));
  cudaMemsetParams set = {};
  set.dst = allocation.dptr;
  set.value = 0x02020202;
  set.elementSize = 4;
  set.width = N;
  set.height = 1;
  MUST(cudaGraphAddMemsetNode(&fill, graph, &allocate, 1, &set));
  MUST(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, data, allocation.dptr, N * sizeof(int), cudaMemcpyDeviceToDevice));
  MUST(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, allocation.dptr));
  cudaGraphExec_t exec = executable(graph);
  for (int i = 0; i < 2; ++i) {
    MUST(cudaMemset(data, 0, N * sizeof(int)));
    MUST(cudaGraphLaunch(exec, 0));
    CHECK(first_of(data) == 0x02020202);
  }
  unsigned long long used = 1, most = 0;
  MUST(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
  MUST(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &most));
  CHECK(used == 0 && most >= N * sizeof(int));
  cudaGraph_t clone;
  CHECK(cudaGraphClone(&clone, graph) == cudaErrorNotSupported);
  CHECK(cudaGraphDestroyNode(release) == cudaErrorNotSupported);
  cudaGetLastError();
}

int main() {
  int *data;
  MUST(cudaMalloc(&data, N * sizeof(int)));
  parameters(data);
  symbols(data);
  memory(data);

  int calls = 0;
  cudaUserObject_t object;
  cudaGraph_t graph;
  MUST(cudaGraphCreate(&graph, 0));
  MUST(cudaUserObjectCreate(&object, &calls, destroyed, 1, cudaUserObjectNoDestructorSync));
  MUST(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraphExec_t exec = executable(graph);
  MUST(cudaGraphDestroy(graph));
  CHECK(calls == 0);
  MUST(cudaGraphExecDestroy(exec));
  CHECK(calls == 1);
  return finish();
}
