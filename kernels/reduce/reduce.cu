// Sum of an array: each block adds up its share, in warps by shuffles, across warps through shared memory.
// A second launch with one block adds the blocks' sums.

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

// The block size is a multiple of 32, at most 1024.
extern "C" __global__ void reduce(const float *input, unsigned n, float *sums)
{
    __shared__ float partial[32];

    float value = 0.0f;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        value += input[i];

    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    value = warp_sum(value);
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();

    if (warp == 0) {
        value = lane < blockDim.x / 32 ? partial[lane] : 0.0f;
        value = warp_sum(value);
        if (lane == 0)
            sums[blockIdx.x] = value;
    }
}
