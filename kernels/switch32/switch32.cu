// An interpreter: every thread runs a program of its own over two registers; each of the 32 operations is a case of one
// switch, and the registers change places after each operation.

extern "C" __global__ void interpret(const unsigned char *programs, unsigned length, unsigned threads,
                                     unsigned *results)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= threads)
        return;

    unsigned x = thread;
    unsigned y = 0x9e3779b9;
#pragma unroll 1
    for (unsigned i = 0; i < length; i++) {
        switch (programs[thread * length + i]) {
        case 0: x += y; break;
        case 1: x -= y; break;
        case 2: x *= y | 1; break;
        case 3: x ^= y; break;
        case 4: x &= y | 0xffff0000; break;
        case 5: x |= y & 0xff; break;
        case 6: x = ~x; break;
        case 7: x = -x; break;
        case 8: x <<= y & 7; break;
        case 9: x >>= y & 7; break;
        case 10: x = x << 11 | x >> 21; break;
        case 11: x = __popc(x) + y; break;
        case 12: x = __clz(x) ^ y; break;
        case 13: x = __brev(x); break;
        case 14: x = x % 1000003 + y; break;
        case 15: x = x / 7 + y; break;
        case 16: x = x > y ? x - y : y - x; break;
        case 17: x = min(x, y) + 17; break;
        case 18: x = max(x, y) - 17; break;
        case 19: x = __umulhi(x, y); break;
        case 20: x = x * x + y; break;
        case 21: x = x * 69069 + 1; break;
        case 22: x = (x & 0x00ff00ff) << 8 | (x >> 8 & 0x00ff00ff); break;
        case 23: x = x << 16 | x >> 16; break;
        case 24: x = (int)x >> 3; break;
        case 25: x = (int)x / 5; break;
        case 26: x = (int)x < (int)y ? x : y; break;
        case 27: x ^= x >> 15; break;
        case 28: x ^= x << 7; break;
        case 29: x = (x & 0xffff) * (y & 0xffff); break;
        case 30: x = x & 1 ? x / 2 ^ 0xedb88320 : x / 2; break;
        case 31: x += x << 3 ^ y >> 5; break;
        }
        const unsigned old = x;
        x = y;
        y = old;
    }
    results[thread] = x ^ y;
}
