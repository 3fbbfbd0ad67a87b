// Counts random points of the unit square that lie in the unit circle. Each thread has its own generator (PCG, 32 bits
// out of 64), a warp adds up its counts in one instruction, and one lane of it adds them to the total.

__device__ unsigned next(unsigned long long &state, unsigned long long stream)
{
    const unsigned long long old = state;
    state = old * 6364136223846793005ull + stream;
    const unsigned mixed = (unsigned)(((old >> 18) ^ old) >> 27);
    const unsigned turn = (unsigned)(old >> 59);
    return mixed >> turn | mixed << (-turn & 31);
}

extern "C" __global__ void monte_carlo_pi(unsigned samples, unsigned long long seed, unsigned *hits,
                                          unsigned long long *total)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long stream = 2ull * thread + 1;
    unsigned long long state = seed + stream;
    next(state, stream);

    unsigned count = 0;
    for (unsigned i = 0; i < samples; i++) {
        const float x = (float)(next(state, stream) >> 8) * 0x1p-24f;
        const float y = (float)(next(state, stream) >> 8) * 0x1p-24f;
        if (x * x + y * y < 1.0f)
            count++;
    }
    hits[thread] = count;
    count = __reduce_add_sync(0xffffffff, count);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, (unsigned long long)count);
}
