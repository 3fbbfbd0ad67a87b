# First place of a pattern in a text, eight places at a time: bank 2 holds the places that match so far.
# In: text_length, pattern_length (at least 1), text, pattern. Out: found, or -1.
_start:
    ld   a0, text_length
    ld   a1, pattern_length
    li   a5, -1
    bltu a0, a1, 9f
    sub  a0, a0, a1
    addi a0, a0, 1              # places to try
    la   a2, text
    li   t2, 0x100
    csrw svdst, t2
    csrw svsrcb, x0
    svsetvl x0, 8
    csrsi svstate, 8            # PBANK = 2
1:  li   t1, 8
    minu t1, t1, a0
    li   t0, 1
    sll  t0, t0, t1
    addi t0, t0, -1
    pmlow.wr 2, t0
    la   a3, pattern
    mv   a4, a2
    mv   s0, a1
2:  lbu  t0, 0(a3)
    csrw svsrca, x0
    svon.one
    lbu  x16, 0(a4)
    csrw svsrca, t2
    svon.blk 3
    xor  x16, x16, t0
    sltiu x16, x16, 1
    pmmov.to_p0 2, x16          # still alive if this byte matches too
    bp.none 2, 3f
    addi a3, a3, 1
    addi a4, a4, 1
    addi s0, s0, -1
    bnez s0, 2b
    pmlow.rd 2, t0
    ctz  t0, t0
    la   a5, text
    sub  a5, a2, a5
    add  a5, a5, t0
    j    9f
3:  add  a2, a2, t1
    sub  a0, a0, t1
    bnez a0, 1b
9:  la   t0, found
    sd   a5, 0(t0)
    li   a0, 0
    li   a7, 93
    ecall

.data
text_length:    .dword 42
pattern_length: .dword 5
found:          .dword 0
pattern:        .ascii "lanes"
                .space 27
text:           .ascii "masked lane, masked lan, several lanes now"
                .space 214
