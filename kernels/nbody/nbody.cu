// One step of n bodies under gravity, every pair computed; positions are (x, y, z, mass). A block brings the bodies
// through shared memory, as many at a time as it has threads.

#define BLOCK 64

extern "C" __global__ void nbody(const float4 *before, float4 *after, float4 *velocities, unsigned n, float dt,
                                 float softening)
{
    __shared__ float4 bodies[BLOCK];

    const unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 self = i < n ? before[i] : zero;
    float ax = 0.0f;
    float ay = 0.0f;
    float az = 0.0f;
    for (unsigned start = 0; start < n; start += BLOCK) {
        // A body without mass attracts nothing, so the last tile may be filled up with them.
        bodies[threadIdx.x] = start + threadIdx.x < n ? before[start + threadIdx.x] : zero;
        __syncthreads();
        for (unsigned j = 0; j < BLOCK; j++) {
            const float dx = bodies[j].x - self.x;
            const float dy = bodies[j].y - self.y;
            const float dz = bodies[j].z - self.z;
            const float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening)));
            const float inverse = 1.0f / sqrtf(square);
            const float factor = bodies[j].w * inverse * inverse * inverse;
            ax = fmaf(dx, factor, ax);
            ay = fmaf(dy, factor, ay);
            az = fmaf(dz, factor, az);
        }
        __syncthreads();
    }
    if (i < n) {
        float4 v = velocities[i];
        v.x = fmaf(ax, dt, v.x);
        v.y = fmaf(ay, dt, v.y);
        v.z = fmaf(az, dt, v.z);
        velocities[i] = v;
        self.x = fmaf(v.x, dt, self.x);
        self.y = fmaf(v.y, dt, self.y);
        self.z = fmaf(v.z, dt, self.z);
        after[i] = self;
    }
}
