# Length of a string with first-fault loads: eight bytes at a time, without reading beyond the end of memory.
# In: pointer. Out: length.
_start:
    ld   a0, pointer
    mv   a1, a0
    li   t0, 0x100
    csrw svsrcb, t0
    csrw svdst, t0
    csrsi svmscl, 16            # first-fault
    svsetvl x0, 8
1:  csrci svstate, 12           # PBANK = 0
    csrw svsrca, x0
    svon.one
    lbu  x16, 0(a0)             # bytes in x16..x23
    csrr t0, svfaulti           # how many lanes are valid
    li   t1, 1
    sll  t1, t1, t0
    addi t1, t1, -1
    pmlow.wr 1, t1
    pmclr 2
    csrsi svstate, 4            # PBANK = 1
    li   t1, 0x100
    csrw svsrca, t1
    svon.one
    sltiu x16, x16, 1
    svon.one
    pmmov.to_p0 2, x16          # bank 2 = zero bytes among the valid lanes
    bp.any 2, 2f
    add  a0, a0, t0
    j    1b
2:  pmlow.rd 2, t1
    ctz  t1, t1
    add  a0, a0, t1
    sub  a0, a0, a1
    la   t0, length
    sd   a0, 0(t0)
    li   a0, 0
    li   a7, 93
    ecall

.data
text:    .asciz "predicate-false lanes never fault"
.balign 8
pointer: .dword text
length:  .dword 0
