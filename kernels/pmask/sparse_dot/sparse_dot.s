# Dot product of a sparse and a dense vector of binary64: indices become addresses, and a load whose base steps gathers.
# In: n, index (32 bits), value, dense. Out: sum; lanes are added up in ascending order.
_start:
    ld   a0, n
    la   a1, index
    la   a2, value
    la   a3, dense
    li   t2, 0x100
    csrw svdst, t2
    svsetvl x0, 8
    csrw svsrca, x0
    svon.one
    fmv.d.x f16, x0             # partial sums in f16..f23
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
    svon.blk 2
    lwu  x16, 0(a1)
    fld  f0, 0(a2)
    csrw svsrca, t2
    csrw svsrcb, x0
    svon.blk 2
    slli x16, x16, 3
    add  x16, x16, a3           # the address of each lane's element
    csrw svsrcb, t2
    svon.blk 2
    fld  f8, 0(x16)             # gather
    fmadd.d f16, f0, f8, f16
    slli t0, t1, 2
    add  a1, a1, t0
    slli t0, t1, 3
    add  a2, a2, t0
    sub  a0, a0, t1
    j    1b
9:  fadd.d f16, f16, f17
    fadd.d f16, f16, f18
    fadd.d f16, f16, f19
    fadd.d f16, f16, f20
    fadd.d f16, f16, f21
    fadd.d f16, f16, f22
    fadd.d f16, f16, f23
    la   t0, sum
    fsd  f16, 0(t0)
    li   a0, 0
    li   a7, 93
    ecall

.data
n:     .dword 11
sum:   .dword 0
index: .word 3, 0, 15, 7, 7, 2, 9, 11, 1, 14, 5
       .space 84
value: .double 1.5, 2, -1, 0.25, 4, 3, -2, 0.5, 8, 1, 0.125
       .space 168
dense: .double 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
