// The Mandelbrot set with an unstructured loop: it is left at three places, and one of them goes back into the middle of the code
// behind it. What leaves early looks for a cycle first; both kinds of end share the code that stores.

extern "C" __global__ void mandelbrot(unsigned *counts, unsigned width, unsigned height, unsigned limit)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float cr = -2.0f + 2.5f * (float)x / (float)width, ci = -1.25f + 2.5f * (float)y / (float)height;
    float zr = 0.0f, zi = 0.0f, oldr = 0.0f, oldi = 0.0f;
    unsigned n = 0, period = 8, result;
again:
    if (n == limit)
        goto inside;
    {
        float r2 = zr * zr, i2 = zi * zi;
        if (r2 + i2 > 4.0f)
            goto escaped;
        zi = 2.0f * zr * zi + ci;
        zr = r2 - i2 + cr;
    }
    n++;
    if (zr == oldr && zi == oldi)
        goto cycle;
    if (n == period) {
        period *= 2;
        oldr = zr;
        oldi = zi;
    }
    goto again;
cycle:
    result = 0x10000;
    if (n < 64)
        goto mark;
    result = 0x20000;
    goto mark;
inside:
    result = 0x40000;
mark:
    result |= n;
    goto store;
escaped:
    result = n;
store:
    counts[y * width + x] = result;
}
