/* Libraries beside each other that do not belong together.
     mixed both LIBRARY LIBRARY    runtimes of two versions in one process, on one driver: what one has made the other can use
     mixed old LIBRARY NAMES       a runtime on a driver that lacks its functions: every function returns an error */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

static void check(int holds, const char *what, int line) {
  if (!holds) {
    failed = 1;
    printf("line %d: %s\n", line, what);
  }
}
#define CHECK(condition) check((condition), #condition, __LINE__)

typedef uint64_t word;
typedef int (*function)(word, word, word, word, word, word, word, word, word, word);

static void *open_library(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("%s\n", dlerror());
    exit(1);
  }
  return library;
}

static function named(void *library, const char *name) {
  function found;
  *(void **)&found = dlsym(library, name);
  if (!found) {
    printf("there is no %s\n", name);
    exit(1);
  }
  return found;
}

#define CALL(library, name, a, b, c, d) named(library, name)((word)(a), (word)(b), (word)(c), (word)(d), 0, 0, 0, 0, 0, 0)

static void both(void *one, void *two) {
  int version[2] = {0, 0}, out = 0;
  CHECK(CALL(one, "cudaRuntimeGetVersion", &version[0], 0, 0, 0) == 0 && CALL(two, "cudaRuntimeGetVersion", &version[1], 0, 0, 0) == 0);
  CHECK(version[0] / 1000 == 12 && version[1] / 1000 == 13);
  word memory = 0, stream = 0, event = 0, array[2] = {0, 0};
  CHECK(CALL(one, "cudaMalloc", &memory, 64, 0, 0) == 0);
  CHECK(CALL(two, "cudaStreamCreate", &stream, 0, 0, 0) == 0);
  CHECK(CALL(one, "cudaEventCreate", &event, 0, 0, 0) == 0);
  CHECK(CALL(two, "cudaMemset", memory, 7, 64, 0) == 0);
  CHECK(CALL(one, "cudaEventRecord", event, stream, 0, 0) == 0 && CALL(two, "cudaEventSynchronize", event, 0, 0, 0) == 0);
  CHECK(CALL(one, "cudaMemcpy", &out, memory, 4, 2) == 0 && out == 0x07070707);
  /* Errors are those of the library that was called. */
  CHECK(CALL(one, "cudaFree", memory + 4, 0, 0, 0) == 1 && CALL(two, "cudaGetLastError", 0, 0, 0, 0) == 0);
  CHECK(CALL(one, "cudaGetLastError", 0, 0, 0, 0) == 1);
  int format[5] = {32, 0, 0, 0, 1};
  CHECK(CALL(two, "cudaMallocArray", array, format, 8, 0) == 0 && CALL(one, "cudaFreeArray", array[0], 0, 0, 0) == 0);
  CHECK(CALL(two, "cudaFreeArray", array[0], 0, 0, 0) != 0 && CALL(two, "cudaGetLastError", 0, 0, 0, 0) != 0);
  CHECK(CALL(two, "cudaFree", memory, 0, 0, 0) == 0 && CALL(one, "cudaFree", memory, 0, 0, 0) == 1);
  CHECK(CALL(one, "cudaStreamDestroy", stream, 0, 0, 0) == 0 && CALL(two, "cudaStreamSynchronize", stream, 0, 0, 0) == 400);
  /* A reset ends what both have made. */
  CHECK(CALL(one, "cudaMalloc", &memory, 64, 0, 0) == 0 && CALL(two, "cudaDeviceReset", 0, 0, 0, 0) == 0);
  CHECK(CALL(one, "cudaMemset", memory, 0, 64, 0) == 1 && CALL(one, "cudaMalloc", &memory, 64, 0, 0) == 0);
  CHECK(CALL(two, "cudaMemset", memory, 0, 64, 0) == 0 && CALL(one, "cudaDeviceSynchronize", 0, 0, 0, 0) == 0);
}

/* Functions that need no device. */
static int needs_none(const char *name) {
  static const char *const NAMES[] = {"GetLastError", "PeekAtLastError", "GetErrorName", "GetErrorString", "ChannelDesc", "RuntimeGetVersion",
                                      "DriverGetVersion", "Register", "CallConfiguration", "Profiler", "InitModule", "Logs", "ThreadExit",
                                      "ThreadExchange", "SetValidDevices", "GetDeviceFlags"};
  for (unsigned i = 0; i < sizeof NAMES / sizeof *NAMES; ++i)
    if (strstr(name, NAMES[i])) return 1;
  return 0;
}

static void old(void *library, const char *names) {
  static char scratch[1 << 16];
  char name[100];
  FILE *list = fopen(names, "r");
  word at = (word)scratch;
  unsigned called = 0;
  CHECK(list != NULL);
  while (list && fscanf(list, "%99s", name) == 1) {
    if (needs_none(name)) continue;
    int status = named(library, name)(at, at, at, at, at, at, at, at, at, at);
    if (status == 0) printf("%s succeeds without a driver\n", name), failed = 1;
    ++called;
  }
  CHECK(called > 350);
  CHECK(CALL(library, "cudaGetLastError", 0, 0, 0, 0) != 0 && CALL(library, "cudaGetLastError", 0, 0, 0, 0) == 0);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  void *library = open_library(argv[2]);
  if (strcmp(argv[1], "both") == 0)
    both(library, open_library(argv[3]));
  else
    old(library, argv[3]);
  if (!failed) printf("all checks passed\n");
  fflush(stdout);
  return failed;
}
