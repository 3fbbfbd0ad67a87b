// nvrtc: --gpu-architecture=compute_90a
// y = A x for integers, by clusters of four blocks. All blocks need all of x: each fetches a quarter
// of every slice and has the copy write it into the shared memory of all four, so that x is read once
// a cluster. A ring of two slices; barriers in shared memory count the bytes that arrive, and the
// blocks that have done with a slice.
typedef unsigned int u32;
typedef unsigned long long u64;

constexpr u32 BLOCKS = 4, THREADS = 64, STAGES = 2;
constexpr u32 SLICE = 64;                     // numbers of x
constexpr u32 QUARTER = SLICE / BLOCKS;
constexpr u32 BYTES = SLICE * sizeof(int);

__device__ u32 shared_address(const void *at) {
    return static_cast<u32>(__cvta_generic_to_shared(at));
}

__device__ void init(u64 *barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

__device__ void expect(u64 *barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

// Arrives at the same barrier of the block with this rank in the cluster.
__device__ void arrive_at(u64 *barrier, u32 rank) {
    asm volatile("{\n\t.reg .b32 there;\n\t"
                 "mapa.shared::cluster.u32 there, %0, %1;\n\t"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}" ::"r"(shared_address(barrier)),
                 "r"(rank)
                 : "memory");
}

__device__ void wait(u64 *barrier, u32 parity) {
    u32 done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!done);
}

__device__ void multicast(void *to, const int *from, u32 bytes, u64 *barrier) {
    const unsigned short all = (1 << BLOCKS) - 1;
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier)), "h"(all)
                 : "memory");
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// `columns` is a multiple of SLICE. Each thread has a row of A.
extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1) __launch_bounds__(THREADS)
    multicast_copy(const short *a, const int *x, int *y, u32 rows, u32 columns) {
    __shared__ alignas(128) int slices[STAGES][SLICE];
    __shared__ u64 full[STAGES], empty[STAGES];
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const u32 thread = threadIdx.x, row = blockIdx.x * THREADS + thread;

    if (thread == 0) {
        for (u32 s = 0; s < STAGES; s++) {
            init(&full[s], 1);
            init(&empty[s], BLOCKS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    // No copy arrives before the barriers of all blocks are there.
    cluster_sync();

    int sum = 0;
    for (u32 slice = 0; slice < columns / SLICE; slice++) {
        const u32 s = slice % STAGES, round = slice / STAGES;
        if (thread == 0) {
            // All blocks have done with what the slice replaces.
            wait(&empty[s], (round + 1) % 2);
            expect(&full[s], BYTES);
            multicast(&slices[s][rank * QUARTER], x + slice * SLICE + rank * QUARTER, QUARTER * sizeof(int), &full[s]);
        }
        wait(&full[s], round % 2);
        if (row < rows)
            for (u32 i = 0; i < SLICE; i++)
                sum += a[row * columns + slice * SLICE + i] * slices[s][i];
        __syncthreads();
        if (thread < BLOCKS)
            arrive_at(&empty[s], thread);
    }
    if (row < rows)
        y[row] = sum;
    // No block ends before the last arrivals at its barriers.
    cluster_sync();
}
