# The extension's example of a ray against a box, as printed there, with a record of this machine's form.
_start:
    la   a0, ray
    RT.BBOX  imm=(1<<2) /*PACK_HINT*/, rs1=a0, rd=a1
    bep  nz, %skip_hit
    li   s0, 1
skip_hit:
    la   a0, result
    sd   a1, 0(a0)
    sd   s0, 8(a0)
    li   a7, 0
    ecall
.data
ray:    .float 0, 0, 0, 1, 0, 0, 0, 100
box:    .float 2, -1, -1, 4, 3, 1
.balign 8
result: .dword 0, 0
