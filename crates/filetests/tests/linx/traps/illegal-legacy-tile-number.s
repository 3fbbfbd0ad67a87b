# 0x027 in the numbering of v0.3.
#: machine: linx
#: run: --option tile-ops=v0.3
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: 0x027 is legacy, not canonical (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-legacy-tile-number.s:13:9
#|    |
#| 13 | here:   .word   0x8a139181
#|    |         ^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   .word   0x8a139181
        C.BSTOP
        C.BSTART.STD
        ebreak  0
