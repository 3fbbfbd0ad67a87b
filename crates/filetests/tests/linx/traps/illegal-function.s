# A function of tile memory that is reserved.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: this block type or function is reserved (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-function.s:13:9
#|    |
#| 13 | here:   BSTART.TMA 7, FP32
#|    |         ^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   BSTART.TMA 7, FP32
        C.BSTOP
        C.BSTART.STD
        ebreak  0
