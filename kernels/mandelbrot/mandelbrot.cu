// How many steps of z = z^2 + c stay within |z| <= 2, one pixel a thread.

extern "C" __global__ void mandelbrot(unsigned short *counts, unsigned width, unsigned height,
                                      float left, float top, float step, unsigned limit)
{
    const unsigned px = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    const float cr = left + step * (float)px;
    const float ci = top + step * (float)py;
    float zr = 0.0f;
    float zi = 0.0f;
    unsigned n = 0;
    while (n < limit) {
        const float rr = zr * zr;
        const float ii = zi * zi;
        if (rr + ii > 4.0f)
            break;
        zi = 2.0f * zr * zi + ci;
        zr = rr - ii + cr;
        n++;
    }
    counts[py * width + px] = (unsigned short)n;
}
