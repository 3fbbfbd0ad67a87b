// Dot product in double precision: a sum for each block in a fixed order, and a total by atomic additions in any order.

extern "C" __global__ void dot(const double *x, const double *y, unsigned n, double *sums, double *total)
{
    __shared__ double partial[128];

    double value = 0.0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        value = fma(x[i], y[i], value);
    partial[threadIdx.x] = value;
    __syncthreads();

    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = partial[0];
        atomicAdd(total, partial[0]);
    }
}
