# An access beyond a tile: EC_PARAM, the argument is the offset.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-parameter]: ILLEGAL_INST(EC_PARAM): offset 512 in a tile of 512 bytes (TRAPNO 0x4000000200000004, TRAPARG0 0x200, BI 1, TPC 0x1003a)
#|   --> illegal-parameter-tile-offset.s:29:9
#|    |
#| 29 | here:   v.lwi   [ta, lc0<<2, 504], ->vt.w
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000004, TRAPNUM 4, CAUSE 0x200, TRAPARG0 0x200, BI 1, TPC 0x1003a
#|    = note: in group 0, lanes {2-3}
#|    = note: p 0xf (4 lanes on), lc0 from 0, lc1 0, lc2 0
_start: C.BSTART.STD
        hl.liu  out, ->a0
        BSTART.TLOAD FP32
        B.ARG   NORM.normal
        B.IOR   [a0],[]
        B.IOTI  [], last ->u<512B>
        BSTART.VSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        B.IOTI  [u#1], last ->t<512B>
        C.B.DIMI 4, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 0, ->t.d
here:   v.lwi   [ta, lc0<<2, 504], ->vt.w
        C.BSTOP
        .data
out:    .space 512
