# A form that encodes only.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[illegal-instruction]: ILLEGAL_INST: queues of the manager are not specified (TRAPNO 0x4000000100000004, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> illegal-encodes-only.s:13:9
#|    |
#| 13 | here:   hl.qpop a0, ->a0, a1
#|    |         ^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000100000004, TRAPNUM 4, CAUSE 0x100, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   hl.qpop a0, ->a0, a1
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
