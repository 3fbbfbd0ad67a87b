# Iterations (at most 64) of 16 x 8 points of the Mandelbrot set, four lanes at a time. All 32 floating-point registers are in use.
# cx f0, cy f4, zx f8, zy f12, zx^2 f16, zy^2 f20, temporary f24, 4.0 f28, iterations x16, temporary x20.
# In: xs (16), ys (8). Out: counts, 32 bits each, row by row.
_start:
    la   a3, ys
    la   a2, counts
    li   s0, 8                  # rows
    svsetvl x0, 4
    li   t2, 0x100
    csrw svdst, t2
1:  la   a1, xs
    li   s1, 4                  # groups of a row
2:  csrci svstate, 12           # PBANK = 0
    csrw svsrca, x0
    csrw svsrcb, x0
    flw  f4, 0(a3)
    li   t0, 0x40800000
    svon.blk 8
    flw  f0, 0(a1)
    fmv.s f4, f4
    fmv.w.x f8, x0
    fmv.w.x f12, x0
    fmv.w.x f16, x0
    fmv.w.x f20, x0
    fmv.w.x f28, t0
    addi x16, x0, 0
    csrw svsrca, t2
    csrw svsrcb, t2
    pmset 3
    csrsi svstate, 12           # PBANK = 3: lanes that have not escaped
    li   t1, 64
3:  svon.blk 5
    fmul.s f16, f8, f8
    fmul.s f20, f12, f12
    fadd.s f24, f16, f20
    fle.s x20, f24, f28
    pmmov.to_p0 3, x20
    bp.none 3, 4f
    svon.blk 6
    addi x16, x16, 1
    fmul.s f12, f8, f12
    fadd.s f12, f12, f12
    fadd.s f12, f12, f4
    fsub.s f8, f16, f20
    fadd.s f8, f8, f0
    addi t1, t1, -1
    bnez t1, 3b
4:  csrci svstate, 12
    csrw svsrca, x0
    svon.one
    sw   x16, 0(a2)
    addi a1, a1, 16
    addi a2, a2, 16
    addi s1, s1, -1
    bnez s1, 2b
    addi a3, a3, 4
    addi s0, s0, -1
    bnez s0, 1b
    li   a0, 0
    li   a7, 93
    ecall

.data
xs: .float -2.0, -1.8, -1.6, -1.4, -1.2, -1.0, -0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.8, 1.0
ys: .float -1.0, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.0
counts: .space 512
