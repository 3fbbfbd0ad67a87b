# Asks the machine what it has, one question after another; -1 stands for a trap. The launch files beside the folder set one
# option each and say what it changes.
_start:
    la   t0, handler
    csrw mtvec, t0
    la   s9, seen
    la   a0, record
    li   a1, 1
# 0: random bits of bank 1 at reset
    li   s11, 0
    pmlow.rd 1, a5
    jal  ra, keep
# 1: CAP.PMASK.CAP
    li   s11, 0
    csrr a5, 0x7c7
    jal  ra, keep
# 2: XPM.INFO
    li   s11, 0
    csrr a5, xpm.info
    jal  ra, keep
# 3: lanes of bank 0
    li   s11, 0
    pmpopcnt 0, a5
    jal  ra, keep
# 4: VL at reset
    li   s11, 0
    csrr a5, svstate
    srli a5, a5, 8
    andi a5, a5, 127
    jal  ra, keep
# 5: VLMAX
    li   s11, 0
    svsetvl a5, x0
    jal  ra, keep
# 6: bank 3
    li   s11, 0
    li a5, 0
    pmset 3
    jal  ra, keep
# 7: bank 2
    li   s11, 0
    li a5, 0
    pmset 2
    jal  ra, keep
# 8: an operation of M2
    li   s11, 0
    li a5, 0
    pmnot 0
    jal  ra, keep
# 9: an operation of M1
    li   s11, 0
    li a5, 0
    pmclr 0
    jal  ra, keep
# 10: a fused branch
    li   s11, 0
    li a5, 1
    bp.any 0, .+8
    li a5, 2
    jal  ra, keep
# 11: pmmov.to_p0 with a bank
    li   s11, 0
    li a5, 0
    pmmov.to_p0 1, a1
    jal  ra, keep
# 12: its lane form: bank 1 after eight ones
    li   s11, 0
    svsetvl x0, 8
    pmclr 1
    csrw svsrca, x0
    svon.one
    pmmov.to_p0 1, a1
    svend
    pmlow.rd 1, a5
    jal  ra, keep
# 13: ZMODE at reset
    li   s11, 0
    csrr a5, 0x7d2
    srli a5, a5, 11
    jal  ra, keep
# 14: ZMODE after bit 3
    li   s11, 0
    li a4, 0x8000000000000008
    csrw 0x7d0, a4
    csrr a5, 0x7d2
    srli a5, a5, 11
    jal  ra, keep
# 15: ZMODE after bit 11
    li   s11, 0
    li a4, 0x8000000000000800
    csrw 0x7d0, a4
    csrr a5, 0x7d2
    srli a5, a5, 11
    jal  ra, keep
# 16: svcompress
    li   s11, 0
    li a5, 0
    svcompress a4, a1
    jal  ra, keep
# 17: a test with a bank
    li   s11, 0
    li a5, 0
    ptestnz 1, a1, a1
    jal  ra, keep
# 18: pmor on bank 0, then P0
    li   s11, 0
    pmmov.to_p0 x0
    pmor 0, a1
    pmmov.p0 a5
    jal  ra, keep
# 19: a bit of bank 1 above VL
    li   s11, 0
    svsetvl x0, 4
    li a4, 16
    pmlow.wr 1, a4
    pmany 1, a5
    jal  ra, keep
# 20: RT.BBOX
    li   s11, 0
    li a5, 0
    rt.bbox a4, a0, 0
    jal  ra, keep
# 21: a misaligned load
    li   s11, 0
    li a5, 0
    lw a4, 1(a0)
    jal  ra, keep
    li   a0, 0
    li   a7, 93
    csrw mtvec, x0
    ecall

# The answer in a5, or -1 after a trap.
keep:
    beqz s11, 1f
    li   a5, -1
1:  sd   a5, 0(s9)
    addi s9, s9, 8
    ret

# Goes on behind the instruction that trapped: all of them have four bytes.
.balign 4
handler:
    li   s11, 1
    csrr t6, mepc
    addi t6, t6, 4
    csrw mepc, t6
    mret

.data
record: .float 0, 0, 0, 1, 0, 0, 0, 100, 2, -1, -1, 4, 3, 1
.balign 8
seen:   .space 176
