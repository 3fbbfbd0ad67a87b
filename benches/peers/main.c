// Runs one kernel on one engine: peers ENGINE KERNEL REPEATS PROGRAM OUTPUT. Prints the processor's seconds and the wall's for each run,
// as JSON; writes what all buffers hold in the end to OUTPUT. The first run, which may compile, is not among them.

#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES(n) ((size_t)(n) * 4)

static const union { float f; uint32_t u; } saxpy_a = {SAXPY_A}, step = {STEP};

static struct work works[] = {
    {0, "saxpy", {SAXPY / 256, 1}, {256, 1}, 2, {SAXPY}, 2, {{BYTES(SAXPY), FLOATS}, {BYTES(SAXPY), FLOATS}}},
    {1, "mandelbrot", {SIDE / 32, SIDE / 8}, {32, 8}, 4, {SIDE, SIDE, LIMIT}, 1, {{BYTES(SIDE * SIDE), ZEROS}}},
    {2, "sgemm", {MATRIX / 32, MATRIX / 8}, {32, 8}, 1, {MATRIX}, 3,
     {{BYTES(MATRIX * MATRIX), FLOATS}, {BYTES(MATRIX * MATRIX), FLOATS}, {BYTES(MATRIX * MATRIX), ZEROS}}},
    {3, "sgemm_tiled", {MATRIX / 16, MATRIX / 16}, {16, 16}, 1, {MATRIX}, 3,
     {{BYTES(MATRIX * MATRIX), FLOATS}, {BYTES(MATRIX * MATRIX), FLOATS}, {BYTES(MATRIX * MATRIX), ZEROS}}},
    {4, "reduce", {REDUCE / 256, 1}, {256, 1}, 0, {0}, 2, {{BYTES(REDUCE), FLOATS}, {BYTES(REDUCE / 256), ZEROS}}},
    {5, "collatz", {COLLATZ / 128, 1}, {128, 1}, 1, {COLLATZ}, 2, {{BYTES(COLLATZ), ZEROS}, {2 * BYTES(COLLATZ), ZEROS}}},
    {6, "divisors", {DIVISORS / 128, 1}, {128, 1}, 1, {DIVISORS}, 1, {{BYTES(DIVISORS), ZEROS}}},
    {7, "histogram", {GROUPS, 1}, {256, 1}, 1, {HISTOGRAM}, 2, {{BYTES(HISTOGRAM), NUMBERS}, {BYTES(256 * GROUPS), ZEROS}}},
};

_Noreturn void fail(const char *what, int code)
{
    fprintf(stderr, "%s: %d\n", what, code);
    exit(1);
}

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void contents(const struct buffer *buffer, uint32_t *words)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < buffer->bytes / 4; i++) {
        state = state * 1664525u + 1013904223u;
        const union { float f; uint32_t u; } number = {(float)(int)(state >> 16) / 65536.0f - 0.25f};
        words[i] = buffer->fill == ZEROS ? 0 : buffer->fill == FLOATS ? number.u : state >> 8;
    }
}

static char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, 0);
    char *text = calloc(1, 1 << 20);
    if (!text || fread(text, 1, (1 << 20) - 1, file) == 0)
        fail(path, 1);
    fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        fail("peers ENGINE KERNEL REPEATS PROGRAM OUTPUT", argc);
    works[0].word[1] = saxpy_a.u;
    works[1].word[3] = step.u;
    struct work *work = NULL;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (strcmp(works[i].name, argv[2]) == 0)
            work = &works[i];
    if (!work)
        fail(argv[2], 0);
    const int opencl = strcmp(argv[1], "opencl") == 0, scalar = strcmp(argv[1], "scalar") == 0;
    const struct engine *engine = opencl ? &opencl_engine : &cuda_engine;
    void *buffers[BUFFERS];
    for (int i = 0; i < work->buffers; i++)
        if (!(buffers[i] = aligned_alloc(64, work->buffer[i].bytes)))
            fail("memory", i);
    if (!scalar)
        engine->begin(work, text_of(argv[4]));
    const int repeats = atoi(argv[3]);
    printf("[");
    for (int run = 0; run <= repeats; run++) {
        for (int i = 0; i < work->buffers; i++)
            contents(&work->buffer[i], buffers[i]);
        if (!scalar)
            engine->fill(work, buffers);
        const double cpu = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
        if (scalar)
            scalar_run(work, buffers);
        else
            engine->run(work);
        const double took = now(CLOCK_PROCESS_CPUTIME_ID) - cpu, passed = now(CLOCK_MONOTONIC) - wall;
        if (run > 0)
            printf("%s[%.9f, %.9f]", run > 1 ? ", " : "", took, passed);
        if (!scalar)
            engine->fetch(work, buffers);
    }
    printf("]\n");
    FILE *out = fopen(argv[5], "wb");
    for (int i = 0; i < work->buffers; i++)
        if (!out || fwrite(buffers[i], 1, work->buffer[i].bytes, out) != work->buffer[i].bytes)
            fail(argv[5], i);
    fclose(out);
    return 0;
}
