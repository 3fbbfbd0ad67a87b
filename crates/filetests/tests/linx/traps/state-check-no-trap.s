# ACRE where no trap was taken.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[exec-state-check]: EXEC_STATE_CHECK: no trap has been taken to return from (TRAPNO 0x0000000000000000, TRAPARG0 not valid, BI 0, TPC 0x10002)
#|   --> state-check-no-trap.s:13:9
#|    |
#| 13 | here:   acre    0
#|    |         ^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x0000000000000000, TRAPNUM 0, CAUSE 0x0, TRAPARG0 not valid, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   acre    0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
