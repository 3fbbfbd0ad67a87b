// nvrtc: --gpu-architecture=compute_90a
// C = A B^T in half precision by a warp group, from a ring of tiles in shared memory that one warp
// keeps full. Tiles come and go by tensor copies, which fill with zeros beyond the edges of A and B
// and leave out what is beyond those of C.
//
//   producer   waits for empty[s], announces the bytes at full[s], starts the copies
//   consumers  wait for full[s], issue products; when those of the slice before are done, arrive at
//              empty[s - 1]
typedef unsigned int u32;
typedef unsigned long long u64;

struct alignas(64) TensorMap {
    u64 opaque[16];
};

constexpr u32 TILE = 64;    // rows of A and of B, and their columns, of a tile
constexpr u32 STAGES = 3;   // slices in flight
constexpr u32 BYTES = TILE * TILE * 2;
constexpr u32 CONSUMERS = 128;

__device__ u32 shared_address(const void *at) {
    return static_cast<u32>(__cvta_generic_to_shared(at));
}

__device__ void init(u64 *barrier, u32 count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

__device__ void arrive(u64 *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void expect(u64 *barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ void wait(u64 *barrier, u32 parity) {
    u32 done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!done);
}

__device__ void load(void *to, const TensorMap *map, u32 column, u32 row, u64 *barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier))
                 : "memory");
}

// The descriptor of a tile of 128 bytes a row, swizzled: 8 rows are 1024 bytes.
__device__ u64 descriptor(const void *tile) {
    const u64 swizzle_128 = 1ull << 62, stride = 1024 >> 4;
    return swizzle_128 | stride << 32 | shared_address(tile) >> 4;
}

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)

// d += a b^T for 16 columns of two tiles.
__device__ void multiply(float (&d)[32], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, 1, 1, 1, 0, 0;"
                 : SIXTEEN(d, 0), SIXTEEN(d, 16)
                 : "l"(a), "l"(b));
}

__device__ void fence_registers(float (&d)[32]) {
    asm volatile("wgmma.fence.sync.aligned;" : SIXTEEN(d, 0), SIXTEEN(d, 16)::"memory");
}

// Waits for all products but those of the last `PENDING` groups.
template <int PENDING> __device__ void wait_products(float (&d)[32]) {
    asm volatile("wgmma.wait_group.sync.aligned %32;" : SIXTEEN(d, 0), SIXTEEN(d, 16) : "n"(PENDING) : "memory");
}

extern "C" __global__ void __launch_bounds__(160)
    wgmma_gemm(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
               const __grid_constant__ TensorMap c, u32 k) {
    // The ring, a tile of A and one of B in each stage, then the tile of C.
    extern __shared__ __align__(1024) unsigned char shared[];
    unsigned char *const tiles = shared;
    float *const result = reinterpret_cast<float *>(shared + STAGES * 2 * BYTES);
    __shared__ u64 full[STAGES], empty[STAGES];
    const u32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const u32 row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    const u32 slices = (k + TILE - 1) / TILE;

    if (thread == 0) {
        for (u32 s = 0; s < STAGES; s++) {
            init(&full[s], 1);
            init(&empty[s], CONSUMERS / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    if (thread >= CONSUMERS) {
        if (lane != 0)
            return;
        for (u32 slice = 0; slice < slices; slice++) {
            const u32 s = slice % STAGES, round = slice / STAGES;
            // Round 0 finds the phase before the first one, which counts as completed.
            wait(&empty[s], (round + 1) % 2);
            expect(&full[s], 2 * BYTES);
            unsigned char *const left = tiles + s * 2 * BYTES;
            load(left, &a, slice * TILE, row, &full[s]);
            load(left + BYTES, &b, slice * TILE, column, &full[s]);
        }
        return;
    }

    float d[32] = {};
    for (u32 slice = 0; slice < slices; slice++) {
        const u32 s = slice % STAGES, round = slice / STAGES;
        wait(&full[s], round % 2);
        fence_registers(d);
        unsigned char *const tile = tiles + s * 2 * BYTES;
        const u64 left = descriptor(tile), right = descriptor(tile + BYTES);
        for (u32 i = 0; i < TILE / 16; i++)
            multiply(d, left + 2 * i, right + 2 * i);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        wait_products<1>(d);
        if (slice > 0 && lane == 0)
            arrive(&empty[(slice - 1) % STAGES]);
    }
    wait_products<0>(d);

    const u32 first = 16 * warp + lane / 4;
    for (u32 j = 0; j < TILE / 8; j++) {
        const u32 at = 8 * j + 2 * (lane % 4);
        for (u32 i = 0; i < 4; i++)
            result[(first + i / 2 * 8) * TILE + at + i % 2] = d[4 * j + i];
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, %0;" ::"n"(CONSUMERS) : "memory");
    if (thread == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&c),
                     "r"(column), "r"(row), "r"(shared_address(result))
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
