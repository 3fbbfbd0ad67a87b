/* Static libraries that forward every function to a shared library of the same functions: libcudart_static.a,
 * libnvptxcompiler_static.a.
 *
 * A program that is linked with such an archive holds no library. The first call of a function finds it in
 * LIBRARY, which the dynamic linker looks for as for any library of that name, so all parts of a process
 * share one. forward.sh writes FUNCTIONS, which names each function with its index, LIBRARY, PREFIX for the
 * names of this file that linkers see, SECTION, and STATUS.
 *
 * Without the library all functions return STATUS (of the runtime: cudaErrorInsufficientDriver, as NVIDIA's
 * static runtime does without a driver), and one line on the standard error stream says what is missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#ifndef __x86_64__
#error "the forwarding code is written for x86-64; link programs with the shared library"
#endif

#include "functions.h"

#define STRING_(text) #text
#define STRING(text) STRING_(text)
#define PASTE_(prefix, name) prefix##_##name
#define PASTE(prefix, name) PASTE_(prefix, name)
#define SLOTS PASTE(PREFIX, slots)
#define FIND PASTE(PREFIX, find)
/* The same names in assembly. */
#define OWN STRING(PREFIX)

/* The section by which a program that is linked with this archive is known. */
__attribute__((section(SECTION), used)) static const char marker[] = LIBRARY;

#define NAME(index, name) #name,
static const char *const names[] = { FUNCTIONS(NAME) };
#define COUNT (sizeof names / sizeof *names)

/* The addresses that the code below jumps to; 0 before the first call. */
__attribute__((visibility("hidden"))) _Atomic(void *) SLOTS[COUNT];

static int no_status(void) { return STATUS; }
static const char *no_text(void) { return "CUDA driver version is insufficient for CUDA runtime version"; }
static void *no_handle(void) { return (void *)SLOTS; }

/* A replacement for a function of a library that is not there. */
static void *replacement(const char *name)
{
    if (!strcmp(name, "cudaGetErrorName") || !strcmp(name, "cudaGetErrorString"))
        return (void *)no_text;
    return !strcmp(name, "__cudaRegisterFatBinary") ? (void *)no_handle : (void *)no_status;
}

static void *library(void)
{
    static _Atomic(void *) known;
    static atomic_flag told = ATOMIC_FLAG_INIT;
    void *handle = atomic_load(&known);
    if (!handle) {
        handle = dlopen(marker, RTLD_NOW | RTLD_LOCAL);
        atomic_store(&known, handle);
    }
    if (!handle && !atomic_flag_test_and_set(&told))
        fprintf(stderr, "%s is not found; this program was linked for Simtlab: run it by "
                        "`simtlab exec`, or with the library on LD_LIBRARY_PATH\n", marker);
    return handle;
}

/* Finds the function of an index. Concurrent first calls find the same address. */
__attribute__((visibility("hidden"), used)) void *FIND(unsigned index)
{
    void *handle = library();
    void *found = handle ? dlsym(handle, names[index]) : NULL;
    if (!found)
        return replacement(names[index]);
    atomic_store(&SLOTS[index], found);
    return found;
}

/* A function jumps to its slot's address with its arguments where they are. The first call saves the
 * registers of arguments around the search. */
#define JUMP(index, name)                                                          \
    ".globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name ":\n" \
    "\tendbr64\n"                                                                  \
    "\tmov " OWN "_slots+8*" #index "(%rip), %r11\n"                               \
    "\ttest %r11, %r11\n"                                                          \
    "\tjz 1f\n"                                                                    \
    "\tjmp *%r11\n"                                                                \
    "1:\tmov $" #index ", %r11d\n"                                                 \
    "\tjmp " OWN "_first\n"                                                        \
    ".size " #name ", . - " #name "\n"

__asm__(
    ".text\n"
    ".type " OWN "_first, @function\n"
    OWN "_first:\n"
    "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\tpush %rax\n"
    "\tsub $128, %rsp\n"
    "\tmovaps %xmm0, (%rsp)\n\tmovaps %xmm1, 16(%rsp)\n\tmovaps %xmm2, 32(%rsp)\n"
    "\tmovaps %xmm3, 48(%rsp)\n\tmovaps %xmm4, 64(%rsp)\n\tmovaps %xmm5, 80(%rsp)\n"
    "\tmovaps %xmm6, 96(%rsp)\n\tmovaps %xmm7, 112(%rsp)\n"
    "\tmov %r11d, %edi\n"
    "\tcall " OWN "_find\n"
    "\tmov %rax, %r11\n"
    "\tmovaps (%rsp), %xmm0\n\tmovaps 16(%rsp), %xmm1\n\tmovaps 32(%rsp), %xmm2\n"
    "\tmovaps 48(%rsp), %xmm3\n\tmovaps 64(%rsp), %xmm4\n\tmovaps 80(%rsp), %xmm5\n"
    "\tmovaps 96(%rsp), %xmm6\n\tmovaps 112(%rsp), %xmm7\n"
    "\tadd $128, %rsp\n"
    "\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
    "\tjmp *%r11\n"
    ".size " OWN "_first, . - " OWN "_first\n"
    FUNCTIONS(JUMP));
