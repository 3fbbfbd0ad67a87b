# A branch behind the body.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| warning[linx::body]: the branch goes to 0x1002c, outside the body
#|   --> body-branch-behind.s:32:9
#|    |
#| 32 | here:   b.nz    behind
#|    |         ^^^^^^^^^^^^^^
#|    |
#|    = note: in the body of a kernel
#|
#| error[body-fetch]: E_BLOCK(EC_BFETCH): the target is outside the body (TRAPNO 0x4000000300000005, TRAPARG0 0x1002c, BI 1, TPC 0x10026)
#|   --> body-branch-behind.s:32:9
#|    |
#| 32 | here:   b.nz    behind
#|    |         ^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000300000005, TRAPNUM 5, CAUSE 0x300, TRAPARG0 0x1002c, BI 1, TPC 0x10026
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
here:   b.nz    behind
        C.BSTOP
behind: C.BSTOP
        .data
out:    .space 64
