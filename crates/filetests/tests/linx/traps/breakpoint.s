# EBREAK other than 0.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[breakpoint]: SW_BREAKPOINT: ebreak 3 (TRAPNO 0x0000000000000032, TRAPARG0 not valid, BI 0, TPC 0x10002)
#|   --> breakpoint.s:13:9
#|    |
#| 13 | here:   ebreak  3
#|    |         ^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x0000000000000032, TRAPNUM 50, CAUSE 0x0, TRAPARG0 not valid, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   ebreak  3
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
