# A queue in memory where nothing is mapped.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[data-page-fault]: E_DATA(DATA_PAGE_FAULT): 4-byte load at 0x0 dereferences a null pointer (TRAPNO 0x4000000000000023, TRAPARG0 0x0, BI 1, TPC 0x10026)
#|   --> data-body-queue.s:25:9
#|    |
#| 25 | here:   v.qpop  zero.ud, ->vt.w
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000023, TRAPNUM 35, CAUSE 0x0, TRAPARG0 0x0, BI 1, TPC 0x10026
#|    = note: in group 0, lanes {0}
#|    = note: p 0xf (4 lanes on), lc0 from 0, lc1 0, lc2 0
#|    = help: the option `map` can make an address good and go on
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
here:   v.qpop  zero.ud, ->vt.w
        C.BSTOP
        .data
out:    .space 64
