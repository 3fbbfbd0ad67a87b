// Smallest prime factor of each number, by trial division; 0 for 0 and 1. Threads return as soon as they know.

extern "C" __global__ void smallest_factor(const unsigned *numbers, unsigned count, unsigned *factors)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;

    const unsigned n = numbers[i];
    if (n < 2) {
        factors[i] = 0;
        return;
    }
    if (n % 2 == 0) {
        factors[i] = 2;
        return;
    }
    if (n % 3 == 0) {
        factors[i] = 3;
        return;
    }
    // Any other prime is one below or one above a multiple of six. d <= n / d is d * d <= n without overflow.
    for (unsigned d = 5; d <= n / d; d += 6) {
        if (n % d == 0) {
            factors[i] = d;
            return;
        }
        if (n % (d + 2) == 0) {
            factors[i] = d + 2;
            return;
        }
    }
    factors[i] = n;
}
