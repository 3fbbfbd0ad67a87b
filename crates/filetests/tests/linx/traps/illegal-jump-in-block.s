# A body's jump in a scalar block.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: a body's branch in a scalar block (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-jump-in-block.s:13:9
#|    |
#| 13 | here:   j       .+4
#|    |         ^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   j       .+4
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
