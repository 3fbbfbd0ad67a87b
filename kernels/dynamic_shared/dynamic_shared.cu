// Median of a sliding window: each block brings its part of the signal and the window's margins to shared memory, whose
// size the launch gives, since it depends on the block and the window.

extern __shared__ int signal[];

// Values at and beyond the ends count as the first and the last one. `radius` is at most 15; a launch gives
// (blockDim.x + 2 * radius) * 4 bytes.
extern "C" __global__ void median(const int *input, int n, int radius, int *output)
{
    const int first = (int)(blockIdx.x * blockDim.x) - radius;
    const int size = (int)blockDim.x + 2 * radius;
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        signal[i] = input[min(max(first + i, 0), n - 1)];
    __syncthreads();

    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    // Insertion sort in local memory.
    int window[31];
    const int count = 2 * radius + 1;
    for (int k = 0; k < count; k++) {
        const int value = signal[threadIdx.x + k];
        int place = k;
        while (place > 0 && window[place - 1] > value) {
            window[place] = window[place - 1];
            place--;
        }
        window[place] = value;
    }
    output[i] = window[radius];
}
