# A misaligned atomic traps always.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[data-align-fault]: DATA_ALIGN_FAULT: 0x100001 is not a multiple of 4 (TRAPNO 0x4000000000000022, TRAPARG0 0x100001, BI 1, TPC 0x1002e)
#|   --> align-atomic.s:25:9
#|    |
#| 25 | here:   v.sw.add [vu#1], lc0.uw
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000022, TRAPNUM 34, CAUSE 0x0, TRAPARG0 0x100001, BI 1, TPC 0x1002e
#|    = note: in group 0, lanes {1-3}
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
        v.add   ri0.ud, lc0.ud, ->vu.d
here:   v.sw.add [vu#1], lc0.uw
        C.BSTOP
        .data
out:    .space 64
