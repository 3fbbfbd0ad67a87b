/* The driver as a shared library of a process: found by its name, forked, closed. Its path is the first argument. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

typedef int (*call_int)(unsigned);
typedef int (*call_ptr)(void *);
typedef int (*call_ctx)(uint64_t *, unsigned, int);

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) printf("%s\n", dlerror());
    CHECK(library);
    return library;
}

static void *use(void *shared) {
    void *library = load(shared);
    int count = 0;
    CHECK(((call_int)dlsym(library, "cuInit"))(0) == 0);
    CHECK(((call_ptr)dlsym(library, "cuDeviceGetCount"))(&count) == 0 && count == 1);
    uint64_t context;
    CHECK(((call_ctx)dlsym(library, "cuCtxCreate_v2"))(&context, 0, 0) == 0);
    CHECK(dlclose(library) == 0);
    return NULL;
}

static const char *const WAITS =
    ".version 7.0 .target sm_70 .address_size 64\n"
    ".visible .entry waits(.param .u64 at) {\n"
    "  .reg .b32 %v; .reg .b64 %a; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at];\n"
    "again: ld.volatile.global.u32 %v, [%a]; setp.eq.u32 %p, %v, 0; @%p bra again; ret; }\n";

/* A kernel waits for memory that both see: it goes on when the host has written there, and hangs where nobody is left who could. */
static void wait_for_host(void *library) {
    uint64_t context, module, kernel;
    volatile uint32_t *word;
    CHECK(((call_ctx)dlsym(library, "cuCtxCreate_v2"))(&context, 0, 0) == 0);
    CHECK(((int (*)(uint64_t *, const char *))dlsym(library, "cuModuleLoadData"))(&module, WAITS) == 0);
    CHECK(((int (*)(uint64_t *, uint64_t, const char *))dlsym(library, "cuModuleGetFunction"))(&kernel, module, "waits") == 0);
    CHECK(((int (*)(void *, size_t, unsigned))dlsym(library, "cuMemAllocManaged"))(&word, 4, 1) == 0);
    int (*launch)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **);
    *(void **)&launch = dlsym(library, "cuLaunchKernel");
    int (*synchronize)(void);
    *(void **)&synchronize = dlsym(library, "cuCtxSynchronize");
    void *params[] = {&word};
    *word = 0;
    CHECK(launch(kernel, 1, 1, 1, 1, 1, 1, 0, 0, params, NULL) == 0);
    *word = 1;
    CHECK(synchronize() == 0);
    *word = 0;
    CHECK(launch(kernel, 1, 1, 1, 1, 1, 1, 0, 0, params, NULL) == 0);
    const int TIMEOUT = 702;
    CHECK(synchronize() == TIMEOUT && synchronize() == TIMEOUT);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    /* Opened and closed again and again, unused and used, in threads that end before and after. */
    for (int i = 0; i < 3; i++) CHECK(dlclose(load(argv[1])) == 0);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, use, argv[1]) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    void *library = load(argv[1]);
    call_int init = (call_int)dlsym(library, "cuInit");
    call_ptr count = (call_ptr)dlsym(library, "cuDeviceGetCount");
    int devices = 0;
    CHECK(init(0) == 0 && count(&devices) == 0);
    /* A child has no driver: NOT_INITIALIZED. */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(init(0) == 3 && count(&devices) == 3 ? 42 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42);
    CHECK(count(&devices) == 0);
    wait_for_host(library);
    puts("all checks passed");
    return 0;
}
