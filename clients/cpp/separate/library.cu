static __device__ int counter = 0;
__device__ int library_square(int x) { return x * x + counter; }
__device__ int library_cube(int x) { return x * x * x + counter; }
