// Finds every place where a pattern of bytes begins in a text, overlapping ones included.

extern "C" __global__ void string_search(const unsigned char *text, unsigned length, const unsigned char *pattern,
                                         unsigned size, unsigned char *found, unsigned *count)
{
    const unsigned start = blockIdx.x * blockDim.x + threadIdx.x;
    if (start + size > length)
        return;

    for (unsigned i = 0; i < size; i++)
        if (text[start + i] != pattern[i])
            return;
    found[start] = 1;
    atomicAdd(count, 1);
}
