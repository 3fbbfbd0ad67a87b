/* Two processes share memory and an event by handles. The driver's path is the first argument; the second process has more. */
#include "processes.h"

enum { INVALID_CONTEXT = 201, INVALID_HANDLE = 400, NOT_READY = 600 };

static int open_memory(uint64_t *at, handle h, unsigned flags) {
    return ((int (*)(uint64_t *, handle, unsigned))dlsym(library, "cuIpcOpenMemHandle_v2"))(at, h, flags);
}
static int open_event(uint64_t *event, handle h) {
    return ((int (*)(uint64_t *, handle))dlsym(library, "cuIpcOpenEventHandle"))(event, h);
}

static void second(char **arguments) {
    static unsigned words[WORDS];
    handle memory, ready;
    uint64_t at = 0, again = 0, event = 0, start = 0;
    size_t len = 0;
    char byte;
    prepare(arguments[1]);
    from_text(&memory, arguments[2]);
    from_text(&ready, arguments[3]);
    /* Handles that name something else. */
    handle wrong = memory;
    CHECK(open_memory(&at, ready, 1) == INVALID_HANDLE);
    CHECK(open_event(&event, memory) == INVALID_HANDLE);
    for (int i = 0; i < 64; i++) {
        wrong.reserved[i] ^= 0x40;
        CHECK(open_memory(&at, wrong, 1) != 0);
        wrong = memory;
    }
    CHECK(open_memory(&at, memory, 2) == INVALID_VALUE);
    CHECK(open_memory(&at, memory, 1) == 0);
    CHECK(open_memory(&again, memory, 1) == 0 && at == again);
    CHECK(CALL(cuMemGetAddressRange_v2, &start, &len, at + 5) == 0 && start == at && len == 4 * WORDS);
    CHECK(CALL(cuMemFree_v2, at) == INVALID_VALUE);
    CHECK(open_event(&event, ready) == 0);

    /* What the first process has submitted waits, and so does what waits for its event. */
    CHECK(CALL(cuStreamWaitEvent, stream, event, 0) == 0);
    add(at, 100);
    CHECK(CALL(cuEventRecord, event, stream) == 0);
    CHECK(CALL(cuStreamQuery, stream) == NOT_READY);
    CHECK(CALL(cuEventQuery, event) == NOT_READY);
    CHECK(write(1, "w", 1) == 1 && read(0, &byte, 1) == 1);
    CHECK(CALL(cuStreamSynchronize, stream) == 0);
    CHECK(copy_out(words, at, sizeof words) == 0);
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(words[i] == 7 * i + 10 + 100);

    CHECK(CALL(cuIpcCloseMemHandle, at) == 0);
    CHECK(copy_out(words, at, sizeof words) == 0);
    CHECK(CALL(cuIpcCloseMemHandle, at) == 0);
    CHECK(CALL(cuIpcCloseMemHandle, at) == INVALID_VALUE);
    CHECK(copy_out(words, at, sizeof words) != 0);
    CHECK(CALL(cuEventDestroy_v2, event) == 0);
}

static void first(char *program, char *path) {
    static unsigned words[WORDS];
    static char memory_text[129], event_text[129];
    uint64_t at, event, plain, gate, pooled;
    handle memory, same, ready;
    int to_child[2], to_parent[2], status;
    char byte;
    prepare(path);
    CHECK(CALL(cuMemAlloc_v2, &at, sizeof words) == 0);
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = 7 * i;
    int (*copy_in)(uint64_t, void *, size_t) = (void *)dlsym(library, "cuMemcpyHtoD_v2");
    CHECK(copy_in(at, words, sizeof words) == 0);
    CHECK(CALL(cuIpcGetMemHandle, &memory, at) == 0);
    CHECK(CALL(cuIpcGetMemHandle, &same, at) == 0 && !memcmp(&memory, &same, sizeof same));
    CHECK(CALL(cuIpcGetMemHandle, &same, at + 4) == INVALID_VALUE);
    CHECK(CALL(cuMemAllocAsync, &pooled, (size_t)64, stream) == 0);
    CHECK(CALL(cuIpcGetMemHandle, &same, pooled) == INVALID_VALUE);
    CHECK(open_memory(&plain, memory, 1) == INVALID_CONTEXT);
    CHECK(CALL(cuEventCreate, &plain, 2) == 0);
    CHECK(CALL(cuIpcGetEventHandle, &ready, plain) == INVALID_HANDLE);
    CHECK(CALL(cuEventCreate, &event, 2 | 4) == 0);
    CHECK(CALL(cuIpcGetEventHandle, &ready, event) == 0);
    CHECK(open_event(&plain, ready) == INVALID_CONTEXT);

    /* The stream waits for a word of the host, then adds, then records. */
    CHECK(CALL(cuMemHostAlloc, &gate, (size_t)64, 0) == 0);
    memset((void *)gate, 0, 64);
    CHECK(CALL(cuStreamWaitValue32_v2, stream, gate, 1, 0) == 0);
    add(at, 10);
    CHECK(CALL(cuEventRecord, event, stream) == 0);
    CHECK(CALL(cuEventQuery, event) == NOT_READY);

    to_text(memory_text, &memory);
    to_text(event_text, &ready);
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(to_child[0], 0);
        dup2(to_parent[1], 1);
        close(to_parent[0]), close(to_parent[1]), close(to_child[0]), close(to_child[1]);
        execl(program, program, path, memory_text, event_text, NULL);
        _exit(127);
    }
    close(to_parent[1]);
    if (read(to_parent[0], &byte, 1) != 1 || byte != 'w') {
        char said[4096] = { byte };
        CHECK(read(to_parent[0], said + 1, sizeof said - 2) >= 0);
        puts(said);
        CHECK(!"the second process waits");
    }
    *(volatile unsigned *)gate = 1;
    CHECK(CALL(cuStreamSynchronize, stream) == 0);
    CHECK(write(to_child[1], "g", 1) == 1);
    char said[4096] = "";
    CHECK(read(to_parent[0], said, sizeof said - 1) >= 0);
    if (*said)
        puts(said);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(CALL(cuEventSynchronize, event) == 0);
    add(at, 1000);
    CHECK(copy_out(words, at, sizeof words) == 0);
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(words[i] == 7 * i + 10 + 100 + 1000);
    CHECK(CALL(cuMemFree_v2, at) == 0);
    CHECK(copy_out(words, at, sizeof words) != 0);
    puts("all checks passed");
}
