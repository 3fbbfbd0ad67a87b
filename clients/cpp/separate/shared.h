#pragma once
extern __constant__ float scale;
extern __device__ int table[4];
extern __managed__ int shared_count;
__device__ float area(float width, float height);
__device__ int counter_of_file_b();
__device__ int library_square(int x);
__device__ int library_cube(int x);
void launch_of_file_b(float *out);

// One definition of several, with a variable of its own.
template <class T> __device__ __noinline__ T twice(T x) {
  static __device__ T factor = 2;
  return factor * x;
}
