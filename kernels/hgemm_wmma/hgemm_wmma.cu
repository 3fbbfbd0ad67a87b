// D = A * B + C of half-precision matrices by `wmma`, a warp for each 16 by 16 tile of the result: A is stored by rows, B by columns,
// fragments come straight from memory. m, n and k are multiples of 16; a block has one warp.

#include <cuda_fp16.h>

struct Factor {
    unsigned r[8];
};

struct Sum {
    float r[8];
};

#define OUTPUTS(kind, x)                                                                                               \
    kind((x).r[0]), kind((x).r[1]), kind((x).r[2]), kind((x).r[3]), kind((x).r[4]), kind((x).r[5]), kind((x).r[6]), kind((x).r[7])

__device__ Factor load_a(const __half *p, unsigned stride)
{
    Factor x;
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : OUTPUTS("=r", x)
                 : "l"(p), "r"(stride));
    return x;
}

__device__ Factor load_b(const __half *p, unsigned stride)
{
    Factor x;
    asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.global.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : OUTPUTS("=r", x)
                 : "l"(p), "r"(stride));
    return x;
}

__device__ Sum load_c(const float *p, unsigned stride)
{
    Sum x;
    asm volatile("wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
                 : OUTPUTS("=f", x)
                 : "l"(p), "r"(stride));
    return x;
}

__device__ void multiply(Sum &d, const Factor &a, const Factor &b)
{
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
                 "{%0, %1, %2, %3, %4, %5, %6, %7};"
                 : OUTPUTS("+f", d)
                 : OUTPUTS("r", a), OUTPUTS("r", b));
}

__device__ void store(float *p, const Sum &x, unsigned stride)
{
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7}, %9;" ::OUTPUTS("f", x),
                 "l"(p), "r"(stride)
                 : "memory");
}

extern "C" __global__ void hgemm_wmma(unsigned n, unsigned k, const __half *a, const __half *b, const float *c, float *d)
{
    const unsigned row = blockIdx.y * 16, column = blockIdx.x * 16;
    Sum sum = load_c(c + row * n + column, n);
    for (unsigned at = 0; at < k; at += 16)
        multiply(sum, load_a(a + row * k + at, k), load_b(b + column * k + at, k));
    store(d + row * n + column, sum, n);
}
