/* Kernels for clang as a CUDA compiler, without NVIDIA's headers: see compilers.py.
 *
 * Attributes and built-in functions stand for what those headers name. Each kernel shows what such compilers write: loops, switches, calls, recursion, function pointers, shared memory,
 * barriers, atomics, shuffles, wide integers, local arrays, structures by value.
 */

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define GLOBAL __attribute__((address_space(1)))
#define NOINLINE __attribute__((device, noinline))

typedef unsigned int u32;
typedef unsigned long long u64;

static DEVICE u32 index(void)
{
    return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}

/* y = a x + y */
KERNEL saxpy(GLOBAL const float *x, GLOBAL float *y, float a, u32 n)
{
    u32 i = index();
    if (i < n)
        y[i] = a * x[i] + y[i];
}

/* Sum of each block by a tree in shared memory. */
static SHARED u32 partial[64];

KERNEL block_sum(GLOBAL const u32 *in, GLOBAL u32 *out)
{
    u32 t = __nvvm_read_ptx_sreg_tid_x();
    partial[t] = in[index()];
    __syncthreads();
    for (u32 half = 32; half > 0; half /= 2) {
        if (t < half)
            partial[t] += partial[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[__nvvm_read_ptx_sreg_ctaid_x()] = partial[0];
}

/* Counts bytes by their upper half. */
KERNEL histogram(GLOBAL const unsigned char *text, GLOBAL u32 *bins, u32 n)
{
    for (u32 i = index(); i < n; i += __nvvm_read_ptx_sreg_ntid_x() * __nvvm_read_ptx_sreg_nctaid_x())
        __nvvm_atom_add_gen_i((int *)&bins[text[i] >> 4], 1);
}

/* Steps of the Collatz sequence. */
KERNEL collatz(GLOBAL u32 *steps)
{
    u64 n = index() + 1;
    u32 count = 0;
    for (; n != 1; count++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    steps[index()] = count;
}

static NOINLINE u32 ackermann(u32 m, u32 n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

KERNEL recursion(GLOBAL u32 *out)
{
    u32 i = index();
    out[i] = ackermann(i % 3, i % 4);
}

static NOINLINE u32 twice(u32 x) { return 2 * x; }
static NOINLINE u32 square(u32 x) { return x * x; }
static NOINLINE u32 negate(u32 x) { return -x; }

KERNEL pointers(GLOBAL u32 *out)
{
    u32 (*const table[3])(u32) = {twice, square, negate};
    u32 i = index();
    out[i] = table[i % 3](i);
}

KERNEL cases(GLOBAL const u32 *in, GLOBAL u32 *out)
{
    u32 x = in[index()], r;
    switch (x % 9) {
    case 0: r = x + 7; break;
    case 1: r = x * 3; break;
    case 2: r = x ^ 0x55; break;
    case 3: r = x >> 3; break;
    case 4: r = ~x; break;
    case 5: r = x * x; break;
    case 6: r = x / 5; break;
    case 7: r = x % 11; break;
    default: r = 0;
    }
    out[index()] = r;
}

/* 128-bit products: carries. */
KERNEL wide(GLOBAL const u64 *a, GLOBAL u64 *out)
{
    u32 i = index();
    unsigned __int128 product = (unsigned __int128)a[i] * a[i] + a[i];
    out[2 * i] = (u64)product;
    out[2 * i + 1] = (u64)(product >> 64);
}

struct point {
    double x, y;
    char tag[5];
};

static NOINLINE struct point turned(struct point p, u32 times)
{
    for (u32 i = 0; i < times; i++) {
        double x = p.x;
        p.x = -p.y;
        p.y = x;
        p.tag[i % 5]++;
    }
    return p;
}

KERNEL structures(struct point p, GLOBAL double *out)
{
    u32 i = index();
    struct point q = turned(p, i);
    out[3 * i] = q.x;
    out[3 * i + 1] = q.y;
    out[3 * i + 2] = q.tag[0] + 10 * q.tag[4];
}

/* Insertion sort of a local array. */
KERNEL local_sort(GLOBAL u32 *data)
{
    u32 own[8];
    GLOBAL u32 *mine = data + 8 * index();
    for (int i = 0; i < 8; i++)
        own[i] = mine[i];
    for (int i = 1; i < 8; i++) {
        u32 key = own[i];
        int j = i - 1;
        for (; j >= 0 && own[j] > key; j--)
            own[j + 1] = own[j];
        own[j + 1] = key;
    }
    for (int i = 0; i < 8; i++)
        mine[i] = own[i];
}
