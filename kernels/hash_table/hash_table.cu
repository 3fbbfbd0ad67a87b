// A hash table with open addressing: keys are claimed by compare-and-swap and moved on while a slot is taken. A second
// kernel looks keys up. A key is not 0, which marks a free slot; the size is a power of two.

__device__ unsigned hash(unsigned key)
{
    key = (key ^ key >> 16) * 0x7feb352d;
    key = (key ^ key >> 15) * 0x846ca68b;
    return key ^ key >> 16;
}

// `counts[slot]` becomes the number of times that the key in `keys[slot]` was inserted.
extern "C" __global__ void insert(const unsigned *input, unsigned n, unsigned *keys, unsigned *counts, unsigned size)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const unsigned key = input[i];
    for (unsigned slot = hash(key) & (size - 1);; slot = (slot + 1) & (size - 1)) {
        const unsigned there = atomicCAS(&keys[slot], 0, key);
        if (there == 0 || there == key) {
            atomicAdd(&counts[slot], 1);
            return;
        }
    }
}

extern "C" __global__ void look_up(const unsigned *queries, unsigned n, const unsigned *keys, const unsigned *counts,
                                   unsigned size, unsigned *results)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const unsigned key = queries[i];
    unsigned slot = hash(key) & (size - 1);
    while (keys[slot] != 0 && keys[slot] != key)
        slot = (slot + 1) & (size - 1);
    results[i] = keys[slot] == key ? counts[slot] : 0;
}
