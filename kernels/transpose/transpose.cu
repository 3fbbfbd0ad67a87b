// output = input transposed, by tiles of 32 x 32 that a block of 32 x 8 threads turns in shared memory, so that reads
// and writes of global memory both go along rows. The tile is 33 wide: without the spare column its columns would all
// lie in one bank. transpose_naive does without the tile, and writes along columns.

#define TILE 32
#define ROWS 8

extern "C" __global__ void transpose(const unsigned *input, unsigned *output, unsigned width, unsigned height)
{
    __shared__ unsigned tile[TILE][TILE + 1];

    unsigned x = blockIdx.x * TILE + threadIdx.x;
    unsigned y = blockIdx.y * TILE + threadIdx.y;
    for (unsigned i = 0; i < TILE; i += ROWS)
        if (x < width && y + i < height)
            tile[threadIdx.y + i][threadIdx.x] = input[(y + i) * width + x];
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (unsigned i = 0; i < TILE; i += ROWS)
        if (x < height && y + i < width)
            output[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_naive(const unsigned *input, unsigned *output, unsigned width, unsigned height)
{
    const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        output[x * height + y] = input[y * width + x];
}
