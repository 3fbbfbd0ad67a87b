# A body without a terminator runs off the text.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| warning[linx::body]: the body has no terminator: it runs off the text
#|   --> fetch-body-runs-off.s:24:9
#|    |
#| 24 | body:   v.addi  zero.ud, 1, ->t.d
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^^
#|    |
#|    = note: in the body of a kernel
#|
#| error[instruction-page-fault]: E_DATA(INST_PAGE_FAULT): no code at 0x1001a (TRAPNO 0x4000000000000021, TRAPARG0 0x1001a, BI 1, TPC 0x1001a)
#|  |
#|  = note: TRAPNO 0x4000000000000021, TRAPNUM 33, CAUSE 0x0, TRAPARG0 0x1001a, BI 1, TPC 0x1001a
#|  = note: in group 0, lanes {}
#|  = note: p 0x1 (1 lanes on), lc0 from 0, lc1 0, lc2 0
_start: C.BSTART.STD
        BSTART.MSEQ 0
        B.TEXT  body
        C.B.DIMI 1, ->lb0
        C.BSTART.STD
        ebreak  0
body:   v.addi  zero.ud, 1, ->t.d
here:
