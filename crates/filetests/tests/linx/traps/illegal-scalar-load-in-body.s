# Scalar memory is closed in bodies.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| warning[linx::body]: scalar memory and block state are closed in a body
#|   --> illegal-scalar-load-in-body.s:32:9
#|    |
#| 32 | here:   lwi     [a0, 0], ->t
#|    |         ^^^^^^^^^^^^^^^^^^^^
#|    |
#|    = note: in the body of a kernel
#|
#| error[illegal-instruction]: ILLEGAL_INST: scalar memory and block state are closed in a body (TRAPNO 0x4000000100000004, TRAPARG0 0x10026, BI 1, TPC 0x10026)
#|   --> illegal-scalar-load-in-body.s:32:9
#|    |
#| 32 | here:   lwi     [a0, 0], ->t
#|    |         ^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10026, BI 1, TPC 0x10026
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
here:   lwi     [a0, 0], ->t
        C.BSTOP
        .data
out:    .space 64
