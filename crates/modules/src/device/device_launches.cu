// CUDA's device runtime (cuda_device_runtime_api.h): launches, copies and fills that kernels ask for, and what goes with them.
//
// Work is recorded in a queue in global memory, in the order in which threads ask for it; the host does it after the grid
// (crates/runtime/src/device_launches.rs, which knows the layout of Queue and Work). That is an order that every stream allows:
// a grid cannot wait for its children, and ends only after them. So streams and events need no state here.
//
// device_launches.ptx is made of this file by device_launches.sh, which gives functions their names: CDP2_ stands for __cudaCDP2,
// for the headers of the host reserve that.

typedef unsigned long long u64;

// Which work: a launch is one of a kernel's address, else one of these.
enum { COPY = 1, FILL = 2 };
enum { FREE = 0, READY = 1 };

struct Work {
    u64 kernel;
    unsigned grid[3], block[3], shared, state;
    u64 stream, ticket, unused;
    // The parameter block follows; of copies and fills `to`, `from` or the value, and box and pitches:
    u64 args[9];
};

enum { FUNCTIONS = 128, ATTRIBUTES = 160 };

struct Queue {
    char *work;             // 0 where no kernel may launch
    u64 stride, capacity;   // bytes of a Work with its parameters, and how many there are
    u64 reserved, tickets;  // how many are in use, and ready
    unsigned depth, most_depth, most_threads, most_shared;
    int version, error;
    u64 handles;            // streams and events so far
    int attributes[ATTRIBUTES];
};

extern "C" {

__device__ Queue __simtlab_device_queue;

static __device__ cudaError_t failed(cudaError_t error) {
    if (error != cudaSuccess) __simtlab_device_queue.error = error;
    return error;
}

static __device__ __noinline__ Work *reserve() {
    Queue &q = __simtlab_device_queue;
    u64 index = q.work ? atomicAdd(&q.reserved, 1ULL) : q.capacity;
    if (index >= q.capacity) {
        failed(cudaErrorLaunchPendingCountExceeded);
        return 0;
    }
    Work *work = (Work *)(q.work + index * q.stride);
    work->state = FREE;
    return work;
}

static __device__ __noinline__ cudaError_t submit(Work *work, cudaStream_t stream) {
    work->stream = (u64)stream;
    work->ticket = atomicAdd(&__simtlab_device_queue.tickets, 1ULL);
    work->state = READY;
    return cudaSuccess;
}

static __device__ Work *of_parameters(void *parameters) { return (Work *)((char *)parameters - offsetof(Work, args)); }

static __device__ __noinline__ void shape(Work *work, void *kernel, dim3 grid, dim3 block, unsigned shared) {
    work->kernel = (u64)kernel;
    work->grid[0] = grid.x; work->grid[1] = grid.y; work->grid[2] = grid.z;
    work->block[0] = block.x; work->block[1] = block.y; work->block[2] = block.z;
    work->shared = shared;
}

__device__ void *CDP2_GetParameterBufferV2(void *kernel, dim3 grid, dim3 block, unsigned shared) {
    Work *work = reserve();
    if (!work) return 0;
    shape(work, kernel, grid, block, shared);
    return work->args;
}

__device__ void *CDP2_GetParameterBuffer(size_t, size_t size) {
    if (size > __simtlab_device_queue.stride - offsetof(Work, args)) return 0;
    Work *work = reserve();
    return work ? work->args : 0;
}

__device__ __noinline__ cudaError_t CDP2_LaunchDeviceV2(void *parameters, cudaStream_t stream) {
    Queue &q = __simtlab_device_queue;
    if (!parameters) return failed(cudaErrorLaunchPendingCountExceeded);
    Work *work = of_parameters(parameters);
    u64 threads = (u64)work->block[0] * work->block[1] * work->block[2];
    u64 blocks = (u64)work->grid[0] * work->grid[1] * work->grid[2];
    bool sizes = threads && threads <= q.most_threads && work->block[0] <= 1024 && work->block[1] <= 1024 && work->block[2] <= 64;
    sizes = sizes && blocks && work->grid[0] <= 0x7fffffff && work->grid[1] <= 65535 && work->grid[2] <= 65535;
    if (!sizes || work->shared > q.most_shared) return failed(cudaErrorInvalidConfiguration);
    // The tail of a grid begins after it, at its depth.
    if (stream != (cudaStream_t)3 && q.depth >= q.most_depth) return failed(cudaErrorLaunchMaxDepthExceeded);
    return submit(work, stream);
}

__device__ __noinline__ cudaError_t CDP2_LaunchDevice(void *kernel, void *parameters, dim3 grid, dim3 block, unsigned shared, cudaStream_t stream) {
    if (parameters) shape(of_parameters(parameters), kernel, grid, block, shared);
    return CDP2_LaunchDeviceV2(parameters, stream);
}

// A copy or a fill of `depth` planes of `height` rows of `width` bytes; pitches are in bytes, planes in rows.
static __device__ __noinline__ cudaError_t move(u64 what, u64 to, u64 from, u64 width, u64 height, u64 depth, u64 to_pitch, u64 from_pitch,
                                   u64 to_rows, u64 from_rows, cudaStream_t stream) {
    Work *work = reserve();
    if (!work) return cudaErrorLaunchPendingCountExceeded;
    u64 args[] = { to, from, width, height, depth, to_pitch, from_pitch, to_rows, from_rows };
    for (int i = 0; i < 9; i++) work->args[i] = args[i];
    work->kernel = what;
    return submit(work, stream);
}

__device__ __noinline__ cudaError_t CDP2_MemcpyAsync(void *to, const void *from, size_t count, cudaMemcpyKind, cudaStream_t stream) {
    return move(COPY, (u64)to, (u64)from, count, 1, 1, count, count, 1, 1, stream);
}

__device__ __noinline__ cudaError_t CDP2_Memcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                               size_t height, cudaMemcpyKind, cudaStream_t stream) {
    if (width > to_pitch || width > from_pitch) return failed(cudaErrorInvalidPitchValue);
    return move(COPY, (u64)to, (u64)from, width, height, 1, to_pitch, from_pitch, height, height, stream);
}

__device__ __noinline__ cudaError_t CDP2_Memcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream) {
    if (p->srcArray || p->dstArray) return failed(cudaErrorInvalidValue);
    u64 to = (u64)p->dstPtr.ptr + (p->dstPos.z * p->dstPtr.ysize + p->dstPos.y) * p->dstPtr.pitch + p->dstPos.x;
    u64 from = (u64)p->srcPtr.ptr + (p->srcPos.z * p->srcPtr.ysize + p->srcPos.y) * p->srcPtr.pitch + p->srcPos.x;
    return move(COPY, to, from, p->extent.width, p->extent.height, p->extent.depth, p->dstPtr.pitch, p->srcPtr.pitch, p->dstPtr.ysize,
                p->srcPtr.ysize, stream);
}

__device__ __noinline__ cudaError_t CDP2_MemsetAsync(void *to, int value, size_t count, cudaStream_t stream) {
    return move(FILL, (u64)to, value & 255, count, 1, 1, count, 0, 1, 0, stream);
}

__device__ __noinline__ cudaError_t CDP2_Memset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
    if (width > pitch) return failed(cudaErrorInvalidPitchValue);
    return move(FILL, (u64)to, value & 255, width, height, 1, pitch, 0, height, 0, stream);
}

__device__ __noinline__ cudaError_t CDP2_Memset3DAsync(cudaPitchedPtr to, int value, cudaExtent box, cudaStream_t stream) {
    return move(FILL, (u64)to.ptr, value & 255, box.width, box.height, box.depth, to.pitch, 0, to.ysize, 0, stream);
}

__device__ cudaError_t CDP2_StreamCreateWithFlags(cudaStream_t *out, unsigned) {
    *out = (cudaStream_t)(16 * (1 + atomicAdd(&__simtlab_device_queue.handles, 1ULL)));
    return cudaSuccess;
}

__device__ cudaError_t CDP2_EventCreateWithFlags(cudaEvent_t *out, unsigned) {
    *out = (cudaEvent_t)(16 * (1 + atomicAdd(&__simtlab_device_queue.handles, 1ULL)));
    return cudaSuccess;
}

__device__ cudaError_t CDP2_StreamDestroy(cudaStream_t stream) { return stream ? cudaSuccess : failed(cudaErrorInvalidResourceHandle); }
__device__ cudaError_t CDP2_EventDestroy(cudaEvent_t event) { return event ? cudaSuccess : failed(cudaErrorInvalidResourceHandle); }
__device__ cudaError_t CDP2_StreamWaitEvent(cudaStream_t, cudaEvent_t event, unsigned) { return CDP2_EventDestroy(event); }
__device__ cudaError_t CDP2_EventRecord(cudaEvent_t event, cudaStream_t) { return CDP2_EventDestroy(event); }
__device__ cudaError_t CDP2_EventRecordWithFlags(cudaEvent_t event, cudaStream_t, unsigned) { return CDP2_EventDestroy(event); }

// Memory of the device heap.
__device__ cudaError_t CDP2_Malloc(void **out, size_t size) {
    *out = malloc(size);
    return *out || !size ? cudaSuccess : failed(cudaErrorMemoryAllocation);
}

__device__ cudaError_t CDP2_Free(void *address) {
    free(address);
    return cudaSuccess;
}

__device__ cudaError_t CDP2_PeekAtLastError() { return (cudaError_t)__simtlab_device_queue.error; }
__device__ cudaError_t CDP2_GetLastError() { return (cudaError_t)atomicExch(&__simtlab_device_queue.error, 0); }

__device__ __noinline__ const char *CDP2_GetErrorName(cudaError_t error) {
    switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidPitchValue: return "cudaErrorInvalidPitchValue";
    case cudaErrorLaunchMaxDepthExceeded: return "cudaErrorLaunchMaxDepthExceeded";
    case cudaErrorLaunchPendingCountExceeded: return "cudaErrorLaunchPendingCountExceeded";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    default: return "unrecognized error code";
    }
}

__device__ const char *CDP2_GetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : CDP2_GetErrorName(error);
}

__device__ cudaError_t CDP2_DeviceGetAttribute(int *out, cudaDeviceAttr attribute, int device) {
    if (device) return failed(cudaErrorInvalidDevice);
    if ((unsigned)attribute >= ATTRIBUTES) return failed(cudaErrorInvalidValue);
    *out = __simtlab_device_queue.attributes[attribute];
    return cudaSuccess;
}

__device__ cudaError_t CDP2_GetDeviceCount(int *out) { *out = 1; return cudaSuccess; }
__device__ cudaError_t CDP2_GetDevice(int *out) { *out = 0; return cudaSuccess; }
__device__ cudaError_t CDP2_RuntimeGetVersion(int *out) { *out = __simtlab_device_queue.version; return cudaSuccess; }
__device__ cudaError_t CDP2_DeviceGetCacheConfig(cudaFuncCache *out) { *out = cudaFuncCachePreferNone; return cudaSuccess; }

// Each thread has a default stream of its own, which the order of the queue allows as well.
__device__ cudaError_t CDP2_LaunchDeviceV2_ptsz(void *p, cudaStream_t s) { return CDP2_LaunchDeviceV2(p, s); }
__device__ cudaError_t CDP2_LaunchDevice_ptsz(void *k, void *p, dim3 g, dim3 b, unsigned n, cudaStream_t s) { return CDP2_LaunchDevice(k, p, g, b, n, s); }
__device__ cudaError_t CDP2_MemcpyAsync_ptsz(void *t, const void *f, size_t n, cudaMemcpyKind k, cudaStream_t s) { return CDP2_MemcpyAsync(t, f, n, k, s); }
__device__ cudaError_t CDP2_Memcpy2DAsync_ptsz(void *t, size_t tp, const void *f, size_t fp, size_t w, size_t h, cudaMemcpyKind k, cudaStream_t s) { return CDP2_Memcpy2DAsync(t, tp, f, fp, w, h, k, s); }
__device__ cudaError_t CDP2_Memcpy3DAsync_ptsz(const cudaMemcpy3DParms *p, cudaStream_t s) { return CDP2_Memcpy3DAsync(p, s); }
__device__ cudaError_t CDP2_MemsetAsync_ptsz(void *t, int v, size_t n, cudaStream_t s) { return CDP2_MemsetAsync(t, v, n, s); }
__device__ cudaError_t CDP2_Memset2DAsync_ptsz(void *t, size_t p, int v, size_t w, size_t h, cudaStream_t s) { return CDP2_Memset2DAsync(t, p, v, w, h, s); }
__device__ cudaError_t CDP2_Memset3DAsync_ptsz(cudaPitchedPtr t, int v, cudaExtent b, cudaStream_t s) { return CDP2_Memset3DAsync(t, v, b, s); }
__device__ cudaError_t CDP2_StreamWaitEvent_ptsz(cudaStream_t s, cudaEvent_t e, unsigned f) { return CDP2_StreamWaitEvent(s, e, f); }
__device__ cudaError_t CDP2_EventRecord_ptsz(cudaEvent_t e, cudaStream_t s) { return CDP2_EventRecord(e, s); }
__device__ cudaError_t CDP2_EventRecordWithFlags_ptsz(cudaEvent_t e, cudaStream_t s, unsigned f) { return CDP2_EventRecordWithFlags(e, s, f); }
}
