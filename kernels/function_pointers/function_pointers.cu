// Each thread calls the function that its number selects from a table, several times over: indirect calls whose target
// differs from lane to lane.

typedef unsigned (*Mixer)(unsigned, unsigned);

__device__ __noinline__ unsigned murmur(unsigned h, unsigned)
{
    h = (h ^ h >> 16) * 0x85ebca6b;
    h = (h ^ h >> 13) * 0xc2b2ae35;
    return h ^ h >> 16;
}

__device__ __noinline__ unsigned fnv(unsigned h, unsigned key)
{
    for (unsigned i = 0; i < 4; i++)
        h = (h ^ (key >> 8 * i & 0xff)) * 16777619;
    return h;
}

__device__ __noinline__ unsigned xorshift(unsigned h, unsigned key)
{
    h ^= h << 13;
    h ^= h >> 17;
    return (h ^ h << 5) + key;
}

__device__ __noinline__ unsigned crc(unsigned h, unsigned key)
{
    h ^= key;
    for (unsigned i = 0; i < 32; i++)
        h = h & 1 ? h >> 1 ^ 0xedb88320 : h >> 1;
    return h;
}

__device__ const Mixer mixers[4] = {murmur, fnv, xorshift, crc};

extern "C" __global__ void mix(const unsigned char *which, unsigned n, unsigned rounds, unsigned *results)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned h = 0x811c9dc5 + i;
    for (unsigned round = 0; round < rounds; round++)
        h = mixers[(which[i] + round) % 4](h, round);
    results[i] = h;
}
