// Prices of European options by the formula of Black and Scholes. The normal distribution is the polynomial of
// Abramowitz and Stegun 26.2.17, good to 7.5e-8.

__device__ float normal(float d)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float density = 0.3989422804f * expf(-0.5f * d * d);
    const float tail = density * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f +
                                  k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0.0f ? 1.0f - tail : tail;
}

// `options` holds (price, strike, years, volatility).
extern "C" __global__ void black_scholes(const float4 *options, unsigned n, float rate, float *calls, float *puts)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const float4 o = options[i];
    const float deviation = o.w * sqrtf(o.z);
    const float d1 = (logf(o.x / o.y) + (rate + 0.5f * o.w * o.w) * o.z) / deviation;
    const float d2 = d1 - deviation;
    const float discounted = o.y * expf(-rate * o.z);
    calls[i] = o.x * normal(d1) - discounted * normal(d2);
    puts[i] = discounted * normal(-d2) - o.x * normal(-d1);
}
