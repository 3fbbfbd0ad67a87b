// Kernels on Simtlab, through the CUDA driver API of its `libcuda.so.1`, found where the loader finds it.

#include "peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long address;

static int (*cuInit)(unsigned);
static int (*cuDeviceGet)(int *, int);
static int (*cuCtxCreate)(void **, unsigned, int);
static int (*cuCtxSynchronize)(void);
static int (*cuModuleLoadData)(void **, const void *);
static int (*cuModuleGetFunction)(void **, void *, const char *);
static int (*cuMemAlloc)(address *, size_t);
static int (*cuMemcpyHtoD)(address, const void *, size_t);
static int (*cuMemcpyDtoH)(void *, address, size_t);
static int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static void *function;
static address memory[BUFFERS];

static void check(const char *what, int code)
{
    if (code != 0)
        fail(what, code);
}

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail(name, 0);
    return found;
}

static void begin(const struct work *work, const char *ptx)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context, *module;
    int device;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    *(void **)&cuInit = find(library, "cuInit");
    *(void **)&cuDeviceGet = find(library, "cuDeviceGet");
    *(void **)&cuCtxCreate = find(library, "cuCtxCreate_v2");
    *(void **)&cuCtxSynchronize = find(library, "cuCtxSynchronize");
    *(void **)&cuModuleLoadData = find(library, "cuModuleLoadData");
    *(void **)&cuModuleGetFunction = find(library, "cuModuleGetFunction");
    *(void **)&cuMemAlloc = find(library, "cuMemAlloc_v2");
    *(void **)&cuMemcpyHtoD = find(library, "cuMemcpyHtoD_v2");
    *(void **)&cuMemcpyDtoH = find(library, "cuMemcpyDtoH_v2");
    *(void **)&cuLaunchKernel = find(library, "cuLaunchKernel");
    check("cuInit", cuInit(0));
    check("cuDeviceGet", cuDeviceGet(&device, 0));
    check("cuCtxCreate", cuCtxCreate(&context, 0, device));
    check("cuModuleLoadData", cuModuleLoadData(&module, ptx));
    check("cuModuleGetFunction", cuModuleGetFunction(&function, module, work->name));
    for (int i = 0; i < work->buffers; i++)
        check("cuMemAlloc", cuMemAlloc(&memory[i], work->buffer[i].bytes));
}

static void fill(const struct work *work, void **buffers)
{
    for (int i = 0; i < work->buffers; i++)
        check("cuMemcpyHtoD", cuMemcpyHtoD(memory[i], buffers[i], work->buffer[i].bytes));
}

static void run(const struct work *work)
{
    void *params[WORDS + BUFFERS];
    for (int i = 0; i < work->words; i++)
        params[i] = (void *)&work->word[i];
    for (int i = 0; i < work->buffers; i++)
        params[work->words + i] = &memory[i];
    const unsigned *grid = work->groups, *block = work->group;
    check("cuLaunchKernel", cuLaunchKernel(function, grid[0], grid[1], 1, block[0], block[1], 1, 0, NULL, params, NULL));
    check("cuCtxSynchronize", cuCtxSynchronize());
}

static void fetch(const struct work *work, void **buffers)
{
    for (int i = 0; i < work->buffers; i++)
        check("cuMemcpyDtoH", cuMemcpyDtoH(buffers[i], memory[i], work->buffer[i].bytes));
}

const struct engine cuda_engine = {begin, fill, run, fetch};
