# A program as upstream writes it: ELF directives, operands without types, store indices without shifts, a fused call, bare queues.
#: machine: linx
#: run: --arg out=u32[8] --arg sum=f32[8]:ones
#: warp-size: 1, 4, 64
#: expect: out[0, 8] = [5, 6, 7, 8, 9, 10, 11, 12]
#: expect: sum[0, 8] = [2, 2, 2, 2, 2, 2, 2, 2]
        .file   "upstream.c"
        .param  out
        .param  sum
        .text
        .globl  _start
        .weak   helper
        .p2align 2, 0x0
        .type   _start,@function
_start: C.BSTART.STD
        BSTART CALL, helper, ra=.Lback
.Lback: BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0, a1, a2],[]
        C.B.DIMI 8, ->lb0
        C.BSTART
        c.movi  0, ->a0
        ebreak  0
        .size   _start, .-_start
        .section .text.helper,"ax",@progbits
helper: C.BSTART.STD RET
        c.movi  5, ->t
        addi    t, 0, ->a2
        c.setc.tgt ra
        C.BSTOP
body:   v.add   lc0, ri2, ->vt
        v.sw.brg vt#1, [ri0, lc0<<2, zero]
        v.lw.brg [ri1, lc0<<2, zero], ->vu
        v.fadd  vu#1, vu#1, ->vu
        v.sw.brg vu#1, [ri1, lc0<<2, zero]
        C.BSTOP
        .section ".note.GNU-stack","",@progbits
        .addrsig
        .addrsig_sym helper
