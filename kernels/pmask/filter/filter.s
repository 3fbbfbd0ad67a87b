# Keeps the numbers above 0, in order: a mask from lane data, compaction, and a store of just the survivors.
# In: n, input. Out: output, kept.
_start:
    ld   a0, n
    la   a1, input
    la   a2, output
    li   a5, 0
    li   t0, 0x100
    csrw svsrcb, t0
    csrw svdst, t0
    svsetvl x0, 8
1:  beqz a0, 9f
    li   t1, 8
    pmset 1
    bgeu a0, t1, 2f
    li   t2, 1
    sll  t2, t2, a0
    addi t2, t2, -1
    pmlow.wr 1, t2
    mv   t1, a0
2:  csrci svstate, 12
    csrsi svstate, 4            # PBANK = 1: lanes that have an element
    csrw svsrca, x0
    svon.one
    ld   x16, 0(a1)
    csrw svsrca, t0
    pmclr 2
    svon.blk 3
    slti x24, x16, 1
    xori x24, x24, 1
    pmmov.to_p0 2, x24          # bank 2 = above 0
    csrci svstate, 12
    csrsi svstate, 8            # PBANK = 2
    svon.one
    svcompress x16, x16
    pmpopcnt 2, t3
    li   t4, 1
    sll  t4, t4, t3
    addi t4, t4, -1
    pmlow.wr 3, t4              # bank 3 = the first t3 lanes
    csrsi svstate, 12           # PBANK = 3
    csrw svsrca, x0
    svon.one
    sd   x16, 0(a2)
    add  a5, a5, t3
    slli t4, t3, 3
    add  a2, a2, t4
    slli t4, t1, 3
    add  a1, a1, t4
    sub  a0, a0, t1
    j    1b
9:  la   t0, kept
    sd   a5, 0(t0)
    li   a0, 0
    li   a7, 93
    ecall

.data
n:      .dword 13
input:  .dword 5, -3, 0, 8, -1, 2, 7, -9, 4, 4, -2, 0, 11
        .space 216
kept:   .dword 0
output: .space 320
