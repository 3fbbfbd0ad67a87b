/* The C interface as a program uses it, and as a careless one does. */
#include "simtlab.h"
#include "check.h"
#include <pthread.h>
#include <string.h>

static const char *const PTX =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .global .align 4 .u32 factor = 3;\n"
    ".visible .entry scale(.param .u64 data, .param .u32 n) {\n"
    "  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<3>;\n"
    "  ld.param.u64 %d0, [data];\n"
    "  ld.param.u32 %r0, [n];\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  setp.ge.u32 %p, %r1, %r0;\n"
    "  @%p ret;\n"
    "  mul.wide.u32 %d1, %r1, 4;\n"
    "  add.u64 %d0, %d0, %d1;\n"
    "  ld.global.u32 %r4, [factor];\n"
    "  ld.global.u32 %r3, [%d0];\n"
    "  mul.lo.u32 %r3, %r3, %r4;\n"
    "  st.global.u32 [%d0], %r3;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry forever() { loop: bra loop; }\n";

enum { N = 1000 };

struct params {
    uint64_t data;
    uint32_t n;
};

static simtlab_status launch(uint64_t context, uint64_t module, uint64_t data, uint32_t n, simtlab_stats *stats) {
    struct params params = {data, n};
    simtlab_shape shape = {{(n + 127) / 128, 1, 1}, {128, 1, 1}, 0};
    return simtlab_launch(context, module, "scale", &shape, &params, 12, stats);
}

static void good(void) {
    uint64_t context, module, data, at, bytes, count;
    uint32_t host[N];
    CHECK(strlen(simtlab_version()) >= 5);
    CHECK(simtlab_context_create(0, &context) == SIMTLAB_OK);
    CHECK(simtlab_load(context, PTX, &module) == SIMTLAB_OK);
    CHECK(simtlab_params(context, module, "scale", &count, &bytes) == SIMTLAB_OK);
    CHECK(count == 2 && bytes == 12);
    CHECK(simtlab_param(context, module, "scale", 1, &at, &bytes) == SIMTLAB_OK);
    CHECK(at == 8 && bytes == 4);
    CHECK(simtlab_alloc(context, sizeof host, &data) == SIMTLAB_OK);
    for (uint32_t i = 0; i < N; i++) host[i] = i;
    CHECK(simtlab_write(context, data, host, sizeof host) == SIMTLAB_OK);
    simtlab_stats stats;
    CHECK(launch(context, module, data, N, &stats) == SIMTLAB_OK);
    CHECK(stats.blocks == 8 && stats.threads == 1024 && stats.lane_slots == 32 * stats.issues);
    /* Memory and variables live on between launches. */
    CHECK(simtlab_variable(context, module, "factor", &at, &bytes) == SIMTLAB_OK && bytes == 4);
    uint32_t five = 5;
    CHECK(simtlab_write(context, at, &five, 4) == SIMTLAB_OK);
    CHECK(launch(context, module, data, N - 1, NULL) == SIMTLAB_OK);
    memset(host, 0, sizeof host);
    CHECK(simtlab_read(context, host, data, sizeof host) == SIMTLAB_OK);
    for (uint32_t i = 0; i < N; i++) CHECK(host[i] == i * (i < N - 1 ? 15 : 3));
    CHECK(simtlab_fill(context, data, 0xff, 8) == SIMTLAB_OK);
    CHECK(simtlab_read(context, host, data, 12) == SIMTLAB_OK);
    CHECK(host[0] == 0xffffffff && host[1] == 0xffffffff && host[2] == 30);
    CHECK(strcmp(simtlab_error(), "") == 0);
    CHECK(simtlab_unload(context, module) == SIMTLAB_OK);
    CHECK(simtlab_free(context, data) == SIMTLAB_OK);
    CHECK(simtlab_context_destroy(context) == SIMTLAB_OK);
}

static void bad(void) {
    uint64_t context, module, data, other;
    uint32_t host[4] = {0};
    CHECK(simtlab_context_create(1 << 20, NULL) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_context_create(1 << 20, (uint64_t *)8) == SIMTLAB_BAD_HOST_ADDRESS);
    CHECK(simtlab_context_create(1 << 20, &context) == SIMTLAB_OK);
    CHECK(simtlab_alloc(context + 1000, 4, &data) == SIMTLAB_INVALID_HANDLE);
    CHECK(simtlab_alloc(context, 1 << 21, &data) == SIMTLAB_OUT_OF_MEMORY);
    CHECK(simtlab_alloc(context, UINT64_MAX, &data) == SIMTLAB_OUT_OF_MEMORY);
    CHECK(simtlab_alloc(context, 16, &data) == SIMTLAB_OK);
    CHECK(simtlab_write(context, data, NULL, 16) == SIMTLAB_BAD_HOST_ADDRESS);
    CHECK(simtlab_write(context, data, (void *)64, 16) == SIMTLAB_BAD_HOST_ADDRESS);
    CHECK(simtlab_write(context, data + 8, host, 16) == SIMTLAB_BAD_ADDRESS);
    CHECK(simtlab_read(context, host, 0, 16) == SIMTLAB_BAD_ADDRESS);
    CHECK(simtlab_read(context, host, data, UINT64_MAX) == SIMTLAB_BAD_ADDRESS);
    CHECK(simtlab_read(context, (void *)PTX, data, 4) == SIMTLAB_BAD_HOST_ADDRESS);
    CHECK(simtlab_free(context, data + 4) == SIMTLAB_BAD_ADDRESS);
    CHECK(simtlab_load(context, NULL, &module) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_load(context, "\x7f" "ELF", &module) == SIMTLAB_BAD_PROGRAM);
    CHECK(simtlab_load(context, "\xff\xfe", &module) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_load(context, ".version 7.0 .target sm_70 .entry k() { nonsense; }", &module) == SIMTLAB_BAD_PROGRAM);
    CHECK(strlen(simtlab_error()) > 0);
    CHECK(simtlab_load(context, PTX, &module) == SIMTLAB_OK);
    CHECK(simtlab_params(context, module, "none", NULL, NULL) == SIMTLAB_NOT_FOUND);
    CHECK(simtlab_params(context, module + 1, "scale", NULL, NULL) == SIMTLAB_INVALID_HANDLE);
    CHECK(simtlab_variable(context, module, "none", NULL, NULL) == SIMTLAB_NOT_FOUND);
    /* Memory of a variable is not the program's to free. */
    CHECK(simtlab_variable(context, module, "factor", &other, NULL) == SIMTLAB_OK);
    CHECK(simtlab_free(context, other) == SIMTLAB_BAD_ADDRESS);
    simtlab_shape shape = {{1, 1, 1}, {2048, 1, 1}, 0};
    struct params params = {data, 4};
    CHECK(simtlab_launch(context, module, "scale", &shape, &params, 12, NULL) == SIMTLAB_BAD_LAUNCH);
    shape.block[0] = 32;
    CHECK(simtlab_launch(context, module, "scale", &shape, &params, 16, NULL) == SIMTLAB_BAD_LAUNCH);
    CHECK(simtlab_launch(context, module, "scale", &shape, NULL, 12, NULL) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_launch(context, module, "scale", NULL, &params, 12, NULL) == SIMTLAB_INVALID_ARGUMENT);
    CHECK(simtlab_launch(context, module, "scale", (void *)16, &params, 12, NULL) == SIMTLAB_BAD_HOST_ADDRESS);
    CHECK(simtlab_launch(context, module, NULL, &shape, &params, 12, NULL) == SIMTLAB_INVALID_ARGUMENT);
    shape.grid[0] = 0;
    CHECK(simtlab_launch(context, module, "scale", &shape, &params, 12, NULL) == SIMTLAB_BAD_LAUNCH);
    /* Beyond the buffer: a fault with its place; the context lives on. */
    CHECK(launch(context, module, data, 100, NULL) == SIMTLAB_FAULT);
    CHECK(strstr(simtlab_error(), "ld.global.u32 %r3") != NULL);
    CHECK(launch(context, module, data, 4, NULL) == SIMTLAB_OK);
    shape.grid[0] = 1;
    CHECK(simtlab_launch(context, module, "forever", &shape, NULL, 0, NULL) == SIMTLAB_HANG);
    CHECK(simtlab_free(context, data) == SIMTLAB_OK);
    CHECK(simtlab_free(context, data) == SIMTLAB_BAD_ADDRESS);
    CHECK(launch(context, module, data, 4, NULL) == SIMTLAB_FAULT);
    CHECK(strstr(simtlab_error(), "use after free") != NULL);
    CHECK(simtlab_unload(context, module) == SIMTLAB_OK);
    CHECK(simtlab_unload(context, module) == SIMTLAB_INVALID_HANDLE);
    CHECK(simtlab_context_destroy(context) == SIMTLAB_OK);
    CHECK(simtlab_context_destroy(context) == SIMTLAB_INVALID_HANDLE);
    CHECK(simtlab_alloc(context, 16, &data) == SIMTLAB_INVALID_HANDLE);
}

static void *worker(void *shared) {
    uint64_t context = *(uint64_t *)shared, module, data;
    for (int round = 0; round < 5; round++) {
        uint32_t host[64];
        for (uint32_t i = 0; i < 64; i++) host[i] = i;
        CHECK(simtlab_load(context, PTX, &module) == SIMTLAB_OK);
        CHECK(simtlab_alloc(context, sizeof host, &data) == SIMTLAB_OK);
        CHECK(simtlab_write(context, data, host, sizeof host) == SIMTLAB_OK);
        CHECK(launch(context, module, data, 64, NULL) == SIMTLAB_OK);
        CHECK(simtlab_read(context, host, data, sizeof host) == SIMTLAB_OK);
        for (uint32_t i = 0; i < 64; i++) CHECK(host[i] == 3 * i);
        CHECK(simtlab_free(context, data) == SIMTLAB_OK);
        CHECK(simtlab_unload(context, module) == SIMTLAB_OK);
        CHECK(simtlab_free(context, 12) == SIMTLAB_BAD_ADDRESS && strlen(simtlab_error()) > 0);
    }
    return NULL;
}

int main(void) {
    good();
    bad();
    uint64_t context;
    CHECK(simtlab_context_create(0, &context) == SIMTLAB_OK);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) CHECK(pthread_create(&threads[i], NULL, worker, &context) == 0);
    for (int i = 0; i < 8; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(simtlab_context_destroy(context) == SIMTLAB_OK);
    puts("all checks passed");
    return 0;
}
