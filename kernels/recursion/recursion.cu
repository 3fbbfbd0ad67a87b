// Integrates 1 / (x^2 + e) from 0 to 1, with an e of its own for each thread, by Simpson's rule, halving every interval
// on which two halves disagree with the whole: a device function that calls itself.

__device__ double function(double x, double e)
{
    return 1.0 / (x * x + e);
}

__device__ double simpson(double fa, double fm, double fb, double width)
{
    return width / 6.0 * (fa + 4.0 * fm + fb);
}

// Integral over [a, a + width] to within `tolerance`; `whole` is Simpson's estimate for it. Counts calls.
__device__ __noinline__ double integrate(double e, double a, double width, double fa, double fm, double fb,
                                         double whole, double tolerance, unsigned *calls)
{
    *calls += 1;
    const double half = 0.5 * width;
    const double fl = function(a + 0.5 * half, e);
    const double fr = function(a + 1.5 * half, e);
    const double left = simpson(fa, fl, fm, half);
    const double right = simpson(fm, fr, fb, half);
    const double error = left + right - whole;
    if (fabs(error) <= 15.0 * tolerance)
        return left + right + error / 15.0;
    const double first = integrate(e, a, half, fa, fl, fm, left, 0.5 * tolerance, calls);
    const double second = integrate(e, a + half, half, fm, fr, fb, right, 0.5 * tolerance, calls);
    return first + second;
}

extern "C" __global__ void integrals(const double *parameters, unsigned n, double tolerance, double *results,
                                     unsigned *calls)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    const double e = parameters[i];
    const double fa = function(0.0, e);
    const double fm = function(0.5, e);
    const double fb = function(1.0, e);
    unsigned count = 0;
    results[i] = integrate(e, 0.0, 1.0, fa, fm, fb, simpson(fa, fm, fb, 1.0), tolerance, &count);
    calls[i] = count;
}
