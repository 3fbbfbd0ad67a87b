/* Host memory of launches: in place while the only thread waits, copied while another one runs. The driver's path is the first argument. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { WORDS = 5000, ILLEGAL_ADDRESS = 700 };

static void *library;

/* A function of the driver with arguments of any types. */
#define CALL(name, ...) ((int (*)())dlsym(library, #name))(__VA_ARGS__)

/* `add` adds 1 to each word, and to the words that a pointer in memory leads to; `beyond` stores 9, and then to address 8. */
static const char *const TEXT =
    ".version 7.0 .target sm_70 .address_size 64\n"
    ".visible .entry add(.param .u64 at, .param .u32 words) {\n"
    "  .reg .b32 %t, %b, %i, %w, %v; .reg .b64 %a, %o; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at]; ld.param.u32 %w, [words];\n"
    "  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %i, %b, 128, %t;\n"
    "  setp.ge.u32 %p, %i, %w; @%p ret;\n"
    "  mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
    "  ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret; }\n"
    ".visible .entry through(.param .u64 at, .param .u32 words) {\n"
    "  .reg .b32 %t, %b, %i, %w, %v; .reg .b64 %a, %c, %o; .reg .pred %p;\n"
    "  ld.param.u64 %c, [at]; ld.param.u32 %w, [words];\n"
    "  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %i, %b, 128, %t;\n"
    "  setp.ge.u32 %p, %i, %w; @%p ret;\n"
    "  red.global.add.u32 [%c+8], 1;\n"
    "  ld.global.u64 %a, [%c];\n"
    "  mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
    "  ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret; }\n"
    ".visible .entry beyond(.param .u64 at, .param .u32 words) {\n"
    "  .reg .b64 %a;\n"
    "  ld.param.u64 %a, [at]; st.global.u32 [%a], 9; st.global.u32 [8], 1; ret; }\n";

static uint64_t context, module;

static void open_context(void) {
    CHECK(CALL(cuCtxCreate_v2, &context, 0, 0) == 0);
    CHECK(CALL(cuModuleLoadData, &module, TEXT) == 0);
}

static int launch(const char *name, uint64_t at) {
    uint64_t kernel;
    uint32_t words = WORDS;
    void *params[] = {&at, &words};
    CHECK(CALL(cuModuleGetFunction, &kernel, module, name) == 0);
    int (*launch)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **);
    *(void **)&launch = dlsym(library, "cuLaunchKernel");
    int status = launch(kernel, (WORDS + 127) / 128, 1, 1, 128, 1, 1, 0, 0, params, NULL);
    int end = CALL(cuCtxSynchronize);
    return status ? status : end;
}

static int all(const volatile uint32_t *words, uint32_t value) {
    for (int i = 0; i < WORDS; i++)
        if (words[i] != value) return 0;
    return 1;
}

static void fill(volatile uint32_t *words, uint32_t value) {
    for (int i = 0; i < WORDS; i++) words[i] = value;
}

/* Each kind of memory has the host's bytes before a launch, and the launch's after it. */
static void use(volatile uint32_t *words) {
    for (uint32_t value = 3; value < 6; value++) {
        fill(words, value);
        for (uint32_t i = 1; i < 4; i++) {
            CHECK(launch("add", (uint64_t)(uintptr_t)words) == 0);
            CHECK(all(words, value + i));
        }
    }
}

/* Kernels reach pinned memory through pointers in device memory, and what they did before they came there is done once. */
static void use_through(volatile uint32_t *words) {
    uint64_t device;
    struct { uint64_t pointer; uint32_t count, rest; } head = {(uintptr_t)words, 0, 0};
    CHECK(CALL(cuMemAlloc_v2, &device, (size_t)sizeof head) == 0);
    CHECK(CALL(cuMemcpyHtoD_v2, device, &head, sizeof head) == 0);
    fill(words, 40);
    for (uint32_t i = 1; i < 3; i++) {
        CHECK(launch("through", device) == 0);
        CHECK(all(words, 40 + i));
        CHECK(CALL(cuMemcpyDtoH_v2, &head, device, sizeof head) == 0);
        CHECK(head.count == i * WORDS);
    }
    CHECK(CALL(cuMemFree_v2, device) == 0);
}

static void use_all(void) {
    uint32_t *managed, *pinned, *other;
    CHECK(CALL(cuMemAllocManaged, &managed, (size_t)4 * WORDS, 1) == 0);
    CHECK(CALL(cuMemHostAlloc, &pinned, (size_t)4 * WORDS, 0) == 0);
    CHECK(CALL(cuMemHostAlloc, &other, (size_t)4 * WORDS, 0) == 0);
    /* The client's own, short and long, two that share a page. */
    size_t page = 4096, long_words = (4 << 20) / 4;
    uint32_t *registered = aligned_alloc(page, 4 * long_words);
    uint32_t *next = registered + WORDS + 8;
    CHECK(registered);
    CHECK(CALL(cuMemHostRegister_v2, registered, (size_t)4 * WORDS, 0) == 0);
    CHECK(CALL(cuMemHostRegister_v2, next, (size_t)4 * WORDS, 0) == 0);
    use(managed);
    use(pinned);
    use(registered);
    use(next);
    use_through(other);
    use_through(next);
    /* With so many allocations none is mapped without a reason. */
    enum { MANY = 70 };
    uint32_t *many[MANY];
    for (int i = 0; i < MANY; i++) CHECK(CALL(cuMemHostAlloc, &many[i], (size_t)4 * WORDS, 0) == 0);
    use_through(many[MANY - 1]);
    use(many[3]);
    for (int i = 0; i < MANY; i++) CHECK(CALL(cuMemFreeHost, many[i]) == 0);
    CHECK(CALL(cuMemHostUnregister, registered) == 0);
    CHECK(CALL(cuMemHostUnregister, next) == 0);
    CHECK(CALL(cuMemHostRegister_v2, registered, 4 * long_words, 0) == 0);
    use(registered + 77);
    use_through(registered + 78);
    CHECK(CALL(cuMemHostUnregister, registered) == 0);
    free(registered);
    use(managed);
    CHECK(CALL(cuMemFreeHost, other) == 0);
    CHECK(CALL(cuMemFreeHost, pinned) == 0);
    CHECK(CALL(cuMemFree_v2, managed) == 0);
}

/* Returns what a launch that faults has left in managed memory: the store before the fault is seen in place alone. Other ways are SIMTLAB_FAULTS' own. */
static uint32_t after_fault(uint32_t stopped) {
    if (strcmp(getenv("SIMTLAB_FAULTS"), "stop")) return stopped;
    volatile uint32_t *managed;
    open_context();
    CHECK(CALL(cuMemAllocManaged, &managed, (size_t)4 * WORDS, 1) == 0);
    *managed = 1;
    CHECK(launch("beyond", (uint64_t)(uintptr_t)managed) == ILLEGAL_ADDRESS);
    uint32_t word = *managed;
    CHECK(CALL(cuCtxDestroy_v2, context) == 0);
    return word;
}

static volatile int stop;

static void *spin(void *unused) {
    while (!stop) usleep(1000);
    return unused;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    CHECK(CALL(cuInit, 0) == 0);
    open_context();
    use_all();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
    use_all();
    CHECK(after_fault(1) == 1);
    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    open_context();
    use_all();
    CHECK(after_fault(9) == 9);
    puts("all checks passed");
    return 0;
}
