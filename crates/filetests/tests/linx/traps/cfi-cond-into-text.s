# A conditional transfer that is taken, to an instruction inside a block.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-bad-target]: E_BLOCK(EC_CFI): 0x1000c is not a block start marker (TRAPNO 0x4000000101000005, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> cfi-cond-into-text.s:13:9
#|    |
#| 13 | here:   BSTART.STD COND, inside
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000101000005, TRAPNUM 5, CAUSE 0x101, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   BSTART.STD COND, inside
        setc.eq zero, zero
        C.BSTART.STD
inside: c.movi  0, ->a0
        ebreak  0
