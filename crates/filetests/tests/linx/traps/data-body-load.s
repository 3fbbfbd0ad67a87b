# Lanes that load beyond a buffer; the first lane at fault gives the address.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[data-page-fault]: E_DATA(DATA_PAGE_FAULT): 4-byte load at 0x40100000 is not in any allocation; it is 823066624 bytes past the end of "stack" (65536 bytes at 0xf000000) (TRAPNO 0x4000000000000023, TRAPARG0 0x40100000, BI 1, TPC 0x10026)
#|   --> data-body-load.s:25:9
#|    |
#| 25 | here:   v.lw.brg [ri0, lc0.ud<<30], ->vt.w
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000023, TRAPNUM 35, CAUSE 0x0, TRAPARG0 0x40100000, BI 1, TPC 0x10026
#|    = note: in group 0, lanes {1-3}
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
here:   v.lw.brg [ri0, lc0.ud<<30], ->vt.w
        C.BSTOP
        .data
out:    .space 64
