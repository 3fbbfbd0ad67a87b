// Inclusive prefix sums over a whole grid, in two ways: three launches (sums within blocks, sums of the blocks' totals,
// adding them on), and one launch in which each block looks back at what the blocks before it have published.

#define BLOCK 256

__device__ unsigned warp_scan(unsigned value, unsigned lane)
{
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffff, value, distance);
        if (lane >= distance)
            value += other;
    }
    return value;
}

// Inclusive sum over the block, for each of its BLOCK threads.
__device__ unsigned block_scan(unsigned value)
{
    __shared__ unsigned totals[BLOCK / 32];

    const unsigned lane = threadIdx.x % 32;
    const unsigned warp = threadIdx.x / 32;
    value = warp_scan(value, lane);
    if (lane == 31)
        totals[warp] = value;
    __syncthreads();
    if (warp == 0) {
        const unsigned total = lane < BLOCK / 32 ? totals[lane] : 0;
        const unsigned sum = warp_scan(total, lane);
        if (lane < BLOCK / 32)
            totals[lane] = sum;
    }
    __syncthreads();
    return warp > 0 ? value + totals[warp - 1] : value;
}

// Sums within each block, and the blocks' totals.
extern "C" __global__ void scan_blocks(const unsigned *input, unsigned n, unsigned *output, unsigned *totals)
{
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    const unsigned sum = block_scan(i < n ? input[i] : 0);
    if (i < n)
        output[i] = sum;
    if (threadIdx.x == BLOCK - 1)
        totals[blockIdx.x] = sum;
}

// Adds what comes before each block; `totals` are inclusive sums by now.
extern "C" __global__ void scan_add(unsigned *output, unsigned n, const unsigned *totals)
{
    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    if (blockIdx.x > 0 && i < n)
        output[i] += totals[blockIdx.x - 1];
}

#define EMPTY 0u
#define TOTAL 1u
#define PREFIX 2u

// states[b] holds, as (kind << 32 | sum), the total of block b or the sum up to its end. `ticket` hands out the blocks
// in the order in which they start, so a block only ever waits for blocks that run already.
extern "C" __global__ void scan_lookback(const unsigned *input, unsigned n, unsigned *output,
                                         volatile unsigned long long *states, unsigned *ticket)
{
    __shared__ unsigned shared_block;
    __shared__ unsigned shared_before;

    if (threadIdx.x == 0)
        shared_block = atomicAdd(ticket, 1);
    __syncthreads();
    const unsigned block = shared_block;
    const unsigned i = block * BLOCK + threadIdx.x;
    const unsigned sum = block_scan(i < n ? input[i] : 0);

    if (threadIdx.x == BLOCK - 1) {
        unsigned before = 0;
        if (block > 0) {
            states[block] = (unsigned long long)TOTAL << 32 | sum;
            for (unsigned b = block - 1;;) {
                const unsigned long long state = states[b];
                const unsigned kind = (unsigned)(state >> 32);
                if (kind == EMPTY)
                    continue;
                before += (unsigned)state;
                if (kind == PREFIX)
                    break;
                b--;
            }
        }
        states[block] = (unsigned long long)PREFIX << 32 | (before + sum);
        shared_before = before;
    }
    __syncthreads();
    if (i < n)
        output[i] = shared_before + sum;
}
