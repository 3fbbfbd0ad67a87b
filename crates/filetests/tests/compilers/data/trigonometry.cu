// sin, cos and tan of double precision: great angles are reduced by a function that kernels call.
extern "C" __global__ void sine(double *out, const double *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = sin(x[i]);
}

extern "C" __global__ void cosine(double *out, const double *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = cos(x[i]);
}

extern "C" __global__ void tangent(double *out, const double *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tan(x[i]);
}
