/* Two processes share physical memory and a pool by file descriptors. The driver's path is the first argument; the second process has more. */
#include <fcntl.h>

#include "processes.h"

enum { LEN = 2 << 20, DESCRIPTOR = 1, FABRIC = 8, POINTER_CONTEXT = 1 };

/* `CUmemAllocationProp` and `CUmemPoolProps` of memory of device 0: type, types of handles, location. */
static int physical[8] = { 1, DESCRIPTOR, 1, 0 };
static int pooled[22] = { 1, DESCRIPTOR, 1, 0 };
/* `CUmemAccessDesc`: device 0 reads and writes. */
static int access_by_device[3] = { 1, 0, 3 };

static int import(uint64_t *handle, int descriptor, int kind) {
    int (*call)(uint64_t *, void *, int) = (void *)dlsym(library, "cuMemImportFromShareableHandle");
    return call(handle, (void *)(intptr_t)descriptor, kind);
}
static int import_pool(uint64_t *pool, int descriptor, int kind) {
    int (*call)(uint64_t *, void *, int, unsigned long long) = (void *)dlsym(library, "cuMemPoolImportFromShareableHandle");
    return call(pool, (void *)(intptr_t)descriptor, kind, 0);
}
static int export_to(int *descriptor, const char *name, uint64_t handle, int kind, unsigned long long flags) {
    return ((int (*)(int *, uint64_t, int, unsigned long long))dlsym(library, name))(descriptor, handle, kind, flags);
}

/* Maps physical memory at new addresses. */
static uint64_t map(uint64_t handle) {
    uint64_t at;
    int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long) = (void *)dlsym(library, "cuMemAddressReserve");
    int (*mapping)(uint64_t, size_t, size_t, uint64_t, unsigned long long) = (void *)dlsym(library, "cuMemMap");
    int (*allow)(uint64_t, size_t, void *, size_t) = (void *)dlsym(library, "cuMemSetAccess");
    CHECK(reserve(&at, LEN, 0, 0, 0) == 0);
    CHECK(mapping(at, LEN, 0, handle, 0) == 0);
    CHECK(allow(at, LEN, access_by_device, 1) == 0);
    return at;
}

static void unmap(uint64_t at) {
    CHECK(((int (*)(uint64_t, size_t))dlsym(library, "cuMemUnmap"))(at, LEN) == 0);
    CHECK(((int (*)(uint64_t, size_t))dlsym(library, "cuMemAddressFree"))(at, LEN) == 0);
}

/* Checks that word i is 7 * i + added. */
static void holds(uint64_t at, unsigned added) {
    static unsigned words[WORDS];
    CHECK(CALL(cuStreamSynchronize, stream) == 0);
    CHECK(copy_out(words, at, sizeof words) == 0);
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(words[i] == 7 * i + added);
}

static void fill(uint64_t at) {
    static unsigned words[WORDS];
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = 7 * i;
    CHECK(((int (*)(uint64_t, void *, size_t))dlsym(library, "cuMemcpyHtoD_v2"))(at, words, sizeof words) == 0);
}

static void second(char **arguments) {
    uint64_t memory = 0, same = 0, pool = 0, at, pointer = 0;
    handle data, wrong;
    prepare(arguments[1]);
    int of_memory = atoi(arguments[2]), of_pool = atoi(arguments[3]);
    from_text(&data, arguments[4]);
    /* Descriptors of something else. */
    CHECK(import(&memory, of_pool, DESCRIPTOR) == INVALID_VALUE);
    CHECK(import(&memory, 2, DESCRIPTOR) == INVALID_VALUE);
    CHECK(import(&memory, -1, DESCRIPTOR) == INVALID_VALUE);
    CHECK(import(&memory, of_memory, FABRIC) == INVALID_VALUE);
    CHECK(import_pool(&pool, of_memory, DESCRIPTOR) == INVALID_VALUE);
    CHECK(import_pool(&pool, 99999, DESCRIPTOR) == INVALID_VALUE);

    CHECK(import(&memory, of_memory, DESCRIPTOR) == 0);
    CHECK(import(&same, of_memory, DESCRIPTOR) == 0 && same == memory);
    CHECK(CALL(cuMemRelease, same) == 0);
    CHECK(close(of_memory) == 0);
    at = map(memory);
    holds(at, 10);
    add(at, 100);
    holds(at, 110);
    /* The memory stays the same at other addresses. */
    unmap(at);
    CHECK(copy_out(&wrong, at, 8) != 0);
    at = map(memory);
    CHECK(CALL(cuMemRelease, memory) == 0);
    holds(at, 110);
    add(at, 1000);
    holds(at, 1110);
    unmap(at);

    CHECK(import_pool(&pool, of_pool, DESCRIPTOR) == 0);
    CHECK(CALL(cuMemAllocFromPoolAsync, &at, (size_t)64, pool, stream) == INVALID_VALUE);
    CHECK(CALL(cuDeviceSetMemPool, 0, pool) == INVALID_VALUE);
    for (int i = 0; i < 64; i++) {
        wrong = data;
        wrong.reserved[i] ^= 0x40;
        CHECK(CALL(cuMemPoolImportPointer, &pointer, pool, &wrong) == INVALID_VALUE);
    }
    from_text(&wrong, arguments[5]);
    CHECK(CALL(cuMemPoolImportPointer, &pointer, pool, &wrong) == INVALID_VALUE);
    CHECK(CALL(cuMemPoolImportPointer, &pointer, pool, &data) == 0);
    CHECK(CALL(cuMemPoolExportPointer, &wrong, pointer) == INVALID_VALUE);
    CHECK(CALL(cuIpcCloseMemHandle, pointer) == INVALID_VALUE);
    holds(pointer, 0);
    add(pointer, 20);
    holds(pointer, 20);
    CHECK(CALL(cuMemFreeAsync, pointer, stream) == 0);
    CHECK(copy_out(&wrong, pointer, 8) != 0);
    CHECK(CALL(cuMemPoolDestroy, pool) == 0);
}

static void first(char *program, char *path) {
    uint64_t memory, plain, same, at, pool, other_pool, pointer, other;
    int of_memory, of_pool, none, status;
    char numbers[2][16], data_text[129], other_text[129];
    handle data;
    prepare(path);
    int (*create)(uint64_t *, size_t, void *, unsigned long long) = (void *)dlsym(library, "cuMemCreate");
    /* Memory needs no context, and belongs to none. */
    CHECK(CALL(cuCtxSetCurrent, NULL) == 0);
    CHECK(create(&memory, LEN, physical, 0) == 0);
    at = map(memory);
    CHECK(CALL(cuPointerGetAttribute, &other, POINTER_CONTEXT, at) == 0 && other == 0);
    unmap(at);
    CHECK(CALL(cuCtxSetCurrent, context) == 0);
    physical[1] = FABRIC;
    CHECK(create(&plain, LEN, physical, 0) != 0);
    physical[1] = 0;
    CHECK(create(&plain, LEN, physical, 0) == 0);
    CHECK(export_to(&none, "cuMemExportToShareableHandle", plain, DESCRIPTOR, 0) == INVALID_VALUE);
    CHECK(export_to(&none, "cuMemExportToShareableHandle", memory, FABRIC, 0) == INVALID_VALUE);
    CHECK(export_to(&none, "cuMemExportToShareableHandle", memory, DESCRIPTOR, 1) == INVALID_VALUE);
    CHECK(export_to(&of_memory, "cuMemExportToShareableHandle", memory, DESCRIPTOR, 0) == 0);
    CHECK(import(&same, of_memory, DESCRIPTOR) == 0 && same == memory);
    CHECK(CALL(cuMemRelease, same) == 0);
    at = map(memory);
    fill(at);
    add(at, 10);
    holds(at, 10);

    CHECK(CALL(cuMemPoolCreate, &pool, pooled) == 0);
    CHECK(CALL(cuMemAllocFromPoolAsync, &pointer, (size_t)4 * WORDS, pool, stream) == 0);
    fill(pointer);
    CHECK(export_to(&of_pool, "cuMemPoolExportToShareableHandle", pool, DESCRIPTOR, 0) == 0);
    CHECK(CALL(cuMemPoolExportPointer, &data, pointer + 4) == INVALID_VALUE);
    CHECK(CALL(cuMemPoolExportPointer, &data, at) == INVALID_VALUE);
    CHECK(CALL(cuMemPoolExportPointer, &data, pointer) == 0);
    CHECK(CALL(cuMemAllocAsync, &other, (size_t)64, stream) == 0);
    handle unused;
    CHECK(CALL(cuMemPoolExportPointer, &unused, other) == INVALID_VALUE);
    CHECK(CALL(cuMemPoolImportPointer, &other, pool, &data) == INVALID_VALUE);

    /* What is of another pool. */
    CHECK(CALL(cuMemPoolCreate, &other_pool, pooled) == 0);
    CHECK(CALL(cuMemAllocFromPoolAsync, &other, (size_t)64, other_pool, stream) == 0);
    CHECK(CALL(cuMemPoolExportPointer, &unused, other) == 0);

    to_text(data_text, &data);
    to_text(other_text, &unused);
    sprintf(numbers[0], "%d", of_memory);
    sprintf(numbers[1], "%d", of_pool);
    /* The program that is begun keeps the descriptors. */
    CHECK(fcntl(of_memory, F_SETFD, 0) == 0 && fcntl(of_pool, F_SETFD, 0) == 0);
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(program, program, path, numbers[0], numbers[1], data_text, other_text, NULL);
        _exit(127);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    holds(at, 1110);
    add(at, 1);
    holds(at, 1111);
    holds(pointer, 20);
    CHECK(CALL(cuMemFreeAsync, pointer, stream) == 0);
    CHECK(CALL(cuCtxSetCurrent, NULL) == 0);
    unmap(at);
    CHECK(CALL(cuCtxSetCurrent, context) == 0);
    CHECK(CALL(cuMemRelease, memory) == 0);
    CHECK(export_to(&none, "cuMemExportToShareableHandle", memory, DESCRIPTOR, 0) == INVALID_VALUE);
    puts("all checks passed");
}
