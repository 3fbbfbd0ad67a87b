// Keeps the numbers that pass a test, in their order: votes give the places within a warp, shared memory those of the
// warps in a block, and a first launch the number of survivors in each block.

__device__ bool keep(unsigned value)
{
    return value % 7 < 3;
}

extern "C" __global__ void survivors(const unsigned *input, unsigned n, unsigned *counts)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const int count = __syncthreads_count(i < n && keep(input[i]));
    if (threadIdx.x == 0)
        counts[blockIdx.x] = count;
}

// The block size is a multiple of 32.
extern "C" __global__ void compact(const unsigned *input, unsigned n, const unsigned *counts, unsigned *output)
{
    __shared__ unsigned warps[32];

    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    const bool kept = i < n && keep(input[i]);
    const unsigned votes = __ballot_sync(0xffffffff, kept);
    if (lane == 0)
        warps[warp] = __popc(votes);
    __syncthreads();

    if (kept) {
        unsigned place = __popc(votes & ((1u << lane) - 1));
        for (unsigned w = 0; w < warp; w++)
            place += warps[w];
        for (unsigned b = 0; b < blockIdx.x; b++)
            place += counts[b];
        output[place] = input[i];
    }
}
