// Sorts each segment of 1,024 keys, with the values that belong to them, in shared memory: a bitonic network, one block
// of 512 threads a segment.

#define KEYS 1024

extern "C" __global__ void bitonic_sort(int *keys, unsigned *values)
{
    __shared__ int key[KEYS];
    __shared__ unsigned value[KEYS];

    const unsigned base = blockIdx.x * KEYS;
    for (unsigned i = threadIdx.x; i < KEYS; i += blockDim.x) {
        key[i] = keys[base + i];
        value[i] = values[base + i];
    }
#pragma unroll 1
    for (unsigned size = 2; size <= KEYS; size *= 2) {
#pragma unroll 1
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const unsigned low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            const unsigned high = low + stride;
            const bool ascending = (low & size) == 0;
            const int a = key[low];
            const int b = key[high];
            if ((a > b) == ascending) {
                key[low] = b;
                key[high] = a;
                const unsigned v = value[low];
                value[low] = value[high];
                value[high] = v;
            }
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < KEYS; i += blockDim.x) {
        keys[base + i] = key[i];
        values[base + i] = value[i];
    }
}
