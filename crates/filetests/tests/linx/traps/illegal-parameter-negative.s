# An access before a tile.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-parameter]: ILLEGAL_INST(EC_PARAM): offset -4 in a tile of 512 bytes (TRAPNO 0x4000000200000004, TRAPARG0 0xfffffffffffffffc, BI 1, TPC 0x1002a)
#|   --> illegal-parameter-negative.s:25:9
#|    |
#| 25 | here:   v.swi   lc0.uw, [to, -4]
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000200000004, TRAPNUM 4, CAUSE 0x200, TRAPARG0 0xfffffffffffffffc, BI 1, TPC 0x1002a
#|    = note: in group 0, lanes {0-3}
#|    = note: p 0xf (4 lanes on), lc0 from 0, lc1 0, lc2 0
_start: C.BSTART.STD
        hl.liu  out, ->a0
        BSTART.VSEQ 0
        B.TEXT  body
        B.IOR   [a0],[]
        B.IOTI  [], last ->t<512B>
        C.B.DIMI 4, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  zero.ud, 0, ->t.d
here:   v.swi   lc0.uw, [to, -4]
        C.BSTOP
        .data
out:    .space 64
