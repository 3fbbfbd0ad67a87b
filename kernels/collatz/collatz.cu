// Length of the Collatz sequence from each number to 1, and the largest number on the way.

extern "C" __global__ void collatz(unsigned count, unsigned *steps, unsigned long long *peaks)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;

    unsigned long long n = i + 1;
    unsigned long long peak = n;
    unsigned length = 0;
    while (n != 1) {
        if (n % 2 == 0) {
            n /= 2;
        } else {
            n = 3 * n + 1;
            if (n > peak)
                peak = n;
        }
        length++;
    }
    steps[i] = length;
    peaks[i] = peak;
}
