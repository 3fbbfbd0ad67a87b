/* Primes below 64 with a mask bank as the set, then a masked sum of eight numbers with RSV: what xphmg_pmask.h is for.
 *
 *   riscv64-unknown-elf-gcc -O2 -march=rv64gc -mabi=lp64d -mcmodel=medany -nostdlib -nostartfiles \
 *       -ffreestanding -Wl,-Ttext=0x80000000 -Wl,--build-id=none -o sieve.elf sieve.c
 *
 * Prints one line for each half; ends with code 0 if all of it is right. */
#include "../xphmg_pmask.h"

__asm__(".section .text.start,\"ax\"\n.globl _start\n_start:\n\tcall entry\n\tli a7, 93\n\tecall\n.text\n");

static void print(const char *text, long length)
{
    register long a0 __asm__("a0") = 1;
    register const char *a1 __asm__("a1") = text;
    register long a2 __asm__("a2") = length;
    register long a7 __asm__("a7") = 64;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
}

static void print_number(const char *name, long length, uint64_t value)
{
    char digits[24];
    int at = 24;
    digits[--at] = '\n';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    print(name, length);
    print(digits + at, 24 - at);
}

/* Bit i of bank 1 stays set if i is prime. */
static uint64_t sieve(void)
{
    pm_set(1);
    pm_andn(1, 3);
    for (unsigned p = 2; p * p < 64; p++) {
        uint64_t multiples = 0;
        for (unsigned m = p * p; m < 64; m += p)
            multiples |= 1ull << m;
        /* Nothing to take out where p is no prime itself. */
        pm_testnz(pm_read(1), 1ull << p);
        pm_andn(1, pm_sel(multiples, 0));
    }
    return pm_popcnt(1);
}

/* Sum of the elements whose bit is set: a masked load into zeroed registers. */
static uint64_t masked_sum(const uint64_t *values, uint64_t mask)
{
    uint64_t sum;
    pm_low_wr(2, mask);
    __asm__ volatile(
        RSV_SETVL(8)
        "li t0, 0x100\n\t" RSV_SRCA(x0) RSV_SRCB(t0) RSV_DST(t0)
        RSV_ONE "addi x16, x0, 0\n\t"
        RSV_PBANK(2)
        RSV_ONE "ld x16, 0(%1)\n\t"
        RSV_PBANK(0)
        "add %0, x16, x17\n\tadd %0, %0, x18\n\tadd %0, %0, x19\n\tadd %0, %0, x20\n\t"
        "add %0, %0, x21\n\tadd %0, %0, x22\n\tadd %0, %0, x23\n\t"
        : "=&r"(sum)
        : "r"(values)
        : "memory", "t0", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23");
    return sum;
}

uint64_t primes, sum;

int entry(void)
{
    static const uint64_t values[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
    primes = sieve();
    sum = masked_sum(values, 0xa5);
    print_number("primes ", 7, primes);
    print_number("sum ", 4, sum);
    return primes == 18 && sum == 10100101 ? 0 : 1;
}
