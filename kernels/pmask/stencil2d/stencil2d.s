# Five-point sum of a w x h grid of 32-bit integers; border points are copied. Bank 2 has the columns of the grid, bank 1 those
# inside the border: masked lanes never touch the memory beside a row.
# In: w, h (at least 1), grid. Out: result.
_start:
    ld   s0, w
    ld   s1, h
    la   a0, grid
    la   a1, result
    li   t2, 0x100
    csrw svsrcb, t2
    csrw svdst, t2
    svsetvl x0, 8
    li   a5, 0                  # row
1:  li   a4, 0                  # column of lane 0
2:  sub  t0, s0, a4             # columns left
    li   t1, 8
    minu t1, t1, t0
    li   a3, 1
    sll  a3, a3, t1
    addi a3, a3, -1
    pmlow.wr 2, a3
    csrci svstate, 12
    csrsi svstate, 8            # PBANK = 2
    csrw svsrca, x0
    svon.one
    lw   x16, 0(a0)
    beqz a5, 3f                 # first row
    addi t1, s1, -1
    beq  a5, t1, 3f             # last row
    pmlow.wr 1, a3
    bnez a4, 4f
    li   a2, 1
    pmandn 1, a2                # first column
4:  addi t0, t0, -1             # last column is lane t0
    li   a2, 8
    bgeu t0, a2, 5f
    li   a2, 1
    sll  a2, a2, t0
    pmandn 1, a2
5:  csrci svstate, 12
    csrsi svstate, 4            # PBANK = 1
    slli a3, s0, 2
    sub  a2, a0, a3             # the row above
    add  a3, a0, a3             # the row below
    csrw svsrca, x0
    svon.one
    lw   x24, -4(a0)
    csrw svsrca, t2
    svon.one
    add  x16, x16, x24
    csrw svsrca, x0
    svon.one
    lw   x24, 4(a0)
    csrw svsrca, t2
    svon.one
    add  x16, x16, x24
    csrw svsrca, x0
    svon.one
    lw   x24, 0(a2)
    csrw svsrca, t2
    svon.one
    add  x16, x16, x24
    csrw svsrca, x0
    svon.one
    lw   x24, 0(a3)
    csrw svsrca, t2
    svon.one
    add  x16, x16, x24
    csrci svstate, 12
    csrsi svstate, 8            # PBANK = 2
    csrw svsrca, x0
3:  svon.one
    sw   x16, 0(a1)
    sub  t0, s0, a4
    li   t1, 8
    minu t1, t1, t0
    slli t0, t1, 2
    add  a0, a0, t0
    add  a1, a1, t0
    add  a4, a4, t1
    bltu a4, s0, 2b
    addi a5, a5, 1
    bltu a5, s1, 1b
    li   a0, 0
    li   a7, 93
    ecall

.data
w:  .dword 11
h:  .dword 5
grid:
    .word 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    .word 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22
    .word -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11
    .word 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1
    .word 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89
    .space 804
result: .space 1024
