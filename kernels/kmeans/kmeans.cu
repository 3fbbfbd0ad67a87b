// k-means in the plane with integer coordinates, so that sums do not depend on the order of additions.

#define CLUSTERS 6

// Gives every point to the nearest centre (the first of equally near ones) and adds up the clusters.
extern "C" __global__ void kmeans_assign(const short2 *points, unsigned n, const int2 *centres, unsigned char *labels,
                                         int *sums, unsigned *moved)
{
    __shared__ int local[CLUSTERS][3];

    for (unsigned i = threadIdx.x; i < CLUSTERS * 3; i += blockDim.x)
        local[i / 3][i % 3] = 0;
    __syncthreads();

    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const int x = points[i].x;
        const int y = points[i].y;
        unsigned best = 0;
        long long nearest = 0x7fffffffffffffffll;
        for (unsigned c = 0; c < CLUSTERS; c++) {
            const long long dx = x - centres[c].x;
            const long long dy = y - centres[c].y;
            const long long distance = dx * dx + dy * dy;
            if (distance < nearest) {
                nearest = distance;
                best = c;
            }
        }
        if (labels[i] != best) {
            labels[i] = (unsigned char)best;
            atomicAdd(moved, 1);
        }
        atomicAdd(&local[best][0], x);
        atomicAdd(&local[best][1], y);
        atomicAdd(&local[best][2], 1);
    }
    __syncthreads();

    for (unsigned i = threadIdx.x; i < CLUSTERS * 3; i += blockDim.x)
        if (local[i / 3][i % 3] != 0)
            atomicAdd(&sums[i], local[i / 3][i % 3]);
}

// Moves every centre to the mean of its cluster, rounded toward zero, and clears the sums.
extern "C" __global__ void kmeans_update(int2 *centres, int *sums)
{
    const unsigned c = threadIdx.x;
    if (c >= CLUSTERS)
        return;

    const int count = sums[3 * c + 2];
    if (count > 0) {
        centres[c].x = sums[3 * c] / count;
        centres[c].y = sums[3 * c + 1] / count;
    }
    sums[3 * c] = 0;
    sums[3 * c + 1] = 0;
    sums[3 * c + 2] = 0;
}
