# A body where nothing is mapped: told at the header, before any effect.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| warning[linx::body]: the body has no terminator: it runs off the text
#|   --> fetch-body-unmapped.s:21:9
#|    |
#| 21 |         B.TEXT  _start+0x8000
#|    |         ^^^^^^^^^^^^^^^^^^^^^ the body starts at this target
#|
#| error[instruction-page-fault]: E_DATA(INST_PAGE_FAULT): no code at 0x18000 (TRAPNO 0x4000000000000021, TRAPARG0 0x18000, BI 1, TPC 0x1000c)
#|   --> fetch-body-unmapped.s:23:9
#|    |
#| 23 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000021, TRAPNUM 33, CAUSE 0x0, TRAPARG0 0x18000, BI 1, TPC 0x1000c
#|    = note: in group 0, lanes {}
_start: C.BSTART.STD
        BSTART.MSEQ 0
        B.TEXT  _start+0x8000
        C.B.DIMI 1, ->lb0
here:   C.BSTOP
        C.BSTART.STD
        ebreak  0
