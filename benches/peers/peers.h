// What the kernels are run on, for all engines.

#ifndef PEERS_H
#define PEERS_H

#include <stddef.h>
#include <stdint.h>

#define SAXPY (1u << 20)
#define SAXPY_A 2.5f
#define SIDE 512u
#define LIMIT 256u
#define STEP 0.0048828125f
#define MATRIX 256u
#define REDUCE (1u << 20)
#define COLLATZ (1u << 16)
#define DIVISORS (1u << 16)
#define HISTOGRAM (1u << 20)
#define GROUPS 64u

enum { BUFFERS = 3, WORDS = 4 };

// How a buffer begins.
enum fill { ZEROS, FLOATS, NUMBERS };

struct buffer {
    size_t bytes;
    enum fill fill;
};

// A kernel and its launch: its parameters are words, then buffers.
struct work {
    int number;
    const char *name;
    unsigned groups[2], group[2];
    int words;
    uint32_t word[WORDS];
    int buffers;
    struct buffer buffer[BUFFERS];
};

// Runs a kernel's loop on buffers.
void scalar_run(const struct work *work, void **buffers);

// Engines that take kernels: begin with a program, then launches on the contents that are given, which come back.
struct engine {
    void (*begin)(const struct work *work, const char *program);
    // Copies buffers in.
    void (*fill)(const struct work *work, void **buffers);
    // Runs the kernel to its end: what is timed.
    void (*run)(const struct work *work);
    // Copies buffers out.
    void (*fetch)(const struct work *work, void **buffers);
};

extern const struct engine opencl_engine, cuda_engine;

_Noreturn void fail(const char *what, int code);

#endif
