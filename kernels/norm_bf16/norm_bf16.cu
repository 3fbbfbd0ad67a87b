// Root-mean-square normalisation of rows in bfloat16, a warp a row: out = x / sqrt(mean(x^2) + epsilon) * weight.
// Arithmetic is in single precision.

#include <cuda_bf16.h>

extern "C" __global__ void norm_bf16(const __nv_bfloat16 *input, const __nv_bfloat16 *weights, unsigned rows,
                                     unsigned columns, float epsilon, __nv_bfloat16 *output)
{
    const unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const unsigned lane = threadIdx.x % 32;
    if (row >= rows)
        return;

    float squares = 0.0f;
    for (unsigned i = lane; i < columns; i += 32) {
        const float x = __bfloat162float(input[row * columns + i]);
        squares = fmaf(x, x, squares);
    }
    for (int distance = 16; distance > 0; distance /= 2)
        squares += __shfl_xor_sync(0xffffffff, squares, distance);

    const float scale = 1.0f / sqrtf(squares / (float)columns + epsilon);
    for (unsigned i = lane; i < columns; i += 32) {
        const float x = __bfloat162float(input[row * columns + i]);
        output[row * columns + i] = __float2bfloat16_rn(x * scale * __bfloat162float(weights[i]));
    }
}
