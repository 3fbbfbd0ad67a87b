// C = alpha * A * B + beta * C in single precision, row-major, one element of C a thread, straight from memory.

extern "C" __global__ void sgemm(unsigned m, unsigned n, unsigned k, float alpha, const float *a, const float *b,
                                 float beta, float *c)
{
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;

    float sum = 0.0f;
    for (unsigned i = 0; i < k; i++)
        sum = fmaf(a[row * k + i], b[i * n + column], sum);
    c[row * n + column] = fmaf(alpha, sum, beta * c[row * n + column]);
}
