# The last instruction lacks half of its bytes.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[instruction-page-fault]: E_DATA(INST_PAGE_FAULT): no code at 0x10004 (TRAPNO 0x4000000000000021, TRAPARG0 0x10004, BI 0, TPC 0x10002)
#|   --> fetch-truncated.s:13:9
#|    |
#| 13 | here:   .half   0x027f
#|    |         ^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000021, TRAPNUM 33, CAUSE 0x0, TRAPARG0 0x10004, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   .half   0x027f
