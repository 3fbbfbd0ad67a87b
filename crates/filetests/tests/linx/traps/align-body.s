# A misaligned lane, where the option asks for it.
#: machine: linx
#: run: --option align=on
#: fails 3:
#| error[data-align-fault]: DATA_ALIGN_FAULT: 0x100002 is not a multiple of 4 (TRAPNO 0x4000000000000022, TRAPARG0 0x100002, BI 1, TPC 0x10026)
#|   --> align-body.s:24:9
#|    |
#| 24 | here:   v.lwi.u.brg [ri0, lc0<<2, 2], ->vt.w
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000022, TRAPNUM 34, CAUSE 0x0, TRAPARG0 0x100002, BI 1, TPC 0x10026
#|    = note: in group 0, lanes {0-3}
#|    = note: p 0xf (4 lanes on), lc0 from 0, lc1 0, lc2 0
_start: C.BSTART.STD
        hl.liu  out, ->a0
        BSTART.MSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        C.B.DIMI 4, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 0, ->t.d
here:   v.lwi.u.brg [ri0, lc0<<2, 2], ->vt.w
        C.BSTOP
        .data
out:    .space 64
