# A word that is not an instruction.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: no instruction (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-unknown-word.s:13:9
#|    |
#| 13 | here:   .word   0xfffffffd
#|    |         ^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   .word   0xfffffffd
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
