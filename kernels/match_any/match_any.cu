// Sums by key, with the atomic additions of a warp joined: lanes with one key find each other by __match_any_sync, and
// the first of them adds for all. Lanes beyond the end take part in the match, with a key of their own.

extern "C" __global__ void count_keys(const unsigned *keys, unsigned n, unsigned *counts, unsigned *additions)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32;
    const unsigned key = i < n ? keys[i] : 0xffffffff;

    const unsigned peers = __match_any_sync(0xffffffff, key);
    const unsigned leader = __ffs(peers) - 1;
    if (lane == leader && i < n) {
        atomicAdd(&counts[key], __popc(peers));
        atomicAdd(additions, 1);
    }
}
