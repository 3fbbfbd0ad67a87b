/* A program that profiles itself: records of kernels, copies, fills and calls, and a function that is told of calls. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the public interfaces say of the functions that are used here. */
extern int cuInit(unsigned flags);
extern int cuCtxCreate_v2(void **out, unsigned flags, int device);
extern int cuModuleLoadData(void **out, const void *image);
extern int cuModuleGetFunction(void **out, void *module, const char *name);
extern int cuMemAlloc_v2(uint64_t *out, size_t len);
extern int cuMemFree_v2(uint64_t address);
extern int cuMemGetInfo_v2(size_t *free_bytes, size_t *total);
extern int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t len);
extern int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t len);
extern int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count);
extern int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra);
extern int cuMemAllocHost_v2(void **out, size_t len);
extern int cuMemFreeHost(void *at);
extern int cuEventCreate(void **out, unsigned flags);
extern int cuEventRecord(void *event, void *stream);
extern int cuEventSynchronize(void *event);
extern int cuStreamCreate(void **out, unsigned flags);
extern int cuStreamCreateWithPriority(void **out, unsigned flags, int priority);
extern int cuStreamDestroy_v2(void *stream);
extern int cuMemPoolCreate(void **out, const void *properties);
extern int cuMemPoolSetAttribute(void *pool, int attribute, void *value);
extern int cuMemPoolTrimTo(void *pool, size_t keep);
extern int cuMemPoolDestroy(void *pool);
extern int cuDeviceGetAttribute(int *out, int attribute, int device);
extern int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
extern int cuStreamSynchronize(void *stream);
extern int cuCtxSynchronize(void);
extern void simtlab_within(const char *name);
extern int simtlab_arguments(const void *block);
extern int cuptiActivityRegisterCallbacks(void *request, void *complete);
extern int cuptiActivityRegisterTimestampCallback(void *function);
extern int cuptiActivityEnable(int kind);
extern int cuptiActivityDisable(int kind);
extern int cuptiActivityEnableDriverApi(uint32_t number, uint8_t enable);
extern int cuptiActivityFlushAll(uint32_t flags);
extern int cuptiActivityGetNextRecord(uint8_t *buffer, size_t used, uint8_t **record);
extern int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *out);
extern int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id);
extern int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last);
extern int cuptiActivitySetAttribute(int attribute, size_t *len, void *value);
extern int cuptiActivityGetAttribute(int attribute, size_t *len, void *value);
extern int cuptiSubscribe(uint64_t *out, void *function, void *data);
extern int cuptiUnsubscribe(uint64_t subscriber);
extern int cuptiEnableCallback(uint32_t enable, uint64_t subscriber, int domain, uint32_t number);
extern int cuptiEnableDomain(uint32_t enable, uint64_t subscriber, int domain);
extern int cuptiGetCallbackState(uint32_t *out, uint64_t subscriber, int domain, uint32_t number);
extern int cuptiGetCallbackName(int domain, uint32_t number, const char **out);
extern int cuptiGetResultString(int status, const char **out);
extern int cuptiGetTimestamp(uint64_t *out);
extern int cuptiGetVersion(uint32_t *out);
extern int cuptiEventGroupCreate(void);
extern int cuptiFinalize(void);

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, EXTERNAL = 39 };

static int failed;
#define CHECK(condition) \
  do { \
    if (!(condition)) failed = printf("line %d: %s\n", __LINE__, #condition); \
  } while (0)

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry scale(.param .u64 data) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<3>; .shared .b32 s[4];\n"
    "  ld.param.u64 %d0, [data];\n  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %d1, %r0, 4;\n  add.u64 %d0, %d0, %d1;\n"
    "  ld.global.u32 %r1, [%d0];\n  st.shared.u32 [s], %r1;\n  st.global.u32 [%d0], %r1;\n  ret;\n}\n";

/* Records, one after the other, and how often a buffer was asked for. */
static uint8_t records[1 << 16][200];
static int count, requests;
static size_t room = 1024;

static void request(uint8_t **buffer, size_t *size, size_t *most) {
  ++requests;
  *buffer = malloc(room);
  *size = room;
  *most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t used) {
  uint8_t *record = NULL;
  CHECK(size == room && used <= size);
  int status;
  while ((status = cuptiActivityGetNextRecord(buffer, used, &record)) == 0) {
    size_t left = used - (record - buffer);
    memcpy(records[count++], record, left < 200 ? left : 200);
  }
  CHECK(status == 12);
  record = buffer + used + 8;
  CHECK(cuptiActivityGetNextRecord(buffer, used, &record) == 1 && cuptiActivityGetNextRecord(buffer, used, NULL) == 1);
  free(buffer);
}

static uint32_t word(const uint8_t *record, int at) { uint32_t value; memcpy(&value, record + at, 4); return value; }
static uint64_t wide(const uint8_t *record, int at) { uint64_t value; memcpy(&value, record + at, 8); return value; }

/* The first record of a kind with a word at a place. */
static const uint8_t *find(uint32_t kind, int at, uint32_t value) {
  for (int i = 0; i < count; ++i)
    if (word(records[i], 0) == kind && word(records[i], at) == value) return records[i];
  failed = printf("no record of kind %u with %u at %d\n", kind, value, at);
  return records[count];
}

static uint64_t address;
static unsigned numbers[64];
static void *function;

static void launch_and_fill(void) {
  void *params[] = {&address};
  CHECK(cuLaunchKernel(function, 2, 3, 1, 32, 1, 1, 64, NULL, params, NULL) == 0);
  CHECK(cuMemsetD8_v2(address, 9, 48) == 0);
}

static void work(void) {
  static void *context, *module;
  if (!context) {
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0);
    CHECK(cuModuleLoadData(&module, PTX) == 0 && cuModuleGetFunction(&function, module, "scale") == 0);
  }
  CHECK(cuMemAlloc_v2(&address, 256) == 0);
  CHECK(cuMemcpyHtoD_v2(address, numbers, 256) == 0);
  CHECK(cuMemsetD8_v2(address, 7, 128) == 0);
  void *params[] = {&address};
  CHECK(cuLaunchKernel(function, 2, 3, 1, 32, 1, 1, 64, NULL, params, NULL) == 0);
  CHECK(cuMemcpyDtoH_v2(numbers, address, 200) == 0);
  CHECK(cuMemFree_v2(address) == 0);
  CHECK(cuMemFree_v2(8) == 1);
}

static void activities(void) {
  for (int kind = 1; kind <= 10; ++kind)
    if (kind == MEMCPY || kind == MEMSET || kind == DRIVER || kind == RUNTIME || kind == KERNEL) CHECK(cuptiActivityEnable(kind) == 0);
  CHECK(cuptiActivityEnable(EXTERNAL) == 0);
  CHECK(cuptiActivityPushExternalCorrelationId(3, 70) == 0 && cuptiActivityPushExternalCorrelationId(3, 77) == 0);
  work();
  uint64_t last = 0;
  CHECK(cuptiActivityPopExternalCorrelationId(3, &last) == 0 && last == 77);
  CHECK(cuptiActivityPopExternalCorrelationId(3, NULL) == 0 && cuptiActivityPopExternalCorrelationId(3, &last) == 18);
  /* A call of the runtime, which makes one of the driver. */
  simtlab_within("cudaMalloc");
  CHECK(cuMemAlloc_v2(&address, 64) == 0);
  simtlab_within(NULL);
  CHECK(requests >= 1 && cuptiActivityFlushAll(0) == 0 && requests > 1);

  /* A launch has the number of its call, which takes longer, and what the client was doing. */
  const uint8_t *launch = find(DRIVER, 4, 307);
  uint32_t correlation = word(launch, 32);
  const uint8_t *kernel = find(KERNEL, 92, correlation);
  CHECK(strcmp((const char *)(uintptr_t)wide(kernel, 104), "scale") == 0);
  uint32_t shape[] = {2, 3, 1, 32, 1, 1, 16, 64};
  CHECK(memcmp(kernel + 52, shape, sizeof shape) == 0);
  CHECK(word(kernel, 40) == 0 && word(kernel, 44) == 1 && word(kernel, 48) == 7);
  CHECK(wide(launch, 8) <= wide(kernel, 16) && wide(kernel, 16) < wide(kernel, 24) && wide(kernel, 24) <= wide(launch, 16));
  CHECK(wide(find(EXTERNAL, 16, correlation), 8) == 77);

  /* From pageable memory to the device, and back. */
  uint32_t in = word(find(DRIVER, 4, 276), 32), out = word(find(DRIVER, 4, 278), 32);
  const uint8_t *copy = find(MEMCPY, 44, in), *back = find(MEMCPY, 44, out);
  CHECK(copy[4] == 1 && copy[5] == 1 && copy[6] == 3 && wide(copy, 8) == 256);
  CHECK(back[4] == 2 && back[5] == 3 && back[6] == 1 && wide(back, 8) == 200);
  const uint8_t *set = find(MEMSET, 4, 7);
  CHECK(wide(set, 8) == 128 && wide(set, 16) <= wide(set, 24));
  /* What a call returned. */
  int failures = 0, runtimes = 0, allocations = 0;
  for (int i = 0; i < count; ++i) {
    failures += word(records[i], 0) == DRIVER && word(records[i], 36) == 1;
    runtimes += word(records[i], 0) == RUNTIME && word(records[i], 4) == 20;
    allocations += word(records[i], 0) == DRIVER && word(records[i], 4) == 243;
  }
  CHECK(failures == 1 && runtimes == 1 && allocations == 1);

  /* Functions that are not wanted, kinds that are off. */
  count = 0;
  CHECK(cuptiActivityEnableDriverApi(243, 0) == 0 && cuptiActivityDisable(KERNEL) == 0);
  work();
  CHECK(cuptiActivityFlushAll(1) == 0 && count > 0);
  for (int i = 0; i < count; ++i) {
    CHECK(word(records[i], 0) != KERNEL);
    CHECK(word(records[i], 0) != DRIVER || word(records[i], 4) != 243);
  }
  /* A buffer that is too small for any record. */
  room = 16;
  size_t dropped = 0;
  count = 0;
  CHECK(cuMemAlloc_v2(&address, 64) == 0 && cuMemFree_v2(address) == 0);
  CHECK(cuptiActivityFlushAll(0) == 0 && count == 0);
  CHECK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) == 0 && dropped == 1);
  room = 1024;
}

/* The client's clock. */
static uint64_t ticks;
static uint64_t tick(void) { return ++ticks; }

static void clocks(void) {
  uint64_t before = 0, after = 0;
  CHECK(cuptiGetTimestamp(&before) == 0 && cuptiGetTimestamp(&after) == 0 && before > 1000000000ull * 1000000000 && before <= after);
  CHECK(cuptiActivityRegisterTimestampCallback(NULL) == 1 && cuptiActivityRegisterTimestampCallback(tick) == 0);
  count = 0;
  CHECK(cuMemGetInfo_v2(NULL, NULL) == 0 && cuptiActivityFlushAll(0) == 0 && count >= 1);
  CHECK(wide(records[0], 8) > 0 && wide(records[0], 8) < wide(records[0], 16) && wide(records[0], 16) <= ticks);
}

/* Waits, records of events, memory and the context. */
static void operations(void) {
  enum { CONTEXT = 9, EVENT = 36, SYNCHRONIZATION = 38, MEMORY = 49 };
  void *stream, *first, *event, *host;
  room = 1 << 16;
  CHECK(cuStreamCreate(&stream, 1) == 0 && cuEventCreate(&first, 0) == 0 && cuEventCreate(&event, 0) == 0);
  for (int kind = 1; kind <= 50; ++kind)
    if (kind == CONTEXT || kind == EVENT || kind == SYNCHRONIZATION || kind == MEMORY) CHECK(cuptiActivityEnable(kind) == 0);
  count = 0;
  CHECK(cuEventRecord(first, NULL) == 0 && cuEventRecord(event, stream) == 0 && cuEventRecord(event, stream) == 0);
  CHECK(cuStreamWaitEvent(stream, event, 0) == 0 && cuEventSynchronize(event) == 0 && cuStreamSynchronize(stream) == 0);
  CHECK(cuCtxSynchronize() == 0 && cuEventSynchronize((void *)8) != 0);
  CHECK(cuMemAlloc_v2(&address, 96) == 0 && cuMemAllocHost_v2(&host, 160) == 0);
  uint64_t device = address;
  CHECK(cuMemFree_v2(address) == 0 && cuMemFreeHost(host) == 0 && cuptiActivityFlushAll(0) == 0);

  const uint8_t *context = find(CONTEXT, 8, 0);
  uint32_t number = word(context, 4);
  CHECK(number > 0 && context[12] == 1 && context[14] == 7);
  const uint8_t *events[3];
  int seen = 0;
  for (int i = 0; i < count; ++i)
    if (word(records[i], 0) == EVENT && seen < 3) events[seen++] = records[i];
  CHECK(seen == 3 && word(events[0], 12) == 7 && word(events[1], 12) == word(events[2], 12) && word(events[1], 12) != 7);
  CHECK(word(events[0], 16) != word(events[1], 16) && word(events[1], 16) == word(events[2], 16) && word(events[1], 8) == number);
  CHECK(wide(events[0], 48) < wide(events[1], 48) && wide(events[1], 48) < wide(events[2], 48));
  /* What is waited for is the last record of the event. */
  const uint8_t *wait = find(SYNCHRONIZATION, 4, 2), *on_event = find(SYNCHRONIZATION, 4, 1);
  CHECK(word(wait, 32) == word(events[1], 12) && word(wait, 36) == word(events[1], 16) && wide(wait, 40) == wide(events[2], 48));
  CHECK(word(on_event, 32) == 0xffffffff && word(on_event, 36) == word(events[1], 16) && wide(on_event, 40) == wide(events[2], 48));
  const uint8_t *on_stream = find(SYNCHRONIZATION, 4, 3), *on_context = find(SYNCHRONIZATION, 4, 4);
  CHECK(word(on_stream, 32) == word(events[1], 12) && word(on_stream, 36) == 0xffffffff && wide(on_stream, 8) <= wide(on_stream, 16));
  CHECK(word(on_context, 28) == number && word(on_context, 32) == 0xffffffff && word(on_context, 48) == 0);
  /* One that fails has its status. */
  int waits = 0, failures = 0;
  for (int i = 0; i < count; ++i)
    if (word(records[i], 0) == SYNCHRONIZATION) ++waits, failures += word(records[i], 48) != 0;
  CHECK(waits == 5 && failures == 1);
  uint64_t told[4][3] = {{1, device, 96}, {1, (uint64_t)host, 160}, {2, device, 96}, {2, (uint64_t)host, 160}};
  int done = 0;
  for (int i = 0; i < count; ++i)
    if (word(records[i], 0) == MEMORY && done < 4) {
      CHECK(word(records[i], 4) == told[done][0] && wide(records[i], 16) == told[done][1] && wide(records[i], 24) == told[done][2]);
      CHECK(word(records[i], 8) == (done % 2 ? 2u : 3u) && word(records[i], 56) == number && word(records[i], 60) == 0);
      ++done;
    }
  CHECK(done == 4);
  room = 1024;
}

/* Devices, streams and pools, at the offsets of cupti_activity.h. */
static void objects(void) {
  enum { DEVICE = 8, STREAM = 37, POOL = 50 };
  CHECK(cuptiActivityEnable(DEVICE) == 0 && cuptiActivityEnable(STREAM) == 0 && cuptiActivityEnable(POOL) == 0);
  room = 1 << 16;
  count = 0;
  void *plain, *other, *pool;
  CHECK(cuStreamCreate(&plain, 1) == 0 && cuStreamCreateWithPriority(&other, 0, -3) == 0);
  CHECK(cuStreamCreate(NULL, 0) != 0);
  uint32_t properties[22] = {1, 0, 1, 0};
  uint64_t threshold = 4096;
  CHECK(cuMemPoolCreate(&pool, properties) == 0 && cuMemPoolSetAttribute(pool, 4, &threshold) == 0);
  CHECK(cuMemPoolTrimTo(pool, 512) == 0 && cuMemPoolDestroy(pool) == 0);
  CHECK(cuStreamDestroy_v2(plain) == 0 && cuStreamDestroy_v2(other) == 0 && cuptiActivityFlushAll(0) == 0);

  /* Each device once, as its attributes are, with calls of which there is no record. */
  const uint8_t *device = find(DEVICE, 112, 0);
  int wanted[] = {9, 38, 10, 13, 40, 16}, value = 0;
  for (int i = 0; i < 6; ++i) CHECK(cuDeviceGetAttribute(&value, wanted[i], 0) == 0 && word(device, 24 + 4 * i) == (uint32_t)value);
  CHECK(wide(device, 16) > 0 && wide(device, 8) > 0 && word(device, 52) * 32 == 2048 && word(device, 104) >= 5);
  char *name = (char *)(uintptr_t)wide(device, 136);
  CHECK(memcmp(device + 120, "simtlab-device-0", 16) == 0 && strncmp(name, "Simtlab virtual device", 22) == 0);
  CHECK(device[144] == 1 && word(device, 152) == 0xffffffff);
  free(name);
  int devices = 0, asked = 0, streams = 0, pools = 0;
  uint64_t told[3][3] = {{1, 0, 0}, {3, 512, 4096}, {2, 0, 0}};
  for (int i = 0; i < count; ++i) {
    devices += word(records[i], 0) == DEVICE;
    asked += word(records[i], 0) == DRIVER && word(records[i], 4) == 5;
    if (word(records[i], 0) == STREAM) {
      CHECK(word(records[i], 4) == 1 && word(records[i], 8) > 7);
      CHECK(word(records[i], 16) == (streams ? 1u : 2u) && word(records[i], 12) == (streams ? (uint32_t)-3 : 0));
      ++streams;
    }
    if (word(records[i], 0) == POOL && pools < 3) {
      CHECK(word(records[i], 4) == told[pools][0] && word(records[i], 8) == 1 && wide(records[i], 24) == told[pools][1]);
      CHECK(wide(records[i], 32) == (uint64_t)(uintptr_t)pool && wide(records[i], 48) == told[pools][2]);
      ++pools;
    }
  }
  CHECK(devices == 1 && asked == 0 && streams == 2 && pools == 3);
  CHECK(cuptiActivityFlushAll(0) == 0);
  room = 1024;
}

struct told { int site; const char *function; const void *params; const int *status; const char *symbol; void *context; uint32_t uid;
              uint64_t *data; uint32_t correlation; };
static int enters, exits, fails;

/* The arguments of calls, in the structures that generated_cuda_meta.h declares for them. */
struct mem_alloc { uint64_t *out; size_t len; };
struct mem_free { uint64_t address; };
struct memset8 { uint64_t to; unsigned char value; size_t count; };
struct launch { void *function; unsigned grid[3], block[3], shared; void *stream; void **params, **extra; };
struct { void **out; size_t len; } runtime_arguments;

static void check_arguments(int domain, uint32_t number, const void *params) {
  if (domain == 2) {
    CHECK(params == NULL || params == &runtime_arguments);
  } else if (number == 243) {
    const struct mem_alloc *p = params;
    CHECK(p->out == &address && p->len == 64);
  } else if (number == 245) {
    const struct mem_free *p = params;
    CHECK(p->address == 8 || p->address == address);
  } else if (number == 249) {
    const struct memset8 *p = params;
    CHECK(p->to == address && p->value == 9 && p->count == 48);
  } else if (number == 307) {
    const struct launch *p = params;
    unsigned shape[] = {2, 3, 1, 32, 1, 1, 64};
    CHECK(memcmp(p->grid, shape, sizeof shape) == 0 && p->stream == NULL && *(uint64_t *)p->params[0] == address && p->extra == NULL);
  } else {
    CHECK(params != NULL);
  }
}

static void called(void *data, int domain, uint32_t number, const struct told *told) {
  CHECK(data == &enters && told->correlation != 0);
  check_arguments(domain, number, told->params);
  if (told->site == 0) {
    ++enters;
    CHECK(*told->data == 0 && told->status == NULL);
    *told->data = told->correlation;
    /* Calls of this function are not told. */
    CHECK(cuMemGetInfo_v2(NULL, NULL) == 0);
  } else {
    ++exits;
    CHECK(*told->data == told->correlation);
    fails += *told->status != 0;
  }
  CHECK(domain == 2 ? number == 20 && strcmp(told->function, "cudaMalloc") == 0 : domain == 1);
}

static void callbacks(void) {
  uint64_t subscriber = 0, other = 0;
  uint32_t enabled = 7;
  CHECK(cuptiSubscribe(&subscriber, NULL, NULL) == 1 && cuptiSubscribe(NULL, called, &enters) == 1);
  CHECK(cuptiSubscribe(&subscriber, called, &enters) == 0 && cuptiSubscribe(&other, called, &enters) == 39);
  CHECK(cuMemGetInfo_v2(NULL, NULL) == 0 && enters == 0);
  CHECK(cuptiEnableCallback(1, subscriber, 1, 243) == 0 && cuptiEnableCallback(1, subscriber + 1, 1, 243) == 1);
  CHECK(cuptiEnableCallback(1, subscriber, 9, 243) == 1 && cuptiEnableDomain(1, subscriber, 0) == 1);
  CHECK(cuMemAlloc_v2(&address, 64) == 0 && cuMemFree_v2(address) == 0 && enters == 1 && exits == 1);
  CHECK(cuptiEnableDomain(1, subscriber, 1) == 0 && cuptiGetCallbackState(&enabled, subscriber, 1, 244) == 0 && enabled == 1);
  CHECK(cuMemAlloc_v2(&address, 64) == 0 && cuMemFree_v2(address) == 0 && enters == 3 && exits == 3 && fails == 0);
  CHECK(cuMemFree_v2(8) == 1 && fails == 1);
  CHECK(cuptiEnableDomain(0, subscriber, 1) == 0 && cuMemAlloc_v2(&address, 128) == 0 && cuptiEnableDomain(1, subscriber, 1) == 0);
  int before = enters;
  launch_and_fill();
  CHECK(enters == before + 2 && exits == enters);
  enters = exits = 4;
  CHECK(cuptiEnableDomain(0, subscriber, 1) == 0 && cuptiEnableDomain(1, subscriber, 2) == 0);
  simtlab_within("cudaMalloc");
  CHECK(cuMemGetInfo_v2(NULL, NULL) == 0);
  simtlab_within(NULL);
  CHECK(enters == 5 && exits == 5);
  CHECK(simtlab_arguments(&runtime_arguments) == 1);
  simtlab_within("cudaMalloc");
  simtlab_within(NULL);
  CHECK(enters == 6 && exits == 6);
  CHECK(cuptiUnsubscribe(other) == 1 && cuptiUnsubscribe(subscriber) == 0 && cuptiUnsubscribe(subscriber) == 1);
}

int main(void) {
  const char *text = NULL;
  uint32_t version = 0;
  CHECK(cuptiGetVersion(&version) == 0 && version > 20 && cuptiGetVersion(NULL) == 1);
  CHECK(cuptiGetResultString(12, &text) == 0 && strcmp(text, "CUPTI_ERROR_MAX_LIMIT_REACHED") == 0 && cuptiGetResultString(-4, &text) == 1);
  CHECK(cuptiGetCallbackName(2, 211, &text) == 0 && strcmp(text, "cudaLaunchKernel_v7000") == 0);
  CHECK(cuptiGetCallbackName(1, 100000, &text) == 1 && cuptiGetCallbackName(0, 1, &text) == 1 && cuptiGetCallbackName(2, 211, NULL) == 1);
  CHECK(cuptiActivityFlushAll(0) == 7 && cuptiActivityRegisterCallbacks(NULL, complete) == 1);
  CHECK(cuptiActivityRegisterCallbacks(request, complete) == 0 && cuptiActivityFlushAll(0) == 0);
  CHECK(cuptiActivityEnable(0) == 21 && cuptiActivityEnable(58) == 21 && cuptiActivityEnable(-1) == 21 && cuptiActivityDisable(60) == 21);
  CHECK(cuptiActivityPushExternalCorrelationId(0, 1) == 1 && cuptiActivityPushExternalCorrelationId(6, 1) == 1);
  CHECK(cuptiEventGroupCreate() == 27);
  size_t len = 8, value = 4096, got = 0;
  CHECK(cuptiActivitySetAttribute(0, &len, &value) == 0 && cuptiActivityGetAttribute(0, &len, &got) == 0 && got == 4096);
  CHECK(cuptiActivitySetAttribute(-1, &len, &value) == 1 && cuptiActivitySetAttribute(0, NULL, &value) == 1);
  len = 4;
  CHECK(cuptiActivityGetAttribute(0, &len, &got) == 10 && cuptiActivityGetAttribute(2, &len, &got) == 1);
  activities();
  operations();
  objects();
  clocks();
  CHECK(cuptiFinalize() == 0);
  count = 0;
  work();
  CHECK(cuptiActivityFlushAll(0) == 7 && count == 0);
  callbacks();
  if (!failed) printf("all checks passed\n");
  return failed != 0;
}
