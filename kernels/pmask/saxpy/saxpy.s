# y = a * x + y over n binary32 numbers, eight lanes at a time; the last lanes are masked by bank 1.
# In: n (64 bits), a, x, y. Out: y.
_start:
    ld   a0, n
    la   a1, x
    la   a2, y
    la   t0, a
    flw  f16, 0(t0)             # a, the same for all lanes
    csrw svsrca, x0             # rs1: broadcast; as a base address, consecutive elements
    li   t0, 0x100              # step +1
    csrw svsrcb, t0
    csrw svdst, t0
    svsetvl x0, 8
    pmset 1
1:  li   t1, 8
    bgeu a0, t1, 2f
    beqz a0, 9f
    li   t2, 1                  # tail mask (1 << n) - 1
    sll  t2, t2, a0
    addi t2, t2, -1
    pmlow.wr 1, t2
    mv   t1, a0
2:  csrsi svstate, 4            # PBANK = 1
    svon.blk 4
    flw  f0, 0(a1)
    flw  f8, 0(a2)
    fmadd.s f8, f16, f0, f8
    fsw  f8, 0(a2)
    addi a1, a1, 32
    addi a2, a2, 32
    sub  a0, a0, t1
    bnez a0, 1b
9:  li   a0, 0
    li   a7, 93
    ecall

.data
n:  .dword 23
a:  .float 2.5
x:  .float 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23
    .space 164
y:  .float 0.5, -1, 0.25, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1
    .space 164
