/* A client of the driver as programs are: finds libcuda.so.1 by its name, and launches a kernel. Its first argument says what else:
 * `fault`: the kernel goes beyond its buffer; `freed`: the buffer is freed; `warned`, `alone`: the same where faults go on, or fail their launch alone; `spin`: a kernel runs for hours; `calls`: calls fail; `refused`: a kernel is asked
 * for that cannot run; `unsupported`: a call is made that nobody implements; a number: it ends with that. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".file 1 \"fill.cu\"\n"
    ".visible .entry fill(.param .u64 p) {\n"
    "  .reg .b32 %i; .reg .b64 %a, %o;\n"
    "  .loc 1 7 3\n"
    "  mov.u32 %i, %tid.x; ld.param.u64 %a, [p]; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
    "  .loc 1 8 3\n"
    "  st.global.u32 [%a], %i;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry spin(.param .u64 p) {\n"
    "  .reg .pred %q; .reg .b32 %i; .reg .b64 %a, %o, %n;\n"
    "  mov.u32 %i, %tid.x; ld.param.u64 %a, [p]; mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o; mov.u64 %n, 0;\n"
    "again:\n"
    "  .loc 1 20 5\n"
    "  add.u64 %n, %n, 1; cvt.u32.u64 %i, %n; st.global.u32 [%a], %i; setp.lt.u64 %q, %n, 0x100000000000;\n"
    "  @%q bra again;\n"
    "  ret;\n"
    "}\n"
    ".visible .entry never() { .reg .b32 %r; nonsense.b32 %r; ret; }\n";

static void *library;

static void *find(const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol) exit(90);
    return symbol;
}

typedef int (*u_call)(unsigned);
typedef int (*ctx_call)(uint64_t *, unsigned, int);
typedef int (*load_call)(uint64_t *, const void *);
typedef int (*get_call)(uint64_t *, uint64_t, const char *);
typedef int (*alloc_call)(uint64_t *, size_t);
typedef int (*free_call)(uint64_t);
typedef int (*fill_call)(uint64_t, unsigned, size_t);
typedef int (*read_call)(void *, uint64_t, size_t);
typedef int (*wait_call)(void);
typedef int (*launch_call)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **);

/* The status of a launch that was refused, else that of the call which waits for it. */
static int launch(uint64_t kernel, unsigned threads, uint64_t data) {
    void *params[] = {&data};
    int status = ((launch_call)find("cuLaunchKernel"))(kernel, 1, 1, 1, threads, 1, 1, 0, 0, params, NULL);
    return status ? status : ((wait_call)find("cuCtxSynchronize"))();
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "0";
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 91;
    uint64_t context, module, kernel, data, other;
    if (((u_call)find("cuInit"))(0)) return 92;
    if (((ctx_call)find("cuCtxCreate_v2"))(&context, 0, 0)) return 93;
    if (((load_call)find("cuModuleLoadData"))(&module, PTX)) return 94;
    get_call get = (get_call)find("cuModuleGetFunction");
    if (get(&kernel, module, strcmp(mode, "spin") == 0 ? "spin" : "fill")) return 95;
    alloc_call alloc = (alloc_call)find("cuMemAlloc_v2");
    if (alloc(&data, 128)) return 96;
    int fault = strcmp(mode, "fault") == 0;
    if (strcmp(mode, "freed") == 0) {
        free_call release = (free_call)find("cuMemFree_v2");
        if (alloc(&other, 64) || release(other) || alloc(&other, 1000) || release(other)) return 98;
        return launch(kernel, 32, other) == 700 ? 0 : 97;
    }
    if (strcmp(mode, "warned") == 0 || strcmp(mode, "alone") == 0) {
        /* The first warp stores before the second one faults. */
        int alone = mode[0] == 'a';
        unsigned words[32];
        read_call read = (read_call)find("cuMemcpyDtoH_v2");
        if (((fill_call)find("cuMemsetD32_v2"))(data, 77, 32)) return 98;
        if (launch(kernel, 64, data) != (alone ? 700 : 0) || read(words, data, sizeof words)) return 99;
        if (words[5] != (alone ? 77 : 5)) return 100;
        return launch(kernel, 32, data) || read(words, data, sizeof words) || words[31] != 31;
    }
    if (launch(kernel, fault ? 64 : 32, data) != (fault ? 700 : 0)) return 97;
    if (fault) return 0;
    if (strcmp(mode, "refused") == 0) return get(&kernel, module, "never") == 801 ? 0 : 98;
    if (strcmp(mode, "unsupported") == 0) return ((int (*)(void))find("cuProfilerInitialize"))() == 801 ? 0 : 98;
    if (strcmp(mode, "calls") == 0) {
        free_call release = (free_call)find("cuMemFree_v2");
        if (release(data + 4) != 1 || release(data) != 0 || release(data) != 1) return 98;
        if (alloc(&other, (size_t)1 << 42) != 2) return 98;
        return launch(kernel, 2048, data) == 1 ? 0 : 98;
    }
    return atoi(mode);
}
