# Predicate flow alone: PRED_ONLY leaves the register, P0 selects and branches, for a ray that meets the box and one that misses it.
_start:
    li   a1, 77
    la   a0, meets
    rt.bbox a1, a0, 2
    pmmov.p0 s0
    psel s1, a1, zero
    la   a0, misses
    rt.bbox a1, a0, 2
    pmmov.p0 s2
    psel s3, a1, zero
    bp.f none
    li   s3, 99
none:
    la   a0, result
    sd   s0, 0(a0)
    sd   s1, 8(a0)
    sd   s2, 16(a0)
    sd   s3, 24(a0)
    li   a7, 0
    ecall
.data
meets:  .float 0, 0, 0, 1, 0, 0, 0, 100
        .float 2, -1, -1, 4, 3, 1
misses: .float 0, 9, 0, 1, 0, 0, 0, 100
        .float 2, -1, -1, 4, 3, 1
.balign 8
result: .dword 5, 5, 5, 5
