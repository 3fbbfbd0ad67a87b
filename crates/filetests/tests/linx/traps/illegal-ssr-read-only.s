# A write to a read-only system register.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: this system register is read-only (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-ssr-read-only.s:13:9
#|    |
#| 13 | here:   ssrset  a0, LCFR
#|    |         ^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   ssrset  a0, LCFR
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
