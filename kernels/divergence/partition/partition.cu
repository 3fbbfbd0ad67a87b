// Quicksort's partition by Hoare, a segment of the array for each thread, and again for the left part until one element is left:
// two inner loops that run for as long as the data say, in a loop that does.

__device__ unsigned partition_step(unsigned *a, unsigned n)
{
    unsigned pivot = a[n / 2], i = 0, j = n - 1;
    for (;;) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i >= j)
            return j + 1;
        unsigned swap = a[i];
        a[i++] = a[j];
        a[j--] = swap;
    }
}

// The smallest element of each segment ends in front; `rounds` counts the partitions that it took.
extern "C" __global__ void smallest(unsigned *data, unsigned length, unsigned count, unsigned *rounds)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= count)
        return;
    unsigned *a = data + t * length, n = length, r = 0;
    while (n > 1) {
        unsigned left = partition_step(a, n);
        n = left < n ? left : n - 1;
        r++;
    }
    rounds[t] = r;
}
