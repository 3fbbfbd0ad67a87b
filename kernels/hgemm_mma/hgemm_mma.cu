// C = A * B of half-precision matrices, stored by rows, into single precision, on matrix units: while a block multiplies one slice of
// the depth, the next is on its way to shared memory. m and n are multiples of 64, k of 32; 128 threads a block.

#include <cuda_fp16.h>

constexpr int TILE = 64, DEPTH = 32;
// Rows are padded by 16 bytes: the eight rows that an ldmatrix reads at once lie in different banks.
constexpr int A_ROW = DEPTH + 8, B_ROW = TILE + 8;

__device__ unsigned shared_address(const void *p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

__device__ void load_a(unsigned (&r)[4], const __half *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p)));
}

__device__ void load_b(unsigned (&r)[4], const __half *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(p)));
}

__device__ void multiply(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void hgemm_mma(unsigned n, unsigned k, const __half *a, const __half *b, float *c)
{
    __shared__ __align__(16) __half as[2][TILE * A_ROW], bs[2][DEPTH * B_ROW];
    const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    const unsigned row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    // Four warps: two by two squares of 32 by 32.
    const unsigned row = warp / 2 * 32, column = warp % 2 * 32;
    float sums[2][4][4] = {};

    auto fetch = [&](unsigned slice) {
        __half *to_a = as[slice % 2], *to_b = bs[slice % 2];
        for (unsigned i = thread; i < TILE * DEPTH / 8; i += 128) {
            const unsigned r = i / (DEPTH / 8), at = i % (DEPTH / 8) * 8;
            copy16(&to_a[r * A_ROW + at], &a[(row0 + r) * k + slice * DEPTH + at]);
            const unsigned s = i / (TILE / 8), on = i % (TILE / 8) * 8;
            copy16(&to_b[s * B_ROW + on], &b[(slice * DEPTH + s) * n + column0 + on]);
        }
        asm volatile("cp.async.commit_group;");
    };

    const unsigned slices = k / DEPTH;
    fetch(0);
    for (unsigned slice = 0; slice < slices; ++slice) {
        if (slice + 1 < slices) {
            fetch(slice + 1);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        const __half *ta = as[slice % 2], *tb = bs[slice % 2];
        for (unsigned d = 0; d < DEPTH; d += 16) {
            unsigned fa[2][4], fb[2][4];
            for (unsigned i = 0; i < 2; ++i) {
                load_a(fa[i], &ta[(row + 16 * i + lane % 16) * A_ROW + d + lane / 16 * 8]);
                load_b(fb[i], &tb[(d + lane % 16) * B_ROW + column + 16 * i + lane / 16 * 8]);
            }
            for (unsigned i = 0; i < 2; ++i)
                for (unsigned j = 0; j < 4; ++j)
                    multiply(sums[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
    }

    for (unsigned i = 0; i < 2; ++i)
        for (unsigned j = 0; j < 4; ++j) {
            float *to = &c[(row0 + row + 16 * i + lane / 4) * n + column0 + column + 8 * j + lane % 4 * 2];
            *reinterpret_cast<float2 *>(to) = make_float2(sums[i][j][0], sums[i][j][1]);
            *reinterpret_cast<float2 *>(to + 8 * n) = make_float2(sums[i][j][2], sums[i][j][3]);
        }
}
