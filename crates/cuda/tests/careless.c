/* A careless program: calls functions of the driver in random order, with random numbers, wrong pointers, and handles that live, were destroyed, or are of
   another kind. Whatever it does, each call returns, and none of them is CUDA_ERROR_UNKNOWN, which stands for a panic.
     careless DRIVER NAMES CALLS SEED [LIBRARY]
   NAMES is a file with the names of functions, of the driver or of a library on top of it. Not called are those to which the program gives a function to
   call, those that compilers call, those that return a structure, and those that run or wait for long. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t word;
typedef int (*function)(word, word, word, word, word, word, word, word, word, word);

static const char *const LEFT_OUT[] = {
    "simtlab", "__cuda", "Launch", "HostNode", "GraphAddNode", "NodeSetParams", "KernelNode", "AddCallback", "UserObjectCreate",
    "MaxPotentialBlockSize", "WaitValue", "BatchMemOp", "DebugDotPrint", "Logs", "cuInit", "ChannelDesc"};

enum { SCRATCH = 1 << 16, KINDS = 24, KEPT = 8 };

static void *library, *driver;
static word state;
/* Handles and addresses: the last ones of each kind, of which some have been destroyed. */
static word kept[KINDS][KEPT];
static unsigned made[KINDS];
static unsigned char *scratch;
static char current[200];

static word random_word(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static unsigned below(unsigned bound) { return random_word() % bound; }

static void failed(int signal) {
    static const char ALARM[] = "it does not return: ", FAULT[] = "a memory error: ";
    const char *what = signal == SIGALRM ? ALARM : FAULT;
    if (write(1, what, strlen(what)) < 0 || write(1, current, strlen(current)) < 0) _exit(2);
    _exit(1);
}

static function named(const char *name) {
    function found;
    *(void **)&found = dlsym(library, name);
    if (!found) *(void **)&found = dlsym(driver, name);
    if (!found) {
        printf("there is no %s\n", name);
        exit(1);
    }
    return found;
}

#define CALL(name, ...) call_with(name, (word[10]){__VA_ARGS__})

static int call_with(const char *name, const word *a) {
    snprintf(current, sizeof current, "%s(%#lx, %#lx, %#lx, %#lx, %#lx, %#lx, %#lx)\n", name, a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    alarm(20);
    int status = named(name)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
    alarm(0);
    if (status == 999) {
        printf("unknown error: %s", current);
        exit(1);
    }
    return status;
}

static void keep(unsigned kind, word handle) { kept[kind][made[kind]++ % KEPT] = handle; }

/* Creates an object of each kind, and destroys some. */
static void objects(void) {
    static const char TEXT[] = ".version 7.0 .target sm_70 .address_size 64 .visible .global .u32 v = 3; .global .texref t; .visible .entry k() { ret; }";
    word out = 0, at = (word)&out, text = (word)TEXT, array[3] = {16, 16, (word)4 << 32 | 8};
    if (CALL("cuCtxCreate_v2", at, 0, 0) != 0) return;
    word context = out;
    keep(0, out);
#define MAKE(kind, name, ...) if (CALL(name, __VA_ARGS__) == 0) keep(kind, out)
    MAKE(1, "cuStreamCreate", at, 0);
    MAKE(2, "cuEventCreate", at, 0);
    MAKE(3, "cuModuleLoadData", at, text);
    word module = out;
    MAKE(4, "cuModuleGetFunction", at, module, (word) "k");
    MAKE(5, "cuModuleGetTexRef", at, module, (word) "t");
    MAKE(6, "cuMemAlloc_v2", at, 4096);
    MAKE(7, "cuMemAllocManaged", at, 4096, 1);
    MAKE(8, "cuMemAllocHost_v2", at, 4096);
    MAKE(9, "cuArrayCreate_v2", at, (word)array);
    word resource[18] = {0, out}, texture[13] = {0};
    MAKE(10, "cuTexObjectCreate", at, (word)resource, (word)texture, 0);
    MAKE(11, "cuGraphCreate", at, 0);
    word graph = out;
    MAKE(12, "cuGraphAddEmptyNode", at, graph, 0, 0);
    MAKE(13, "cuGraphInstantiateWithFlags", at, graph, 0);
    word pool[11] = {1, 1};
    MAKE(14, "cuMemPoolCreate", at, (word)pool);
    MAKE(15, "cuLinkCreate_v2", 0, 0, 0, at);
    MAKE(16, "cuLibraryLoadData", at, text);
    word code = out;
    MAKE(17, "cuLibraryGetKernel", at, code, (word) "k");
    MAKE(18, "cuModuleGetGlobal_v2", at, 0, module, (word) "v");
    MAKE(19, "cuMemAddressReserve", at, 1 << 21);
    word properties[5] = {1, 1};
    MAKE(20, "cuMemCreate", at, 1 << 21, (word)properties);
    MAKE(21, "cuSurfObjectCreate", at, (word)resource);
    if (below(3) == 0) CALL("cuStreamBeginCapture_v2", kept[1][below(KEPT)], below(3));
    /* Some end at once, and stay in the lists. */
    static const char *const END[KINDS] = {"cuCtxDestroy_v2",        "cuStreamDestroy_v2", "cuEventDestroy_v2", "cuModuleUnload", NULL,
                                           NULL,                     "cuMemFree_v2",       "cuMemFree_v2",      "cuMemFreeHost",  "cuArrayDestroy",
                                           "cuTexObjectDestroy",     "cuGraphDestroy",     "cuGraphDestroyNode", "cuGraphExecDestroy", "cuMemPoolDestroy",
                                           "cuLinkDestroy",          "cuLibraryUnload",    NULL,                NULL,             NULL,
                                           "cuMemRelease",           "cuSurfObjectDestroy"};
    for (unsigned kind = 1; kind < KINDS; ++kind)
        if (END[kind] && below(2)) CALL(END[kind], kept[kind][below(KEPT)]);
    if (below(4) == 0) CALL("cuCtxDestroy_v2", below(2) ? context : kept[0][below(KEPT)]);
}

static word number(void) {
    static const word NUMBERS[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 64, 256, 4096, 1 << 20, 1 << 21, (word)1 << 31, (word)1 << 32, (word)1 << 40, -1, (word)1 << 63};
    return below(3) ? NUMBERS[below(sizeof NUMBERS / 8)] : below(40);
}

static word argument(void) {
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
        return number();
    case 3:
    case 4:
    case 5:
    case 6:
        return kept[below(KINDS)][below(KEPT)];
    case 7:
        /* Near the end, and beyond. */
        return (word)scratch + SCRATCH - below(64);
    default:
        return (word)scratch + below(SCRATCH / 8) * 8;
    }
}

/* The kind of a function's object, by its name; it is the first argument or the second. */
static unsigned kind_of(const char *name) {
    static const struct { const char *part; unsigned kind; } KINDS_OF[] = {
        {"GraphExec", 13}, {"GraphNode", 12}, {"Node", 12},    {"Graph", 11},       {"Stream", 1},  {"Event", 2},  {"Module", 3}, {"Func", 4},    {"Kernel", 17},
        {"TexRef", 5},     {"TexObj", 10},    {"Texture", 10}, {"SurfObj", 21},     {"Surface", 21}, {"Array", 9}, {"Pool", 14},  {"cuLink", 15}, {"Library", 16},
        {"Ctx", 0},        {"MemHost", 8},    {"Address", 19}, {"cuMemMap", 19},    {"Handle", 20}, {"Mem", 6},    {"Pointer", 6}, {"Free", 6}};
    for (unsigned i = 0; i < sizeof KINDS_OF / sizeof *KINDS_OF; ++i)
        if (strstr(name, KINDS_OF[i].part)) return KINDS_OF[i].kind;
    return below(KINDS);
}

static int is_left_out(const char *name) {
    for (unsigned i = 0; i < sizeof LEFT_OUT / sizeof *LEFT_OUT; ++i)
        if (strstr(name, LEFT_OUT[i])) return 1;
    return 0;
}

int main(int argc, char **argv) {
    static char names[1500][80];
    unsigned count = 0;
    if (argc < 5 || !(driver = dlopen(argv[1], RTLD_NOW)) || !(library = dlopen(argv[argc - 1 == 5 ? 5 : 1], RTLD_NOW))) return 2;
    FILE *list = fopen(argv[2], "r");
    while (list && count < 1500 && fscanf(list, "%79s", names[count]) == 1) count += !is_left_out(names[count]);
    state = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15u | 1;
    /* Nothing is behind the scratch memory for a megabyte of megabytes. */
    scratch = mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (count == 0 || scratch == MAP_FAILED || mprotect(scratch, SCRATCH, PROT_READ | PROT_WRITE) != 0) return 2;
    signal(SIGALRM, failed);
    signal(SIGSEGV, failed);
    signal(SIGBUS, failed);
    if (named("cuInit")(0, 0, 0, 0, 0, 0, 0, 0, 0, 0) != 0) return 2;
    unsigned succeeded = 0;
    for (unsigned i = 0, calls = strtoul(argv[3], NULL, 10); i < calls; ++i) {
        if (i % 64 == 0) {
            objects();
            for (unsigned at = 0; at < SCRATCH; at += 8) {
                word value = below(2) ? number() : argument();
                memcpy(scratch + at, &value, 8);
            }
        }
        word arguments[10];
        for (unsigned a = 0; a < 10; ++a) arguments[a] = argument();
        const char *name = names[below(count)];
        /* Half of the calls have an object of the right kind, and an address for what they return. */
        if (below(2)) {
            unsigned first = below(2);
            arguments[first] = kept[kind_of(name)][below(KEPT)];
            arguments[1 - first] = (word)scratch + below(SCRATCH / 8) * 8;
        }
        succeeded += call_with(name, arguments) == 0;
    }
    printf("%u calls of %u functions succeeded\nall checks passed\n", succeeded, count);
    fflush(stdout);
    _exit(0);
}
