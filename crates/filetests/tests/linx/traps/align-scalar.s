# A misaligned scalar load, where the option asks for it.
#: machine: linx
#: run: --option align=on
#: fails 3:
#| error[data-align-fault]: DATA_ALIGN_FAULT: 0xf00fffa is not a multiple of 4 (TRAPNO 0x4000000000000022, TRAPARG0 0xf00fffa, BI 0, TPC 0x10002)
#|   --> align-scalar.s:13:9
#|    |
#| 13 | here:   lwi.u   [sp, -6], ->t
#|    |         ^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000000000022, TRAPNUM 34, CAUSE 0x0, TRAPARG0 0xf00fffa, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   lwi.u   [sp, -6], ->t
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
