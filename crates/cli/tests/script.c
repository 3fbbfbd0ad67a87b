/* A client of the driver that does what its arguments say. The first one is a file of PTX; the others are steps:
 * `alloc:NAME:BYTES`, `free:NAME`, `fill:NAME:BYTES` (zeros), `in:NAME:BYTES` (from the host), `out:NAME:BYTES` (to the host),
 * `launch:KERNEL:BLOCKS:THREADS:NAME,NAME...`, `destroy` (the context), and how it ends: `end:return`, `end:exit` (`_exit`), `end:abort`.
 * `NAME+BYTES` is an address in an allocation. Failed calls are ignored, as careless programs do. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *library;
static struct { char name[32]; uint64_t address; } buffers[64];
static int count;

static void *find(const char *name) {
    void *symbol = dlsym(library, name);
    if (!symbol) exit(90);
    return symbol;
}

static uint64_t *buffer(const char *name, size_t length) {
    for (int i = 0; i < count; i++)
        if (strlen(buffers[i].name) == length && !strncmp(buffers[i].name, name, length)) return &buffers[i].address;
    if (count == 64 || length > 31) exit(91);
    memcpy(buffers[count].name, name, length);
    return &buffers[count++].address;
}

static uint64_t address(const char *word) {
    size_t length = strcspn(word, "+:,");
    uint64_t base = *buffer(word, length);
    return word[length] == '+' ? base + strtoull(word + length + 1, NULL, 10) : base;
}

static char *text(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) exit(92);
    static char bytes[1 << 20];
    bytes[fread(bytes, 1, sizeof bytes - 1, file)] = 0;
    fclose(file);
    return bytes;
}

static void launch(uint64_t module, char *word) {
    char *kernel = strtok(word, ":"), *blocks = strtok(NULL, ":"), *threads = strtok(NULL, ":"), *names = strtok(NULL, ":");
    uint64_t function, values[8];
    void *params[8];
    if (((int (*)(uint64_t *, uint64_t, const char *))find("cuModuleGetFunction"))(&function, module, kernel)) exit(93);
    int n = 0;
    for (char *name = names ? strtok(names, ",") : NULL; name && n < 8; name = strtok(NULL, ",")) {
        values[n] = address(name);
        params[n] = &values[n];
        n++;
    }
    ((int (*)(uint64_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, uint64_t, void **, void **))find("cuLaunchKernel"))(
        function, (unsigned)atoi(blocks), 1, 1, (unsigned)atoi(threads), 1, 1, 0, 0, params, NULL);
}

int main(int argc, char **argv) {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library || argc < 2) return 94;
    uint64_t context, module;
    if (((int (*)(unsigned))find("cuInit"))(0)) return 95;
    if (((int (*)(uint64_t *, unsigned, int))find("cuCtxCreate_v2"))(&context, 0, 0)) return 96;
    if (((int (*)(uint64_t *, const void *))find("cuModuleLoadData"))(&module, text(argv[1]))) return 97;
    static char host[1 << 16];
    for (int i = 2; i < argc; i++) {
        char *step = argv[i], *rest = strchr(step, ':');
        if (rest) *rest++ = 0;
        size_t length = rest ? strcspn(rest, ":") : 0;
        size_t bytes = rest && rest[length] ? strtoull(rest + length + 1, NULL, 10) : 0;
        if (!strcmp(step, "alloc")) ((int (*)(uint64_t *, size_t))find("cuMemAlloc_v2"))(buffer(rest, length), bytes);
        else if (!strcmp(step, "free")) ((int (*)(uint64_t))find("cuMemFree_v2"))(address(rest));
        else if (!strcmp(step, "fill")) ((int (*)(uint64_t, unsigned char, size_t))find("cuMemsetD8_v2"))(address(rest), 0, bytes);
        else if (!strcmp(step, "in")) ((int (*)(uint64_t, const void *, size_t))find("cuMemcpyHtoD_v2"))(address(rest), host, bytes);
        else if (!strcmp(step, "out")) ((int (*)(void *, uint64_t, size_t))find("cuMemcpyDtoH_v2"))(host, address(rest), bytes);
        else if (!strcmp(step, "launch")) launch(module, rest);
        else if (!strcmp(step, "destroy")) ((int (*)(uint64_t))find("cuCtxDestroy_v2"))(context);
        else if (!strcmp(step, "end") && !strcmp(rest, "exit")) _exit(0);
        else if (!strcmp(step, "end") && !strcmp(rest, "abort")) abort();
        else if (strcmp(step, "end")) return 98;
    }
    return 0;
}
