// 128-bit sums by compare-and-swap of 16 bytes, which takes compute capability 9.0.
// nvrtc: --gpu-architecture=compute_90

struct alignas(16) Wide {
    unsigned long long low;
    unsigned long long high;
};

extern "C" __global__ void sum_squares(const unsigned long long *values, unsigned n, Wide *sums, unsigned buckets)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const unsigned long long low = values[i] * values[i];
    const unsigned long long high = __umul64hi(values[i], values[i]);
    Wide *sum = &sums[i % buckets];
    Wide seen = *sum;
    Wide before;
    do {
        before = seen;
        Wide after;
        after.low = before.low + low;
        after.high = before.high + high + (after.low < low);
        seen = atomicCAS(sum, before, after);
    } while (seen.low != before.low || seen.high != before.high);
}
