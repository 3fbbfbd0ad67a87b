// C = A * B in single precision, row-major. A block works on a tile of 16 x 16 elements of C and brings tiles of A and
// B through shared memory; what lies outside a matrix counts as zero.

#define TILE 16

extern "C" __global__ void sgemm_tiled(unsigned m, unsigned n, unsigned k, const float *a, const float *b, float *c)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const unsigned tx = threadIdx.x;
    const unsigned ty = threadIdx.y;
    const unsigned column = blockIdx.x * TILE + tx;
    const unsigned row = blockIdx.y * TILE + ty;

    float sum = 0.0f;
    for (unsigned start = 0; start < k; start += TILE) {
        tile_a[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
        tile_b[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (unsigned i = 0; i < TILE; i++)
            sum = fmaf(tile_a[ty][i], tile_b[i][tx], sum);
        __syncthreads();
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
