// The computations of `kernels.cl` as plain loops over elements: what a compiler makes of C that knows nothing of warps.

#include "peers.h"

#include <math.h>

static void saxpy(float a, const float *restrict x, float *restrict y)
{
    for (uint32_t i = 0; i < SAXPY; i++)
        y[i] = fmaf(a, x[i], y[i]);
}

static void mandelbrot(uint32_t *restrict counts)
{
    for (uint32_t py = 0; py < SIDE; py++)
        for (uint32_t px = 0; px < SIDE; px++) {
            const float cr = fmaf(STEP, (float)px, -2.0f), ci = fmaf(STEP, (float)py, -1.25f);
            float zr = 0.0f, zi = 0.0f;
            uint32_t n = 0;
            while (n < LIMIT) {
                const float rr = zr * zr, ii = zi * zi;
                if (rr + ii > 4.0f)
                    break;
                zi = fmaf(2.0f * zr, zi, ci);
                zr = rr - ii + cr;
                n++;
            }
            counts[py * SIDE + px] = n;
        }
}

static void sgemm(const float *restrict a, const float *restrict b, float *restrict c)
{
    for (uint32_t row = 0; row < MATRIX; row++)
        for (uint32_t column = 0; column < MATRIX; column++) {
            float sum = 0.0f;
            for (uint32_t i = 0; i < MATRIX; i++)
                sum = fmaf(a[row * MATRIX + i], b[i * MATRIX + column], sum);
            c[row * MATRIX + column] = sum;
        }
}

static void reduce(const float *restrict x, float *restrict sums)
{
    for (uint32_t group = 0; group < REDUCE / 256; group++) {
        float part[256];
        for (uint32_t i = 0; i < 256; i++)
            part[i] = x[256 * group + i];
        for (uint32_t stride = 128; stride > 0; stride /= 2)
            for (uint32_t i = 0; i < stride; i++)
                part[i] += part[i + stride];
        sums[group] = part[0];
    }
}

static void collatz(uint32_t *restrict steps, uint64_t *restrict peaks)
{
    for (uint32_t i = 0; i < COLLATZ; i++) {
        uint64_t n = (uint64_t)i + 1, peak = n;
        uint32_t length = 0;
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
}

static void divisors(uint32_t *restrict least)
{
    for (uint32_t i = 0; i < DIVISORS; i++) {
        const uint32_t number = 2 * i + 3;
        uint32_t d = 3;
        while (d * d <= number && number % d != 0)
            d += 2;
        least[i] = d * d <= number ? d : number;
    }
}

// Groups of 256 threads step over the data together, each with a table of its own.
static void histogram(const uint32_t *restrict data, uint32_t *restrict bins)
{
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint32_t mine[256] = {0};
        for (uint32_t from = 256 * group; from < HISTOGRAM; from += 256 * GROUPS)
            for (uint32_t i = from; i < from + 256; i++)
                mine[data[i] & 255]++;
        for (uint32_t bin = 0; bin < 256; bin++)
            bins[256 * group + bin] = mine[bin];
    }
}

void scalar_run(const struct work *work, void **b)
{
    switch (work->number) {
    case 0: saxpy(SAXPY_A, b[0], b[1]); break;
    case 1: mandelbrot(b[0]); break;
    case 2:
    case 3: sgemm(b[0], b[1], b[2]); break;
    case 4: reduce(b[0], b[1]); break;
    case 5: collatz(b[0], b[1]); break;
    case 6: divisors(b[0]); break;
    case 7: histogram(b[0], b[1]); break;
    }
}
