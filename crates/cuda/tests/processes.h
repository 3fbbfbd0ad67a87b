/* What programs of two processes have in common: the driver's functions, a kernel, handles as text, `main`. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* More than a page, and no multiple of one. */
enum { WORDS = 3001, INVALID_VALUE = 1 };

typedef struct { char reserved[64]; } handle;

/* What each of the processes does. */
static void first(char *program, char *path);
static void second(char **arguments);

static void *library;
static uint64_t context, kernel, stream;

/* A function of the driver with arguments of any types. */
#define CALL(name, ...) ((int (*)())dlsym(library, #name))(__VA_ARGS__)
static int copy_out(void *to, uint64_t from, size_t len) {
    return ((int (*)(void *, uint64_t, size_t))dlsym(library, "cuMemcpyDtoH_v2"))(to, from, len);
}

/* Adds a number to each word. */
static const char *const ADD =
    ".version 7.0 .target sm_70 .address_size 64\n"
    ".visible .entry add(.param .u64 at, .param .u32 number, .param .u32 words) {\n"
    "  .reg .b32 %t, %b, %i, %n, %w, %v; .reg .b64 %a, %o; .reg .pred %p;\n"
    "  ld.param.u64 %a, [at]; ld.param.u32 %n, [number]; ld.param.u32 %w, [words];\n"
    "  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %i, %b, 128, %t;\n"
    "  setp.ge.u32 %p, %i, %w; @%p ret;\n"
    "  mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
    "  ld.global.u32 %v, [%a]; add.u32 %v, %v, %n; st.global.u32 [%a], %v; ret; }\n";

static void prepare(const char *path) {
    uint64_t module;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    CHECK(CALL(cuInit, 0) == 0);
    CHECK(CALL(cuCtxCreate_v2, &context, 0, 0) == 0);
    CHECK(CALL(cuModuleLoadData, &module, ADD) == 0);
    CHECK(CALL(cuModuleGetFunction, &kernel, module, "add") == 0);
    CHECK(CALL(cuStreamCreate, &stream, 1) == 0);
}

static void add(uint64_t at, unsigned number) {
    unsigned words = WORDS;
    void *parameters[] = { &at, &number, &words };
    uint64_t function = kernel, on = stream;
    int (*launch)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **,
                  void **) = (void *)dlsym(library, "cuLaunchKernel");
    CHECK(launch(function, (WORDS + 127) / 128, 1, 1, 128, 1, 1, 0, on, parameters, NULL) == 0);
}

static void from_text(handle *h, const char *text) {
    for (int i = 0; i < 64; i++) {
        unsigned byte;
        CHECK(sscanf(text + 2 * i, "%2x", &byte) == 1);
        h->reserved[i] = (char)byte;
    }
}

static void to_text(char *text, const handle *h) {
    for (int i = 0; i < 64; i++)
        sprintf(text + 2 * i, "%02x", (unsigned char)h->reserved[i]);
}

int main(int count, char **arguments) {
    if (count > 2)
        second(arguments);
    else
        first(arguments[0], arguments[1]);
    return 0;
}
