/* Functions that call themselves and have local variables, for clang as a CUDA compiler and for the host, whose results are those expected:
 *
 *   clang -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib -fwrapv -O2 -Wno-everything -S frames.c
 *   cc -fwrapv frames.c -o frames && ./frames
 */

#ifdef __CUDA__
#define KERNEL extern "C" __attribute__((global)) void
#define NOINLINE extern "C" __attribute__((device, noinline))
#define INDEX (__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x())
#else
#include <stdio.h>
#define KERNEL static void
#define NOINLINE static
static int thread;
#define INDEX thread
#endif

/* A tree of calls; each reads its own array after the calls that it makes. */
NOINLINE int walk(int depth, int seed)
{
    int own[8];
    for (int i = 0; i < 8; i++)
        own[i] = seed * i + depth;
    if (depth == 0)
        return own[seed & 7];
    int sum = 0;
    for (int i = 0; i < 2; i++)
        sum += walk(depth - 1, own[(seed + i) & 7]);
    return sum + own[sum & 7];
}

/* Quicksort: the callees sort arrays of their callers. */
NOINLINE void sort(int *a, int n)
{
    if (n < 2)
        return;
    int less[16], more[16], l = 0, m = 0, pivot = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] < pivot)
            less[l++] = a[i];
        else
            more[m++] = a[i];
    sort(less, l);
    sort(more, m);
    for (int i = 0; i < l; i++)
        a[i] = less[i];
    a[l] = pivot;
    for (int i = 0; i < m; i++)
        a[l + 1 + i] = more[i];
}

KERNEL frames(unsigned *out)
{
    unsigned index = INDEX, x = index * 2654435761u + 1;
    int a[16];
    for (int i = 0; i < 16; i++) {
        x = x * 1664525u + 1013904223u;
        a[i] = x >> 20;
    }
    sort(a, 8 + (index & 7));
    unsigned sum = walk(3 + (index & 3), index);
    for (int i = 0; i < 16; i++)
        sum = sum * 31 + a[i];
    out[index] = sum;
}

#ifndef __CUDA__
int main(void)
{
    static unsigned out[96];
    for (thread = 0; thread < 96; thread++)
        frames(out);
    for (int i = 0; i < 96; i++)
        printf("%u%s", out[i], i < 95 ? ", " : "\n");
    return 0;
}
#endif
