// A layer of a quantised network: products of signed bytes four at a time, a bias, scaling by a shift with rounding,
// and saturation to a byte that is not negative.

extern "C" __global__ void dense_int8(const int *weights, const int *input, const int *bias, unsigned outputs,
                                      unsigned quads, int shift, unsigned char *result)
{
    const unsigned o = blockIdx.x * blockDim.x + threadIdx.x;
    if (o >= outputs)
        return;

    int sum = bias[o];
    for (unsigned i = 0; i < quads; i++)
        sum = __dp4a(weights[o * quads + i], input[i], sum);
    sum = (sum + (1 << (shift - 1))) >> shift;
    result[o] = (unsigned char)min(max(sum, 0), 255);
}
