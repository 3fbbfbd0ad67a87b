/* libcudart_static.a: every function of the shared CUDA runtime library, forwarded to it.
 *
 * A program that is linked with this archive holds no runtime. The first call of a function finds it in
 * libcudart.so.VERSION, which the dynamic linker looks for as for any library of that name, so all
 * parts of a process share one runtime. link.sh writes FUNCTIONS, which names each function with its
 * index, and VERSION.
 *
 * Without the library all functions return cudaErrorInsufficientDriver, as NVIDIA's static runtime does
 * without a driver, and one line on the standard error stream says what is missing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#ifndef __x86_64__
#error "the forwarding code is written for x86-64; link programs with the shared runtime"
#endif

#include "functions.h"

#define LIBRARY "libcudart.so." VERSION

/* The section by which a program that is linked with this archive is known. */
__attribute__((section(".simtlab.cudart"), used)) static const char marker[] = LIBRARY;

#define NAME(index, name) #name,
static const char *const names[] = { FUNCTIONS(NAME) };
#define COUNT (sizeof names / sizeof *names)

/* The addresses that the code below jumps to; 0 before the first call. */
__attribute__((visibility("hidden"))) _Atomic(void *) simtlab_cudart_slots[COUNT];

static int no_status(void) { return 35; }
static const char *no_text(void) { return "CUDA driver version is insufficient for CUDA runtime version"; }
static void *no_handle(void) { return (void *)simtlab_cudart_slots; }

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
                        "`simtlab exec`, or with a CUDA runtime on LD_LIBRARY_PATH\n", marker);
    return handle;
}

/* Finds the function of an index. Concurrent first calls find the same address. */
__attribute__((visibility("hidden"), used)) void *simtlab_cudart_find(unsigned index)
{
    void *handle = library();
    void *found = handle ? dlsym(handle, names[index]) : NULL;
    if (!found)
        return replacement(names[index]);
    atomic_store(&simtlab_cudart_slots[index], found);
    return found;
}

/* A function jumps to its slot's address with its arguments where they are. The first call saves the
 * registers of arguments around the search. */
#define JUMP(index, name)                                                          \
    ".globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name ":\n" \
    "\tendbr64\n"                                                                  \
    "\tmov simtlab_cudart_slots+8*" #index "(%rip), %r11\n"                        \
    "\ttest %r11, %r11\n"                                                          \
    "\tjz 1f\n"                                                                    \
    "\tjmp *%r11\n"                                                                \
    "1:\tmov $" #index ", %r11d\n"                                                 \
    "\tjmp simtlab_cudart_first\n"                                                 \
    ".size " #name ", . - " #name "\n"

__asm__(
    ".text\n"
    ".type simtlab_cudart_first, @function\n"
    "simtlab_cudart_first:\n"
    "\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\tpush %rax\n"
    "\tsub $128, %rsp\n"
    "\tmovaps %xmm0, (%rsp)\n\tmovaps %xmm1, 16(%rsp)\n\tmovaps %xmm2, 32(%rsp)\n"
    "\tmovaps %xmm3, 48(%rsp)\n\tmovaps %xmm4, 64(%rsp)\n\tmovaps %xmm5, 80(%rsp)\n"
    "\tmovaps %xmm6, 96(%rsp)\n\tmovaps %xmm7, 112(%rsp)\n"
    "\tmov %r11d, %edi\n"
    "\tcall simtlab_cudart_find\n"
    "\tmov %rax, %r11\n"
    "\tmovaps (%rsp), %xmm0\n\tmovaps 16(%rsp), %xmm1\n\tmovaps 32(%rsp), %xmm2\n"
    "\tmovaps 48(%rsp), %xmm3\n\tmovaps 64(%rsp), %xmm4\n\tmovaps 80(%rsp), %xmm5\n"
    "\tmovaps 96(%rsp), %xmm6\n\tmovaps 112(%rsp), %xmm7\n"
    "\tadd $128, %rsp\n"
    "\tpop %rax\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n"
    "\tjmp *%r11\n"
    ".size simtlab_cudart_first, . - simtlab_cudart_first\n"
    FUNCTIONS(JUMP));
