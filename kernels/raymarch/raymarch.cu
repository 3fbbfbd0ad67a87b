// Follows a ray for each pixel through a scene of spheres over a plane, in steps as long as nothing can be hit (sphere
// tracing), and a second ray from there to the light. Gives the brightness and the number of steps.

struct Vector {
    float x, y, z;
};

__device__ float distance_to_scene(Vector p)
{
    // Spheres of radius 0.4 in the cells of a grid, alternately higher and lower.
    const float cx = floorf(p.x + 0.5f);
    const float cz = floorf(p.z + 0.5f);
    const int odd = ((int)cx + (int)cz) & 1;
    const float dx = p.x - cx;
    const float dy = p.y - (odd ? 0.25f : 0.0f);
    const float dz = p.z - cz;
    const float sphere = sqrtf(dx * dx + dy * dy + dz * dz) - 0.4f;
    return fminf(sphere, p.y + 0.4f);
}

// Steps along a ray until something is nearer than `near` or the ray is longer than `far`; returns its length.
__device__ float march(Vector from, Vector direction, float start, float near, float far, unsigned *steps)
{
    float t = start;
#pragma unroll 1
    for (unsigned i = 0; i < 120; i++) {
        const Vector p = {from.x + t * direction.x, from.y + t * direction.y, from.z + t * direction.z};
        const float distance = distance_to_scene(p);
        if (distance < near)
            break;
        // No longer than to the next cell, whose sphere is not in the distance yet.
        t += fminf(distance, 0.3f);
        *steps += 1;
        if (t > far)
            break;
    }
    return t;
}

extern "C" __global__ void raymarch(unsigned width, unsigned height, unsigned char *image, unsigned short *steps)
{
    const unsigned px = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;

    const Vector eye = {0.1f, 1.2f, -3.0f};
    const float u = ((float)px + 0.5f) / (float)height - 0.75f;
    const float v = 0.2f - ((float)py + 0.5f) / (float)height;
    const float length = sqrtf(u * u + v * v + 1.0f);
    const Vector direction = {u / length, v / length, 1.0f / length};

    unsigned count = 0;
    const float far = 12.0f;
    const float t = march(eye, direction, 0.0f, 0.001f, far, &count);
    unsigned brightness = 0;
    if (t <= far) {
        const Vector hit = {eye.x + t * direction.x, eye.y + t * direction.y, eye.z + t * direction.z};
        const Vector light = {-0.48f, 0.64f, -0.6f};
        const float free = march(hit, light, 0.02f, 0.001f, 4.0f, &count);
        brightness = 64 + (unsigned)(fminf(free, 4.0f) * 40.0f);
    }
    image[py * width + px] = (unsigned char)brightness;
    steps[py * width + px] = (unsigned short)count;
}
