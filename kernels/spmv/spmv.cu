// y = A * x for a sparse matrix in compressed rows (CSR): once with a thread for each row, once with a warp for each row.

extern "C" __global__ void spmv_scalar(unsigned rows, const unsigned *starts, const unsigned *columns,
                                       const float *values, const float *x, float *y)
{
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;

    float sum = 0.0f;
    for (unsigned i = starts[row]; i < starts[row + 1]; i++)
        sum = fmaf(values[i], x[columns[i]], sum);
    y[row] = sum;
}

extern "C" __global__ void spmv_vector(unsigned rows, const unsigned *starts, const unsigned *columns,
                                       const float *values, const float *x, float *y)
{
    const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const unsigned lane = threadIdx.x % 32;
    // The same for a whole warp, which therefore leaves or stays as one.
    if (row >= rows)
        return;

    float sum = 0.0f;
    for (unsigned i = starts[row] + lane; i < starts[row + 1]; i += 32)
        sum = fmaf(values[i], x[columns[i]], sum);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (lane == 0)
        y[row] = sum;
}
