# Steps to reach 1 of eight numbers at once. Bank 3 holds the lanes that are alive, banks 1 and 2 the odd and the even ones.
# In: input, eight 64-bit numbers above 0. Out: steps.
_start:
    la   t0, input
    li   t1, 0x100
    csrw svsrcb, t1
    csrw svdst, t1
    svsetvl x0, 8
    csrw svsrca, x0
    svon.one
    ld   x8, 0(t0)              # numbers in x8..x15
    csrw svsrca, x0
    svon.one
    addi x16, x0, 0             # steps in x16..x23
    csrw svsrca, t1
    pmset 3
    csrsi svstate, 12
    svon.blk 2
    addi x24, x8, -1
    pmmov.to_p0 3, x24          # alive: not 1 yet
    bp.none 3, 9f
1:  csrsi svstate, 12           # PBANK = 3
    pmclr 1
    svon.blk 2
    andi x24, x8, 1
    pmmov.to_p0 1, x24          # bank 1 = alive and odd
    pmlow.rd 3, t0
    pmlow.rd 1, t1
    pmclr 2
    pmor  2, t0
    pmandn 2, t1                # bank 2 = alive and even
    svon.one
    addi x16, x16, 1
    csrci svstate, 8            # PBANK = 1
    svon.blk 3
    slli x24, x8, 1             # odd: 3 n + 1
    add  x8, x8, x24
    addi x8, x8, 1
    csrci svstate, 4
    csrsi svstate, 8            # PBANK = 2
    svon.one
    srli x8, x8, 1              # even: n / 2
    csrsi svstate, 12           # PBANK = 3
    svon.blk 2
    addi x24, x8, -1
    pmmov.to_p0 3, x24          # alive &= n != 1
    bp.any 3, 1b
9:  csrci svstate, 12           # PBANK = 0
    csrw svsrca, x0
    la   t0, steps
    svon.one
    sd   x16, 0(t0)
    li   a0, 0
    li   a7, 93
    ecall

.data
input: .dword 1, 2, 3, 7, 27, 9, 97, 1024
steps: .space 64
