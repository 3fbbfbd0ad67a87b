/* Launches and a thread of the host add to the same words at the same time, and to words beside each other's. The driver's path is the first argument. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { BLOCKS = 8, THREADS = 64, ADDS = 8, LAUNCHES = 3, LONG = 1 << 20, ROUNDS = 1000000, WORDS = 512 };

static void *library;

/* A function of the driver with arguments of any types. */
#define CALL(name, ...) ((int (*)())dlsym(library, #name))(__VA_ARGS__)

/* Each thread adds `ADDS` times to a word and to the 64-bit word behind it, as operations of the system. `through` finds the address in memory, `named` has a variable of the module. `beside` adds to the word alone, for its device, `LONG` times. `wait` waits for
 * the numbers that the host's thread stores, and takes each away; between them it counts for so long that the thread runs, too. */
static const char *const TEXT =
    ".version 7.0 .target sm_70 .address_size 64\n"
    ".visible .entry both(.param .u64 at) {\n"
    "  .reg .b32 %i; .reg .b64 %a; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at]; mov.u32 %i, 0;\n"
    "again: red.global.sys.add.u32 [%a], 1; red.global.sys.add.u64 [%a+8], 3;\n"
    "  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra again; ret; }\n"
    ".visible .entry through(.param .u64 at) {\n"
    "  .reg .b32 %i; .reg .b64 %a; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at]; ld.global.u64 %a, [%a]; mov.u32 %i, 0;\n"
    "again: red.relaxed.sys.add.u32 [%a], 1; red.relaxed.sys.add.u64 [%a+8], 3;\n"
    "  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra again; ret; }\n"
    ".global .align 8 .attribute(.managed) .b8 words[24];\n"
    ".visible .entry named(.param .u64 at) {\n"
    "  .reg .b32 %i; .reg .pred %p;\n"
    "  mov.u32 %i, 0;\n"
    "again: red.global.sys.add.u32 [words], 1; red.global.sys.add.u64 [words+8], 3;\n"
    "  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 8; @%p bra again; ret; }\n"
    ".visible .entry beside(.param .u64 at) {\n"
    "  .reg .b32 %i; .reg .b64 %a; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at]; mov.u32 %i, 0;\n"
    "again: red.global.add.u32 [%a], 1;\n"
    "  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 1048576; @%p bra again; ret; }\n"
    ".visible .entry wait(.param .u64 at) {\n"
    "  .reg .b32 %i, %v, %want; .reg .b64 %a; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at]; mov.u32 %want, 1;\n"
    "again: atom.global.acq_rel.sys.cas.b32 %v, [%a+16], %want, 0; setp.ne.u32 %p, %v, %want; @%p bra again;\n"
    "  mov.u32 %i, 0;\n"
    "count: add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 50000; @%p bra count;\n"
    "  add.u32 %want, %want, 1; setp.lt.u32 %p, %want, 6; @%p bra again; ret; }\n";

static uint64_t context, module;

static int launch(const char *name, uint64_t at, unsigned blocks, unsigned threads) {
    uint64_t kernel;
    void *params[] = {&at};
    CHECK(CALL(cuModuleGetFunction, &kernel, module, name) == 0);
    int (*launch)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **);
    *(void **)&launch = dlsym(library, "cuLaunchKernel");
    int status = launch(kernel, blocks, 1, 1, threads, 1, 1, 0, 0, params, NULL);
    int end = CALL(cuCtxSynchronize);
    return status ? status : end;
}

struct words {
    uint32_t count, beside;
    uint64_t sum;
    uint32_t flag;
};

/* What the host's thread does, and has done. */
static struct words *shared;
static volatile int stop, shares;
static volatile uint64_t added;

static void *add(void *unused) {
    for (; !stop; added++) {
        if (shares) {
            __atomic_fetch_add(&shared->count, 1, __ATOMIC_RELAXED);
            __atomic_fetch_add(&shared->sum, 5, __ATOMIC_SEQ_CST);
        }
        ((volatile struct words *)shared)->beside++;
    }
    return unused;
}

static void *flag(void *unused) {
    for (uint32_t number = 1; number < 6; number++) {
        /* The kernel is found to wait meanwhile. */
        for (int i = 0; number > 1 && i < ROUNDS; i++, added++) __atomic_fetch_add(&shared->count, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&shared->flag, number, __ATOMIC_RELEASE);
        while (__atomic_load_n(&shared->flag, __ATOMIC_ACQUIRE) != 0) continue;
    }
    return unused;
}

static void use(const char *kernel, uint64_t at, struct words *words, int with_atomics) {
    pthread_t thread;
    *words = (struct words){0, 0, 0, 0};
    shared = words, shares = with_atomics, stop = 0, added = 0;
    CHECK(pthread_create(&thread, NULL, add, NULL) == 0);
    while (added == 0) continue;
    unsigned blocks = with_atomics ? BLOCKS : 1, threads = with_atomics ? THREADS : 1, adds = with_atomics ? ADDS : LONG;
    for (int i = 0; i < LAUNCHES; i++) CHECK(launch(kernel, at, blocks, threads) == 0);
    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    uint64_t all = (uint64_t)LAUNCHES * blocks * threads * adds;
    CHECK(words->beside == (uint32_t)added);
    CHECK(words->count == (uint32_t)(all + (with_atomics ? added : 0)));
    CHECK(!with_atomics || words->sum == 3 * all + 5 * added);
}

static void use_all(struct words *words) {
    uint64_t device, at = (uintptr_t)words;
    pthread_t thread;
    CHECK(CALL(cuMemAlloc_v2, &device, (size_t)8) == 0);
    CHECK(CALL(cuMemcpyHtoD_v2, device, &at, (size_t)8) == 0);
    use("both", at, words, 1);
    use("through", device, words, 1);
    use("beside", at, words, 0);
    *words = (struct words){0, 0, 0, 0};
    shared = words, added = 0;
    CHECK(pthread_create(&thread, NULL, flag, NULL) == 0);
    CHECK(launch("wait", at, 1, 1) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(words->count == (uint32_t)added);
    CHECK(CALL(cuMemFree_v2, device) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    CHECK(CALL(cuInit, 0) == 0);
    CHECK(CALL(cuCtxCreate_v2, &context, 0, 0) == 0);
    CHECK(CALL(cuModuleLoadData, &module, TEXT) == 0);
    struct words *variable, *managed, *pinned, *own = aligned_alloc(4096, 4096);
    CHECK(own);
    CHECK(CALL(cuModuleGetGlobal_v2, &variable, NULL, module, "words") == 0);
    use("named", 0, variable, 1);
    CHECK(CALL(cuMemAllocManaged, &managed, (size_t)4 * WORDS, 1) == 0);
    CHECK(CALL(cuMemHostAlloc, &pinned, (size_t)4 * WORDS, 0) == 0);
    CHECK(CALL(cuMemHostRegister_v2, own, (size_t)4096, 0) == 0);
    use_all(managed);
    use_all(pinned);
    use_all(own);
    CHECK(CALL(cuMemHostUnregister, own) == 0);
    CHECK(CALL(cuMemFreeHost, pinned) == 0);
    CHECK(CALL(cuMemFree_v2, managed) == 0);
    free(own);
    puts("all checks passed");
    return 0;
}
