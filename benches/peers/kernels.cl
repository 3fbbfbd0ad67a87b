// The kernels that are measured, in OpenCL C: PoCL runs them as they are, Simtlab what clang makes of them as PTX. `scalar.c` has the
// same computations as loops.

#ifdef __NVPTX__
#define X __nvvm_read_ptx_sreg_tid_x()
#define Y __nvvm_read_ptx_sreg_tid_y()
#define SIZE_X __nvvm_read_ptx_sreg_ntid_x()
#define GROUP_X __nvvm_read_ptx_sreg_ctaid_x()
#define GLOBAL_X (GROUP_X * SIZE_X + X)
#define GLOBAL_Y (__nvvm_read_ptx_sreg_ctaid_y() * __nvvm_read_ptx_sreg_ntid_y() + Y)
#define GLOBAL_SIZE_X (__nvvm_read_ptx_sreg_nctaid_x() * SIZE_X)
#define BARRIER() __syncthreads()
#define ADD(p) __nvvm_atom_add_gen_i((p), 1)
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define X get_local_id(0)
#define Y get_local_id(1)
#define SIZE_X get_local_size(0)
#define GROUP_X get_group_id(0)
#define GLOBAL_X ((uint)get_global_id(0))
#define GLOBAL_Y ((uint)get_global_id(1))
#define GLOBAL_SIZE_X ((uint)get_global_size(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define ADD(p) atomic_inc(p)
#define FMA(a, b, c) fma(a, b, c)
#endif

typedef unsigned int u32;
typedef unsigned long u64;

kernel void saxpy(u32 n, float a, global const float *restrict x, global float *restrict y)
{
    const u32 i = GLOBAL_X;
    if (i < n)
        y[i] = FMA(a, x[i], y[i]);
}

kernel void mandelbrot(u32 width, u32 height, u32 limit, float step, global u32 *restrict counts)
{
    const u32 px = GLOBAL_X, py = GLOBAL_Y;
    if (px >= width || py >= height)
        return;
    const float cr = FMA(step, (float)px, -2.0f), ci = FMA(step, (float)py, -1.25f);
    float zr = 0.0f, zi = 0.0f;
    u32 n = 0;
    while (n < limit) {
        const float rr = zr * zr, ii = zi * zi;
        if (rr + ii > 4.0f)
            break;
        zi = FMA(2.0f * zr, zi, ci);
        zr = rr - ii + cr;
        n++;
    }
    counts[py * width + px] = n;
}

kernel void sgemm(u32 n, global const float *restrict a, global const float *restrict b, global float *restrict c)
{
    const u32 column = GLOBAL_X, row = GLOBAL_Y;
    float sum = 0.0f;
    for (u32 i = 0; i < n; i++)
        sum = FMA(a[row * n + i], b[i * n + column], sum);
    c[row * n + column] = sum;
}

// A tile of 16 x 16 elements, through local memory. `n` is a multiple of 16.
kernel void sgemm_tiled(u32 n, global const float *restrict a, global const float *restrict b, global float *restrict c)
{
    local float tile_a[16][16], tile_b[16][16];
    const u32 column = GLOBAL_X, row = GLOBAL_Y;
    float sum = 0.0f;
    for (u32 start = 0; start < n; start += 16) {
        tile_a[Y][X] = a[row * n + start + X];
        tile_b[Y][X] = b[(start + Y) * n + column];
        BARRIER();
        for (u32 i = 0; i < 16; i++)
            sum = FMA(tile_a[Y][i], tile_b[i][X], sum);
        BARRIER();
    }
    c[row * n + column] = sum;
}

// One sum for each group of 256.
kernel void reduce(global const float *restrict x, global float *restrict sums)
{
    local float part[256];
    part[X] = x[GLOBAL_X];
    BARRIER();
    for (u32 stride = 128; stride > 0; stride /= 2) {
        if (X < stride)
            part[X] += part[X + stride];
        BARRIER();
    }
    if (X == 0)
        sums[GROUP_X] = part[0];
}

kernel void collatz(u32 count, global u32 *restrict steps, global u64 *restrict peaks)
{
    const u32 i = GLOBAL_X;
    if (i >= count)
        return;
    u64 n = (u64)i + 1, peak = n;
    u32 length = 0;
    while (n != 1) {
        if (n % 2 == 0) {
            n /= 2;
        } else {
            n = 3 * n + 1;
            if (n > peak)
                peak = n;
        }
        length++;
    }
    steps[i] = length;
    peaks[i] = peak;
}

// The least divisor of each odd number: a loop whose lanes leave it one by one.
kernel void divisors(u32 count, global u32 *restrict least)
{
    const u32 i = GLOBAL_X;
    if (i >= count)
        return;
    const u32 number = 2 * i + 3;
    u32 d = 3;
    while (d * d <= number && number % d != 0)
        d += 2;
    least[i] = d * d <= number ? d : number;
}

kernel void histogram(u32 n, global const u32 *restrict data, global u32 *restrict bins)
{
    local u32 mine[256];
    mine[X] = 0;
    BARRIER();
    for (u32 i = GLOBAL_X; i < n; i += GLOBAL_SIZE_X)
        ADD((local int *)&mine[data[i] & 255]);
    BARRIER();
    bins[GROUP_X * 256 + X] = mine[X];
}
