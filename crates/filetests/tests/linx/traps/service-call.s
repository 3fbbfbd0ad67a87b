# ACRC without a handler.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[service-call]: SCALL: acrc 1 (TRAPNO 0x0000000000000006, TRAPARG0 not valid, BI 0, TPC 0x10002)
#|   --> service-call.s:13:9
#|    |
#| 13 | here:   acrc    1
#|    |         ^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x0000000000000006, TRAPNUM 6, CAUSE 0x0, TRAPARG0 not valid, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   acrc    1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
