/* Inline-assembly intrinsics for XPHMG_PMASK, RSV and CEXP, for compilers that do not know them (GNU C, Clang).
 *
 * Encodings are those of the Simtlab book's page on PMASK: they are this project's, the extension's documents have none.
 * Banks, lengths and rounding modes are constants; with optimisation off, use the macros only with literals.
 *
 * RSV instructions work on windows of numbered registers, which a compiler does not model: put a whole lane-wise
 * sequence into one asm statement, and name what it writes as clobbers. */
#ifndef XPHMG_PMASK_H
#define XPHMG_PMASK_H

#include <stdint.h>

/* Operations on a bank b (0 to 3). */
#define PM_B_(f7, b) __asm__ volatile(".insn r 0x2b, 2, " #f7 ", x0, x0, x" #b ::: "memory")
#define PM_WR_(f7, b, v) \
    __asm__ volatile(".insn r 0x2b, 2, " #f7 ", x0, %0, x" #b ::"r"((uint64_t)(v)) : "memory")
#define PM_RD_(f7, b)                                                                          \
    (__extension__({                                                                           \
        uint64_t pm_rd_;                                                                       \
        __asm__ volatile(".insn r 0x2b, 2, " #f7 ", %0, x0, x" #b : "=r"(pm_rd_)::"memory"); \
        pm_rd_;                                                                                \
    }))

#define pm_clr(b) PM_B_(0x40, b)
#define pm_set(b) PM_B_(0x41, b)
#define pm_not(b) PM_B_(0x42, b)
#define pm_low_rd(b) PM_RD_(0x44, b)
#define pm_high_rd(b) PM_RD_(0x45, b)
#define pm_low_wr(b, v) PM_WR_(0x46, b, v)
#define pm_high_wr(b, v) PM_WR_(0x47, b, v)
#define pm_and(b, v) PM_WR_(0x48, b, v)
#define pm_or(b, v) PM_WR_(0x49, b, v)
#define pm_xor(b, v) PM_WR_(0x4a, b, v)
#define pm_andn(b, v) PM_WR_(0x4b, b, v)
#define pm_any(b) PM_RD_(0x4c, b)
#define pm_none(b) PM_RD_(0x4d, b)
#define pm_all(b) PM_RD_(0x4e, b)
#define pm_popcnt(b) PM_RD_(0x4f, b)

/* The whole 64-bit mask of a bank. */
#define pm_read(b) (pm_low_rd(b) | pm_high_rd(b) << 32)
#define pm_write(b, v)                 \
    do {                               \
        uint64_t pm_v_ = (v);          \
        pm_low_wr(b, pm_v_);           \
        pm_high_wr(b, pm_v_ >> 32);    \
    } while (0)

/* P0. */
static inline uint64_t pm_p0(void)
{
    uint64_t v;
    __asm__ volatile(".insn r 0x2b, 2, 0x50, %0, x0, x0" : "=r"(v)::"memory");
    return v;
}

static inline void pm_to_p0(uint64_t v)
{
    __asm__ volatile(".insn r 0x2b, 2, 0x51, x0, %0, x0" ::"r"(v) : "memory");
}

static inline uint64_t pm_sel(uint64_t if_true, uint64_t if_false)
{
    uint64_t v;
    __asm__ volatile(".insn r 0x2b, 2, 0x52, %0, %1, %2" : "=r"(v) : "r"(if_true), "r"(if_false) : "memory");
    return v;
}

static inline void pm_testnz(uint64_t a, uint64_t b)
{
    __asm__ volatile(".insn r 0x2b, 2, 0x53, x0, %0, %1" ::"r"(a), "r"(b) : "memory");
}

#define PM_CMP_(name, f7)                                                                            \
    static inline void name(uint64_t a, uint64_t b)                                                  \
    {                                                                                                \
        __asm__ volatile(".insn r 0x2b, 2, " #f7 ", x0, %0, %1" ::"r"(a), "r"(b) : "memory");     \
    }
PM_CMP_(pm_cmp_eq_s, 0x60)
PM_CMP_(pm_cmp_ne_s, 0x61)
PM_CMP_(pm_cmp_lt_s, 0x62)
PM_CMP_(pm_cmp_ge_s, 0x63)
PM_CMP_(pm_cmp_gt_s, 0x64)
PM_CMP_(pm_cmp_le_s, 0x65)
PM_CMP_(pm_cmp_eq_u, 0x68)
PM_CMP_(pm_cmp_ne_u, 0x69)
PM_CMP_(pm_cmp_lt_u, 0x6a)
PM_CMP_(pm_cmp_ge_u, 0x6b)
PM_CMP_(pm_cmp_gt_u, 0x6c)
PM_CMP_(pm_cmp_le_u, 0x6d)

/* RSV: for use inside asm statements. */
#define RSV_SETVL(n) ".insn i 0x0b, 0, x0, x0, " #n "\n\t"
#define RSV_ONE ".insn i 0x0b, 1, x0, x0, 1\n\t"
#define RSV_BLK(n) ".insn i 0x0b, 2, x0, x0, " #n "\n\t"
#define RSV_END ".insn i 0x0b, 3, x0, x0, 0\n\t"
#define RSV_PBANK(b) "csrci 0x7f8, 12\n\tcsrsi 0x7f8, " #b " << 2\n\t"
/* Windows of rs1, rs2 and rd: offset | step << 8, from a register. */
#define RSV_SRCA(reg) "csrw 0x7f9, " #reg "\n\t"
#define RSV_SRCB(reg) "csrw 0x7fa, " #reg "\n\t"
#define RSV_DST(reg) "csrw 0x7fb, " #reg "\n\t"
#define RSV_COMPRESS(rd, rs) ".insn r 0x2b, 2, 0, " #rd ", " #rs ", x0\n\t"
#define RSV_EXPAND(rd, rs) ".insn r 0x2b, 2, 1, " #rd ", " #rs ", x0\n\t"
#define PM_LANES_NONZERO(b, rs) ".insn r 0x2b, 2, 0x51, x0, " #rs ", x" #b "\n\t"

/* Discovery. */
static inline unsigned xphmg_banks(void)
{
    uint64_t v;
    __asm__ volatile("csrr %0, 0x7c7" : "=r"(v));
    return v & 1 ? (unsigned)(v >> 1 & 7) + 1 : 0;
}

#endif
