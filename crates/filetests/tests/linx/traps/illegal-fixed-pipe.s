# The fixed pipe, which has no operation.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: this block type or function is reserved (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-fixed-pipe.s:13:9
#|    |
#| 13 | here:   BSTART.FIXP 0, FP32
#|    |         ^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   BSTART.FIXP 0, FP32
        C.BSTOP
        C.BSTART.STD
        ebreak  0
