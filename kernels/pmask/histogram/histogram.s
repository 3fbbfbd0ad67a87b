# How often each of the values 0 to 15 occurs among n bytes: one mask for each bin and eight elements, and its population count.
# In: n, input. Out: bins, 16 counts of 64 bits.
_start:
    ld   a0, n
    la   a1, input
    li   t2, 0x100
    csrw svdst, t2
    csrw svsrcb, x0
    svsetvl x0, 8
1:  beqz a0, 9f
    li   t1, 8
    pmset 1
    bgeu a0, t1, 2f
    li   t0, 1
    sll  t0, t0, a0
    addi t0, t0, -1
    pmlow.wr 1, t0
    mv   t1, a0
2:  csrsi svstate, 4            # PBANK = 1
    csrw svsrca, x0
    svon.one
    lbu  x16, 0(a1)
    csrw svsrca, t2
    li   t0, 0                  # bin
    la   a2, bins
3:  pmclr 2
    svon.blk 3
    xor  x24, x16, t0
    sltiu x24, x24, 1
    pmmov.to_p0 2, x24          # bank 2 = lanes of this bin
    pmpopcnt 2, a3
    ld   a4, 0(a2)
    add  a4, a4, a3
    sd   a4, 0(a2)
    addi a2, a2, 8
    addi t0, t0, 1
    li   a4, 16
    bltu t0, a4, 3b
    add  a1, a1, t1
    sub  a0, a0, t1
    j    1b
9:  li   a0, 0
    li   a7, 93
    ecall

.data
n:     .dword 21
bins:  .space 128
input: .byte 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 15
       .space 235
