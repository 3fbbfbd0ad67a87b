/* Links PTX by libnvJitLink, compiles it by the PTX compiler, and runs what they give. The argument says whether
 * there is a stand-in for NVIDIA's library (`with`) or not (`without`). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int NAMED(Create)(void **, uint32_t, const char **);
int NAMED(Destroy)(void **);
int NAMED(AddData)(void *, int, const void *, size_t, const char *);
int NAMED(AddFile)(void *, int, const char *);
int NAMED(Complete)(void *);
int NAMED(GetLinkedCubinSize)(void *, size_t *);
int NAMED(GetLinkedCubin)(void *, void *);
int NAMED(GetLinkedPtxSize)(void *, size_t *);
int NAMED(GetLinkedPtx)(void *, char *);
int NAMED(GetErrorLogSize)(void *, size_t *);
int NAMED(GetErrorLog)(void *, char *);
int NAMED(GetInfoLogSize)(void *, size_t *);
int NAMED(GetInfoLog)(void *, char *);
int nvJitLinkVersion(unsigned *, unsigned *);
int nvPTXCompilerGetVersion(unsigned *, unsigned *);
int nvPTXCompilerCreate(void **, size_t, const char *);
int nvPTXCompilerDestroy(void **);
int nvPTXCompilerCompile(void *, int, const char *const *);
int nvPTXCompilerGetCompiledProgramSize(void *, size_t *);
int nvPTXCompilerGetCompiledProgram(void *, void *);
int nvPTXCompilerGetErrorLogSize(void *, size_t *);
int nvPTXCompilerGetErrorLog(void *, char *);

int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuCtxSetCurrent(void *);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuModuleUnload(void *);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("line %d: %s\n", __LINE__, #condition);                      \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"
/* A kernel that stores what a function makes of 21. */
#define KERNEL                                                                  \
    ".visible .entry k(.param .u64 out) {\n"                                    \
    "  .reg .b64 %p; .reg .b32 %r; .param .b32 x, r;\n"                         \
    "  ld.param.u64 %p, [out]; st.param.b32 [x], 21;\n"                         \
    "  call (r), change, (x);\n"                                                \
    "  ld.param.b32 %r, [r]; st.global.b32 [%p], %r; ret;\n}\n"
#define DECLARED ".extern .func (.param .b32 r) change(.param .b32 x);\n"
#define DEFINED(operation)                                                      \
    ".visible .func (.param .b32 r) change(.param .b32 x) {\n"                  \
    "  .reg .b32 %r; ld.param.b32 %r, [x]; " operation " st.param.b32 [r], %r; ret;\n}\n"

static const char caller[] = HEADER DECLARED KERNEL;
static const char twice[] = HEADER DEFINED("add.s32 %r, %r, %r;");
static const char thrice[] = HEADER DEFINED("mul.lo.s32 %r, %r, 3;");
static const char whole[] = HEADER DEFINED("add.s32 %r, %r, 1;") KERNEL;

/* What the kernel of an image stores. */
static int result(const void *image)
{
    void *module, *kernel;
    uint64_t out;
    int value = -1;
    CHECK(!cuModuleLoadData(&module, image));
    CHECK(!cuModuleGetFunction(&kernel, module, "k"));
    CHECK(!cuMemAlloc_v2(&out, 4));
    void *arguments[] = { &out };
    CHECK(!cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    CHECK(!cuMemcpyDtoH_v2(&value, out, 4));
    CHECK(!cuMemFree_v2(out) && !cuModuleUnload(module));
    return value;
}

static void *new_link(int count, const char **options)
{
    void *link = NULL;
    CHECK(!NAMED(Create)(&link, count, options) && link);
    return link;
}

static int add(void *link, int kind, const char *text, const char *name)
{
    return NAMED(AddData)(link, kind, text, strlen(text), name);
}

/* The image of a link, on the heap. */
static void *image_of(void *link)
{
    size_t size = 0;
    CHECK(!NAMED(GetLinkedCubinSize)(link, &size) && size);
    void *image = malloc(size);
    CHECK(image && !NAMED(GetLinkedCubin)(link, image));
    return image;
}

static void check_log(void *link, const char *wanted)
{
    char text[4096];
    size_t size = 0;
    CHECK(!NAMED(GetErrorLogSize)(link, &size) && size <= sizeof text);
    CHECK(!NAMED(GetErrorLog)(link, text));
    CHECK(size == strlen(text) + 1 && strstr(text, wanted));
}

static void links(void)
{
    const char *options[] = { "-arch=sm_80", "-O3", "-lineinfo" };
    void *link = new_link(3, options);
    CHECK(!add(link, 2, caller, "caller") && !add(link, 10, twice, "twice"));
    CHECK(!NAMED(Complete)(link));
    void *image = image_of(link);
    CHECK(result(image) == 42);
    free(image);
    CHECK(!NAMED(Destroy)(&link) && !link);

    link = new_link(1, options);
    CHECK(!add(link, 2, caller, "caller"));
    CHECK(NAMED(Complete)(link) == 6);
    check_log(link, "error   : Undefined reference to 'change' in 'caller'\n");
    CHECK(NAMED(AddFile)(link, 2, "/nonexistent") == 3);
    CHECK(!add(link, 2, twice, "twice") && !add(link, 2, thrice, "thrice"));
    CHECK(NAMED(Complete)(link) == 6);
    check_log(link, "error   : Multiple definition of 'change' in 'thrice', first defined in 'twice'\n");
    CHECK(!NAMED(Destroy)(&link));

    const char *wrong[] = { "-arch=sm_80", "-nonsense" };
    CHECK(NAMED(Create)(&link, 2, wrong) == 1 && link);
    check_log(link, "unrecognized option: -nonsense\n");
    CHECK(!NAMED(Destroy)(&link));
    CHECK(NAMED(Complete)((void *)0x1234) == 3 && NAMED(Complete)(NULL) == 10);
}

static void compiles(void)
{
    const char *options[] = { "--gpu-name=sm_80", "-lineinfo" }, *wrong[] = { "-arch=sm_80", "--nonsense" };
    void *compiler = NULL;
    size_t size = 0;
    char text[256];
    CHECK(!nvPTXCompilerCreate(&compiler, strlen(whole), whole));
    CHECK(nvPTXCompilerCompile(compiler, 2, wrong) == 3);
    CHECK(!nvPTXCompilerGetErrorLogSize(compiler, &size) && size <= sizeof text);
    CHECK(!nvPTXCompilerGetErrorLog(compiler, text));
    CHECK(!strcmp(text, "ptxas fatal   : Unknown option '-nonsense'\n"));
    CHECK(!nvPTXCompilerCompile(compiler, 2, options));
    CHECK(!nvPTXCompilerGetCompiledProgramSize(compiler, &size));
    void *image = malloc(size);
    CHECK(image && !nvPTXCompilerGetCompiledProgram(compiler, image));
    CHECK(result(image) == 22);
    free(image);
    CHECK(!nvPTXCompilerDestroy(&compiler) && !compiler);
}

#define LTO_IR "\xed\x43\x4e\x7f"

/* Links LTO-IR with a function in PTX. */
static void links_lto_ir(int with)
{
    const char *options[] = { "-arch=sm_80", "-lto", "-ptx" };
    void *link = new_link(2, options);
    size_t size = 0;
    static const char lto[] = LTO_IR HEADER DECLARED KERNEL;
    CHECK(!add(link, 3, lto, "lto") && !add(link, 2, thrice, "thrice"));
    CHECK(NAMED(Complete)(link) == (with ? 0 : 5));
    if (!with) {
        check_log(link, "ERROR NVJITLINK_ERROR_NVVM_COMPILE: LTO-IR is compiled by NVIDIA's libnvJitLink");
        CHECK(!NAMED(Destroy)(&link));
        return;
    }
    void *image = image_of(link);
    CHECK(result(image) == 63);
    free(image);
    CHECK(!NAMED(GetInfoLogSize)(link, &size) && size == sizeof "compiled\n");
    CHECK(!NAMED(Destroy)(&link));

    link = new_link(3, options);
    CHECK(!add(link, 3, lto, "lto") && !NAMED(Complete)(link));
    CHECK(!NAMED(GetLinkedPtxSize)(link, &size) && size == sizeof lto - 4);
    char *text = malloc(size);
    CHECK(text && !NAMED(GetLinkedPtx)(link, text) && !strcmp(text, lto + 4));
    free(text);
    CHECK(!NAMED(Destroy)(&link));

    link = new_link(2, options);
    CHECK(!add(link, 3, LTO_IR "!", "lto") && NAMED(Complete)(link) == 5);
    check_log(link, "no code\n");
    CHECK(!NAMED(Destroy)(&link));
}

int main(int count, char **arguments)
{
    void *context;
    unsigned major = 0, minor = 0;
    CHECK(count == 2);
    CHECK(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context));
    CHECK(!nvJitLinkVersion(&major, &minor) && major == MAJOR);
    CHECK(!nvPTXCompilerGetVersion(&major, &minor) && major == MAJOR);
    links();
    compiles();
    links_lto_ir(!strcmp(arguments[1], "with"));
    puts("all checks passed");
    return 0;
}
