# ASSERT of zero in a body.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[assert-fail]: ASSERT_FAIL: the asserted value is 0 (TRAPNO 0x0000000000000034, TRAPARG0 not valid, BI 1, TPC 0x10026)
#|   --> assert-in-body.s:24:9
#|    |
#| 24 | here:   assert  zero
#|    |         ^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x0000000000000034, TRAPNUM 52, CAUSE 0x0, TRAPARG0 not valid, BI 1, TPC 0x10026
#|    = note: in group 0, lanes {}
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
here:   assert  zero
        C.BSTOP
        .data
out:    .space 64
