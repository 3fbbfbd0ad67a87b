# The last instruction lacks half of its bytes.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: no instruction (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> fetch-truncated.s:13:9
#|    |
#| 13 | here:   .half   0x027f
#|    |         ^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   .half   0x027f
