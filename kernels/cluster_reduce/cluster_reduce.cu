// nvrtc: --gpu-architecture=compute_90
// Rows of numbers less the largest of their row. The four blocks of a cluster share a row: each finds
// the largest number of its quarter, then reads what the others found in their shared memory.

constexpr unsigned THREADS = 128, BLOCKS = 4;

__device__ void cluster_sync() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS)
    cluster_reduce(const int *rows, unsigned columns, int *out, int *largest) {
    __shared__ int found[THREADS / 32];
    __shared__ int of_block;
    const unsigned row = blockIdx.y, rank = __clusterRelativeBlockRank();
    const unsigned part = (columns + BLOCKS - 1) / BLOCKS, first = rank * part;
    const unsigned end = min(first + part, columns);

    int most = 0x80000000;
    for (unsigned i = first + threadIdx.x; i < end; i += THREADS)
        most = max(most, rows[row * columns + i]);
    most = __reduce_max_sync(0xffffffff, most);
    if (threadIdx.x % 32 == 0)
        found[threadIdx.x / 32] = most;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int other : found)
            most = max(most, other);
        of_block = most;
    }

    // All blocks of the cluster have written theirs.
    cluster_sync();
    for (unsigned i = 0; i < BLOCKS; i++)
        most = max(most, *static_cast<int *>(__cluster_map_shared_rank(&of_block, i)));
    // No block ends before all have read.
    cluster_sync();

    for (unsigned i = first + threadIdx.x; i < end; i += THREADS)
        out[row * columns + i] = rows[row * columns + i] - most;
    if (rank == 0 && threadIdx.x == 0)
        largest[row] = most;
}
