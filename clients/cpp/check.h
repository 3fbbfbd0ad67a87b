// Counts checks: each is a condition that the program computes by itself; `finish` says how many held, and is the exit code.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

static int passed = 0, failed = 0;

// Notes a condition.
#define CHECK(condition) note((condition), #condition, __FILE__, __LINE__)
// Notes that a call of the runtime gives this result.
#define GIVES(call, result) gives((call), (result), #call, __FILE__, __LINE__)
// A call that has to succeed for the program to go on.
#define MUST(call) must((call), #call, __FILE__, __LINE__)

static inline void note(bool holds, const char *text, const char *file, int line) {
  holds ? ++passed : ++failed;
  if (!holds) fprintf(stderr, "%s:%d: %s does not hold\n", file, line, text);
}

static inline void gives(cudaError_t got, cudaError_t want, const char *text, const char *file, int line) {
  got == want ? ++passed : ++failed;
  if (got != want)
    fprintf(stderr, "%s:%d: %s gives %s, not %s\n", file, line, text, cudaGetErrorName(got), cudaGetErrorName(want));
}

static inline void must(cudaError_t got, const char *text, const char *file, int line) {
  if (got == cudaSuccess) return;
  fprintf(stderr, "%s:%d: %s gives %s (%s)\n", file, line, text, cudaGetErrorName(got), cudaGetErrorString(got));
  exit(1);
}

static inline int finish() {
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

// A repeatable sequence of numbers.
static inline unsigned next_random() {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static inline float random_float() { return next_random() / float(1 << 24); }

// Device memory that holds a copy of a vector.
template <class T> T *on_device(const std::vector<T> &values) {
  T *memory = nullptr;
  MUST(cudaMalloc(&memory, values.size() * sizeof(T)));
  MUST(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

// The vector that device memory holds.
template <class T> std::vector<T> on_host(const T *memory, size_t count) {
  std::vector<T> values(count);
  MUST(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
