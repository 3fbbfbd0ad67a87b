// One step of heat flow on a plate whose border keeps its temperature: each inner point becomes the mean of its four
// neighbours. A block of 16 x 16 threads works on a tile in shared memory with a halo one point wide.

#define TILE 16

extern "C" __global__ void stencil2d(const float *before, float *after, int width, int height)
{
    __shared__ float tile[TILE + 2][TILE + 2];

    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    const int tx = threadIdx.x + 1;
    const int ty = threadIdx.y + 1;
    const bool inside = x < width && y < height;

    if (inside) {
        tile[ty][tx] = before[y * width + x];
        if (tx == 1 && x > 0)
            tile[ty][0] = before[y * width + x - 1];
        if (tx == TILE && x + 1 < width)
            tile[ty][TILE + 1] = before[y * width + x + 1];
        if (ty == 1 && y > 0)
            tile[0][tx] = before[(y - 1) * width + x];
        if (ty == TILE && y + 1 < height)
            tile[TILE + 1][tx] = before[(y + 1) * width + x];
    }
    // Threads outside the plate come here, too: the barrier waits for the whole block.
    __syncthreads();
    if (!inside)
        return;

    float value = tile[ty][tx];
    if (x > 0 && x + 1 < width && y > 0 && y + 1 < height)
        value = 0.25f * ((tile[ty - 1][tx] + tile[ty + 1][tx]) + (tile[ty][tx - 1] + tile[ty][tx + 1]));
    after[y * width + x] = value;
}
