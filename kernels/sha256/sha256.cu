// SHA-256 (FIPS 180-4) of messages of different lengths, one a thread.

__constant__ unsigned constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

__device__ unsigned rotate(unsigned x, unsigned n)
{
    return x >> n | x << (32 - n);
}

// Byte `i` of a message with its padding: a one bit, zeros, the length in bits as 64 bits.
__device__ unsigned padded(const unsigned char *message, unsigned length, unsigned blocks, unsigned i)
{
    if (i < length)
        return message[i];
    if (i == length)
        return 0x80;
    const unsigned end = 64 * blocks - 1 - i;
    return end < 4 ? 8 * length >> 8 * end & 0xff : 0;
}

extern "C" __global__ void sha256(const unsigned char *messages, const unsigned *starts, unsigned n, unsigned *digests)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n)
        return;

    const unsigned char *message = messages + starts[thread];
    const unsigned length = starts[thread + 1] - starts[thread];
    const unsigned blocks = (length + 9 + 63) / 64;
    unsigned h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

#pragma unroll 1
    for (unsigned block = 0; block < blocks; block++) {
        unsigned w[64];
#pragma unroll 1
        for (unsigned i = 0; i < 16; i++) {
            w[i] = 0;
            for (unsigned k = 0; k < 4; k++)
                w[i] = w[i] << 8 | padded(message, length, blocks, 64 * block + 4 * i + k);
        }
#pragma unroll 1
        for (unsigned i = 16; i < 64; i++) {
            const unsigned s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
            const unsigned s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        unsigned a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7];
#pragma unroll 1
        for (unsigned i = 0; i < 64; i++) {
            const unsigned s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
            const unsigned t1 = last + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i];
            const unsigned s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
            const unsigned t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
            last = g;
            g = f;
            f = e;
            e = d + t1;
            d = c;
            c = b;
            b = a;
            a = t1 + t2;
        }
        h[0] += a;
        h[1] += b;
        h[2] += c;
        h[3] += d;
        h[4] += e;
        h[5] += f;
        h[6] += g;
        h[7] += last;
    }
    for (unsigned i = 0; i < 8; i++)
        digests[8 * thread + i] = h[i];
}
