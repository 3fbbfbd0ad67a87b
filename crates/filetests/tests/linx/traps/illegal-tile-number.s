# A number that is not a tile operation: TSHRS of v0.3.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: 0x04a is not a tile operation of v0.4: TSHRS of v0.3 (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-tile-number.s:13:9
#|    |
#| 13 | here:   .word   0x8a251181
#|    |         ^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   .word   0x8a251181
        C.BSTOP
        C.BSTART.STD
        ebreak  0
