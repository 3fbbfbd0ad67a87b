// Finds perfect numbers and prints those it finds, with a sum of divisors of the first thread's number.

extern "C" __global__ void perfect(unsigned first, unsigned count, unsigned *sums)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;

    const unsigned n = first + i;
    unsigned sum = 0;
    for (unsigned d = 1; d <= n / 2; d++)
        if (n % d == 0)
            sum += d;
    sums[i] = sum;
    if (sum == n)
        printf("%u is perfect (block %u, thread %u)\n", n, blockIdx.x, threadIdx.x);
    if (i == 0)
        printf("the divisors of %u, but for itself, add up to %u: %.3f of it%c\n", n, sum, (double)sum / n, '.');
}
