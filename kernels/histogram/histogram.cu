// How often each byte value occurs: once with a table for each block in shared memory, once straight in global memory.

#define BINS 256

extern "C" __global__ void histogram_shared(const unsigned char *data, unsigned n, unsigned *bins)
{
    __shared__ unsigned local[BINS];

    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        local[bin] = 0;
    __syncthreads();

    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1);
    __syncthreads();

    for (unsigned bin = threadIdx.x; bin < BINS; bin += blockDim.x)
        if (local[bin] != 0)
            atomicAdd(&bins[bin], local[bin]);
}

extern "C" __global__ void histogram_global(const unsigned char *data, unsigned n, unsigned *bins)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[data[i]], 1);
}
