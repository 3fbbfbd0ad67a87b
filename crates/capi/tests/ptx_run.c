/* ptx_run: arguments are words; pointers among them are this process's own memory. */
#include "simtlab.h"
#include "check.h"
#include <string.h>
#include <sys/mman.h>

static char PTX[] =
    ".version 6.0\n.target sm_35\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u32 more) {\n"
    "  .reg .b32 %r<5>; .reg .b64 %d<4>;\n"
    "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "  mad.lo.u32 %r1, %r1, %r2, %r3;\n"
    "  mul.wide.u32 %d0, %r1, 4;\n"
    "  ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r4, [more];\n"
    "  add.u64 %d1, %d1, %d0; add.u64 %d2, %d2, %d0;\n"
    "  ld.global.u32 %r2, [%d2];\n"
    "  add.u32 %r2, %r2, %r4;\n"
    "  st.global.u32 [%d1], %r2;\n"
    "  ret;\n"
    "}\n";

static void run(uint32_t *a, uint32_t *b, uint64_t more, int block, int grid) {
    void *args[3] = {a, b, (void *)more};
    ptx_run(PTX, 3, args, block, 1, 1, grid, 1, 1, 0);
}

int main(void) {
    enum { N = 1 << 16 };
    /* Odd places in the heap, small and large. */
    uint32_t *a = (uint32_t *)((char *)malloc(4 * N + 64) + 12);
    uint32_t *b = malloc(4 * N);
    for (uint32_t i = 0; i < N; i++) b[i] = i, a[i] = 0;
    run(a, b, 5, 256, N / 256);
    CHECK(strcmp(simtlab_error(), "") == 0);
    for (uint32_t i = 0; i < N; i++) CHECK(a[i] == i + 5);
    uint32_t on_stack[3] = {1, 2, 3};
    run(on_stack, on_stack, 1, 2, 1);
    CHECK(on_stack[0] == 2 && on_stack[1] == 3 && on_stack[2] == 3);
    /* Right up to the end of what can be accessed, and beyond. A hole would do as well, until somebody's next mapping fills it. */
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + 8192, 4096, PROT_NONE) == 0);
    uint32_t *last = (uint32_t *)(pages + 8192 - 128);
    run(last, b, 1, 32, 1);
    CHECK(strcmp(simtlab_error(), "") == 0 && last[0] == 1 && last[31] == 32);
    memset(pages, 0, 8192);
    run(last, b, 1, 33, 1);
    CHECK(strstr(simtlab_error(), "st.global") != NULL);
    /* A launch that faults has changed nothing. */
    CHECK(last[0] == 0 && last[31] == 0);
    CHECK(mprotect(pages, 4096, PROT_READ) == 0);
    run((uint32_t *)pages, b, 1, 32, 1);
    CHECK(strlen(simtlab_error()) > 0);
    /* Careless callers. */
    run(NULL, b, 1, 32, 1);
    CHECK(strstr(simtlab_error(), "null pointer") != NULL);
    run(a, b, 1, 0, 1);
    CHECK(strlen(simtlab_error()) > 0);
    run(a, b, 1, -1, 1);
    CHECK(strlen(simtlab_error()) > 0);
    ptx_run(PTX, 3, NULL, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strlen(simtlab_error()) > 0);
    void *args[3] = {a, b, 0};
    ptx_run(PTX, 2, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strstr(simtlab_error(), "takes 3") != NULL);
    ptx_run(PTX, -7, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strlen(simtlab_error()) > 0);
    ptx_run(NULL, 3, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strlen(simtlab_error()) > 0);
    ptx_run("no PTX at all", 3, args, 1, 1, 1, 1, 1, 1, 0);
    CHECK(strlen(simtlab_error()) > 0);
    run(on_stack, on_stack, 1, 1, 1);
    CHECK(strcmp(simtlab_error(), "") == 0 && on_stack[0] == 3);
    puts("all checks passed");
    return 0;
}
