# An indirect transfer to an odd address.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-bad-target]: E_BLOCK(EC_CFI): 0x10005 is not a block start marker (TRAPNO 0x4000000101000005, TRAPARG0 0x1000a, BI 0, TPC 0x1000a)
#|   --> cfi-indirect-odd.s:15:9
#|    |
#| 15 | here:   BSTART.STD IND
#|    |         ^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000101000005, TRAPNUM 5, CAUSE 0x101, TRAPARG0 0x1000a, BI 0, TPC 0x1000a
_start: C.BSTART.STD
        addtpc  1, ->a1
        addi    a1, 1, ->a1
here:   BSTART.STD IND
        c.setc.tgt a1
        C.BSTART.STD
        ebreak  0
