# A scalar block that runs off the text.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[instruction-page-fault]: E_DATA(INST_PAGE_FAULT): no code at 0x10004 (TRAPNO 0x4000000000000021, TRAPARG0 0x10004, BI 0, TPC 0x10004)
#|  |
#|  = note: TRAPNO 0x4000000000000021, TRAPNUM 33, CAUSE 0x0, TRAPARG0 0x10004, BI 0, TPC 0x10004
_start: C.BSTART.STD
        c.movi  0, ->a0
here:
