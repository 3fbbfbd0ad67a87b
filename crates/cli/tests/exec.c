/* A client of the driver as programs are: finds libcuda.so.1 by its name. With `fault` its kernel goes beyond its buffer; with a number
 * it ends with that. */
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
    "}\n";

static void *find(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol) exit(90);
    return symbol;
}

typedef int (*u_call)(unsigned);
typedef int (*ctx_call)(uint64_t *, unsigned, int);
typedef int (*load_call)(uint64_t *, const void *);
typedef int (*get_call)(uint64_t *, uint64_t, const char *);
typedef int (*alloc_call)(uint64_t *, size_t);
typedef int (*launch_call)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **);

int main(int argc, char **argv) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return 91;
    uint64_t context, module, kernel, data;
    if (((u_call)find(library, "cuInit"))(0)) return 92;
    if (((ctx_call)find(library, "cuCtxCreate_v2"))(&context, 0, 0)) return 93;
    if (((load_call)find(library, "cuModuleLoadData"))(&module, PTX)) return 94;
    if (((get_call)find(library, "cuModuleGetFunction"))(&kernel, module, "fill")) return 95;
    if (((alloc_call)find(library, "cuMemAlloc_v2"))(&data, 128)) return 96;
    void *params[] = {&data};
    int fault = argc > 1 && strcmp(argv[1], "fault") == 0;
    int end = ((launch_call)find(library, "cuLaunchKernel"))(kernel, 1, 1, 1, fault ? 64 : 32, 1, 1, 0, 0, params, NULL);
    if (end != (fault ? 700 : 0)) return 97;
    return argc > 1 && !fault ? atoi(argv[1]) : 0;
}
