/* The runtime as a program sees it that a compiler has made, and as a careless one does. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct { unsigned x, y, z; } dim3;
struct extent { size_t width, height, depth; };

/* What the public interface says of the functions that are used here. */
extern int cudaMalloc(void **out, size_t len);
extern int cudaFree(void *address);
extern int cudaMemcpy(void *to, const void *from, size_t len, int kind);
extern int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t len, size_t offset, int kind);
extern int cudaGetLastError(void);
extern int cudaDeviceSynchronize(void);
extern int cudaDeviceReset(void);
extern int cudaGetDeviceCount(int *out);
extern const char *cudaGetErrorName(int error);
extern int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared, void *stream);
extern int cudaRuntimeGetVersion(int *out);
extern int cudaFuncSetAttribute(const void *function, int attribute, int value);
extern int cudaFuncGetAttributes(void *out, const void *function);
extern int cudaPointerGetAttributes(void *out, const void *address);
extern int cudaMallocArray(void **out, const void *format, size_t width, size_t height, unsigned flags);
extern int cudaFreeArray(void *array);
extern int cudaGetChannelDesc(void *out, void *array);
extern int cudaArrayGetInfo(void *format, void *extent, unsigned *flags, void *array);
extern int cudaMemcpy2DToArray(void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, int kind);
extern int cudaMemcpy3DPeer(const void *params);
extern int cudaMemcpyFromArray(void *to, void *array, size_t x, size_t y, size_t len, int kind);
extern int cudaCreateTextureObject(uint64_t *out, const void *resource, const void *texture, const void *view);
extern int cudaDestroyTextureObject(uint64_t object);
extern int cudaGetTextureObjectResourceDesc(void *out, uint64_t object);
extern int cudaGetTextureObjectTextureDesc(void *out, uint64_t object);
extern int cudaCreateSurfaceObject(uint64_t *out, const void *resource);
extern int cudaImportExternalMemory(void);
extern void **__cudaRegisterFatBinary(void *binary);
extern void __cudaRegisterFatBinaryEnd(void **binary);
extern void __cudaUnregisterFatBinary(void **binary);
extern void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int threads, void *thread, void *block,
                                   void *block_size, void *grid_size, int *warp_size);
extern void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int external, size_t size, int constant, int global);
extern void __cudaRegisterManagedVar(void **binary, void **pointer, char *device, const char *name, int external, size_t size, int constant, int global);
extern void __cudaInitModule(void **binary);
extern int cudaGetSymbolAddress(void **out, const void *symbol);
extern int cudaMemGetInfo(size_t *free_bytes, size_t *total);
extern int cudaMalloc3D(void *out, struct extent extent);
extern unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
extern int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

static int failed;

static void check(int holds, const char *what, int line) {
  if (!holds) {
    failed = 1;
    printf("line %d: %s\n", line, what);
  }
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .const .align 4 .u32 factor = 2;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 both = 5;\n"
    ".visible .entry scale(.param .u64 data) {\n"
    "  .reg .b32 %r<4>; .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d0, [data];\n"
    "  mov.u32 %r0, %tid.x;\n"
    "  mul.wide.u32 %d1, %r0, 4;\n"
    "  add.u64 %d0, %d0, %d1;\n"
    "  ld.global.u32 %r1, [%d0];\n"
    "  ld.const.u32 %r2, [factor];\n"
    "  mul.lo.u32 %r1, %r1, %r2;\n"
    "  st.global.u32 [%d0], %r1;\n"
    "  ret;\n"
    "}\n";

enum { TO_DEVICE = 1, TO_HOST = 2, N = 64 };

static char scale_here, factor_here, missing_here, garbage_here;

struct wrapper { int magic, version; const void *data; void *unused; };

/* A fat binary of one entry with PTX. */
static void *fat_binary(void) {
  size_t text = sizeof PTX, size = 16 + 64 + text;
  unsigned char *fat = calloc(1, size);
  uint64_t rest = 64 + text;
  memcpy(fat, "\x50\xed\x55\xba\x01\x00\x10\x00", 8);
  memcpy(fat + 8, &rest, 8);
  fat[16] = 1;
  fat[20] = 64;
  memcpy(fat + 24, &(uint64_t){text}, 8);
  fat[16 + 28] = 70;
  memcpy(fat + 80, PTX, text);
  return fat;
}

static void launches(void) {
  unsigned host[N], factor = 5;
  void *data = NULL;
  for (int i = 0; i < N; ++i) host[i] = i;
  CHECK(cudaMalloc(&data, sizeof host) == 0);
  CHECK(cudaMemcpy(data, host, sizeof host, TO_DEVICE) == 0);
  void *args[] = {&data};
  CHECK(cudaMemcpyToSymbol(&factor_here, &factor, sizeof factor, 0, TO_DEVICE) == 0);
  CHECK(cudaLaunchKernel(&scale_here, (dim3){1, 1, 1}, (dim3){N, 1, 1}, args, 0, NULL) == 0);
  CHECK(cudaLaunchKernel(&scale_here, (dim3){1, 1, 1}, (dim3){N, 1, 1}, args, 0, NULL) == 0);
  CHECK(cudaMemcpy(host, data, sizeof host, TO_HOST) == 0);
  int same = 1;
  for (int i = 0; i < N; ++i) same &= host[i] == (unsigned)i * factor * factor;
  CHECK(same);
  CHECK(cudaFree(data) == 0);
  CHECK(cudaFree(data) == 1);
  CHECK(cudaGetLastError() == 1);
  /* Parameters that cannot be read. */
  CHECK(cudaLaunchKernel(&scale_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, (void **)8, 0, NULL) == 1);
  CHECK(cudaLaunchKernel(&scale_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) == 1);
  CHECK(cudaGetLastError() == 1 && cudaGetLastError() == 0);
}

static void configurations(void) {
  dim3 grid, block;
  size_t shared;
  void *stream;
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 52);
  CHECK(__cudaPushCallConfiguration((dim3){1, 2, 3}, (dim3){4, 5, 6}, 7, NULL) == 0);
  CHECK(__cudaPushCallConfiguration((dim3){9, 9, 9}, (dim3){9, 9, 9}, 9, NULL) == 0);
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0 && shared == 9);
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0);
  CHECK(grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 4 && block.y == 5 && block.z == 6 && shared == 7);
  CHECK(cudaGetLastError() == 52);
}

/* Images that are none, by addresses that are none. */
static void garbage(void) {
  unsigned char bad[256];
  unsigned state = 1;
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < sizeof bad; ++i) bad[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 16);
    memcpy(bad, "\x50\xed\x55\xba\x01\x00\x10\x00", 8);
    if (round % 2) memset(bad + 10, 0, 6);
    if (round % 3) memcpy(bad + 16, "\x01\x00\x01\x01\x40\x00\x00\x00", 8);
    struct wrapper w = {0x466243b1, 1, round % 5 ? (void *)bad : (void *)(uintptr_t)(round * 977), NULL};
    void *image = round % 7 ? (void *)&w : (void *)(uintptr_t)round;
    void **binary = __cudaRegisterFatBinary(image);
    __cudaRegisterFunction(binary, &garbage_here, NULL, "scale", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(binary, &garbage_here, NULL, (char *)8, -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(binary);
    CHECK(cudaLaunchKernel(&garbage_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) != 0);
    __cudaUnregisterFatBinary(binary);
    __cudaUnregisterFatBinary(binary);
  }
  CHECK(cudaLaunchKernel(&garbage_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) == 98);
  CHECK(cudaLaunchKernel(&missing_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) == 98);
  CHECK(cudaLaunchKernel(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) == 98);
  CHECK(cudaGetLastError() == 98);
}

static uint32_t *managed;

/* A managed variable is a symbol by its address, too, until the device is reset. */
static void managed_variables(void **binary) {
  void *at = NULL;
  __cudaInitModule(binary);
  uint32_t *before = managed;
  CHECK(before && *before == 5);
  CHECK(cudaGetSymbolAddress(&at, before) == 0 && at == before);
  CHECK(cudaDeviceReset() == 0);
  CHECK(cudaGetSymbolAddress(&at, before) == 13 && cudaGetLastError() == 13);
  __cudaInitModule(binary);
  CHECK(managed && *managed == 5);
  CHECK(cudaGetSymbolAddress(&at, managed) == 0 && at == managed);
}

/* Memory whose address the caller does not get is free again. */
static void results_that_cannot_be_written(void) {
  size_t before = 0, after = 0;
  struct extent extent = {1 << 16, 16, 2};
  CHECK(cudaMemGetInfo(&before, NULL) == 0 || cudaGetLastError());
  for (int i = 0; i < 3; ++i) CHECK(cudaMalloc3D((void *)8, extent) == 1 && cudaGetLastError() == 1);
  CHECK(cudaMemGetInfo(&after, NULL) == 0 || cudaGetLastError());
  CHECK(before && before == after);
}

static void *thread(void *unused) {
  (void)unused;
  CHECK(cudaGetLastError() == 0);
  for (int i = 0; i < 20; ++i) {
    launches();
    configurations();
  }
  return NULL;
}

/* Arrays and textures: what is written is read, and wrong descriptions have errors of their own. */
static void arrays(void) {
  int format[5] = {32, 0, 0, 0, 1}, three[5] = {32, 32, 32, 0, 1}, found[5] = {0};
  void *array = NULL;
  CHECK(cudaMallocArray(&array, NULL, 4, 2, 0) == 1 && cudaMallocArray(&array, three, 4, 2, 0) == 20);
  CHECK(cudaMallocArray(&array, format, 4, 2, 1) == 1 && cudaMallocArray(&array, format, 4, 2, 0) == 0);
  unsigned in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0}, flags = 7;
  CHECK(cudaMemcpy2DToArray(array, 0, 0, in, 16, 16, 2, TO_DEVICE) == 0);
  CHECK(cudaMemcpy2DToArray(array, 4, 0, in, 16, 16, 2, TO_DEVICE) == 1);
  CHECK(cudaMemcpyFromArray(out, array, 4, 0, 28, TO_HOST) == 0 && memcmp(out, in + 1, 28) == 0);
  CHECK(cudaMemcpyFromArray(out, array, 4, 1, 16, TO_HOST) == 1);
  /* Between devices: the array, the position and the address there and here, each with its device, and the extent. */
  unsigned *line = NULL;
  CHECK(cudaMalloc((void **)&line, 64) == 0);
  uint64_t peers[21] = {(uintptr_t)array, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uintptr_t)line, 64, 64, 1, 0, 3, 1, 1};
  CHECK(cudaMemcpy3DPeer(peers) == 0 && cudaMemcpy(out, line, 12, TO_HOST) == 0 && memcmp(out, in + 5, 12) == 0);
  peers[17] = 9;
  CHECK(cudaMemcpy3DPeer(peers) == 101 && cudaGetLastError() == 101 && cudaMemcpy3DPeer(NULL) == 1 && cudaFree(line) == 0);
  uint64_t extent[3] = {0}, object = 0;
  CHECK(cudaGetChannelDesc(found, array) == 0 && memcmp(found, format, sizeof format) == 0);
  CHECK(cudaArrayGetInfo(NULL, extent, &flags, array) == 0 && extent[0] == 4 && extent[1] == 2 && extent[2] == 0 && flags == 0);
  uint64_t resource[18] = {0, (uintptr_t)array}, resource_again[18] = {0};
  int texture[18] = {1, 1, 1}, texture_again[18] = {0};
  CHECK(cudaCreateTextureObject(&object, resource, texture, NULL) == 0 && object != 0);
  CHECK(cudaGetTextureObjectResourceDesc(resource_again, object) == 0 && resource_again[1] == (uintptr_t)array);
  CHECK(cudaGetTextureObjectTextureDesc(texture_again, object) == 0 && memcmp(texture_again, texture, sizeof texture) == 0);
  CHECK(cudaDestroyTextureObject(object) == 0 && cudaDestroyTextureObject(object) == 1 && cudaDestroyTextureObject(0) == 0);
  texture[4] = 2;
  CHECK(cudaCreateTextureObject(&object, resource, texture, NULL) == 1 && cudaCreateTextureObject(&object, NULL, texture, NULL) == 1);
  CHECK(cudaCreateSurfaceObject(&object, resource) == 1);
  CHECK(cudaFreeArray(array) == 0 && cudaFreeArray(array) == 400 && cudaFreeArray(NULL) == 0);
  CHECK(cudaGetLastError() == 400);
}

/* Destructors of a C++ program run when the variables of its thread are destroyed. */
static void at_exit(void) {
  launches();
  configurations();
  if (!failed) printf("all checks passed\n");
}

/* What the driver tells a profiling tool: calls of this library with their arguments, and none that they make. */
static int told, is_inside;
static void *expected;

static uint64_t listener(const void *event) {
  uint32_t what = *(const uint32_t *)event;
  const void *arguments = *(void *const *)((const char *)event + 24);
  const char *name = *(const char *const *)((const char *)event + 8);
  CHECK(what != 1 && what != 3);
  if (what == 4) is_inside = 0;
  if (what == 2) {
    ++told;
    is_inside = 1;
    if (strncmp(name, "cudaMalloc", 10) == 0) {
      const struct { void **out; size_t len; } *p = arguments;
      CHECK(p->out == &expected && p->len == 96);
    } else if (strncmp(name, "cudaFree", 8) == 0) {
      CHECK(*(void *const *)arguments == expected);
    } else {
      CHECK(arguments == NULL);
    }
  }
  return 1;
}

static void told_calls(void *driver) {
  int (*listen)(void *) = (int (*)(void *))dlsym(driver, "simtlab_listen");
  CHECK(listen && listen(listener) == 0);
  CHECK(cudaMalloc(&expected, 96) == 0 && cudaDeviceSynchronize() == 0 && cudaFree(expected) == 0);
  CHECK(listen(NULL) == 0 && told == 3 && !is_inside);
}

/* The runtime numbers the mode of shared memory otherwise than the driver: 16 in driver_types.h, at byte 80 of the attributes. */
static void modes_of_shared_memory(void) {
  uint32_t attributes[36] = {0};
  CHECK(cudaFuncSetAttribute(&scale_here, 16, 3) == 0);
  CHECK(cudaFuncGetAttributes(attributes, &scale_here) == 0 && attributes[20] == 3 && attributes[19] == 0);
  /* The text is for sm_70. */
  CHECK(attributes[8] == 70);
  CHECK(cudaFuncSetAttribute(&scale_here, 16, 5) == 1 && cudaGetLastError() == 1);
  CHECK(cudaFuncSetAttribute(&scale_here, 16, 0) == 0);
}

int main(int argc, char **argv) {
  struct wrapper w = {0x466243b1, 1, fat_binary(), NULL};
  void **binary = __cudaRegisterFatBinary(&w);
  __cudaRegisterFunction(binary, &scale_here, NULL, "scale", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterFunction(binary, &missing_here, NULL, "not there", -1, NULL, NULL, NULL, NULL, NULL);
  __cudaRegisterVar(binary, &factor_here, NULL, "factor", 0, 4, 1, 0);
  __cudaRegisterManagedVar(binary, (void **)&managed, NULL, "both", 0, 4, 0, 0);
  __cudaRegisterFatBinaryEnd(binary);

  if (argc == 2 && strcmp(argv[1], "at-exit") == 0) {
    launches();
    configurations();
    return atexit(at_exit) || failed;
  }

  int version = 0, devices = 0;
  CHECK(cudaRuntimeGetVersion(&version) == 0 && version / 1000 == VERSION);
  CHECK(cudaGetDeviceCount(&devices) == 0 && devices > 0);
  CHECK(cudaGetDeviceCount(NULL) == 1 && cudaGetLastError() == 1);
  launches();
  /* After a reset all is as at first. */
  CHECK(cudaDeviceReset() == 0);
  launches();
  managed_variables(binary);
  results_that_cannot_be_written();
  configurations();
  modes_of_shared_memory();
  garbage();
  arrays();
  CHECK(cudaImportExternalMemory() == 801 && cudaGetLastError() == 801);
  CHECK(strcmp(cudaGetErrorName(801), "cudaErrorNotSupported") == 0);
  uint64_t attributes[4];
  CHECK(cudaPointerGetAttributes(attributes, &version) == 0 && (uint32_t)attributes[0] == 0);
  CHECK(cudaPointerGetAttributes((void *)8, &version) == 1 && cudaGetLastError() == 1);
  /* The driver says the same of memory: it is one library for both. */
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  CHECK(driver != NULL);
  told_calls(driver);
  void *data = NULL;
  CHECK(cudaMalloc(&data, 64) == 0);
  int (*free_memory)(uint64_t) = (int (*)(uint64_t))dlsym(driver, "cuMemFree_v2");
  CHECK(free_memory && free_memory((uintptr_t)data) == 0);
  CHECK(cudaFree(data) == 1 && cudaGetLastError() == 1);

  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) CHECK(pthread_create(&threads[i], NULL, thread, NULL) == 0);
  for (int i = 0; i < 6; ++i) CHECK(pthread_join(threads[i], NULL) == 0);

  /* A child of fork has no device. */
  pid_t child = fork();
  if (child == 0) _exit(cudaMalloc(&data, 64) == 3 && cudaDeviceSynchronize() == 3 ? 0 : 1);
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  /* A fault, after which nothing else works: it is told with the calls that the program made. */
  CHECK(cudaMalloc(&data, 100) == 0 && cudaFree(data) == 0);
  void *args[] = {&data};
  CHECK(cudaLaunchKernel(&scale_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL) == 0);
  CHECK(cudaDeviceSynchronize() == 700);
  __cudaUnregisterFatBinary(binary);
  CHECK(cudaLaunchKernel(&scale_here, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL) == 98);
  if (!failed) printf("all checks passed\n");
  return failed;
}
