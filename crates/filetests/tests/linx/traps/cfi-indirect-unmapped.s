# An indirect transfer to an address without code.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-bad-target]: E_BLOCK(EC_CFI): 0x700000 is not a block start marker (TRAPNO 0x4000000101000005, TRAPARG0 0x10008, BI 0, TPC 0x10008)
#|   --> cfi-indirect-unmapped.s:14:9
#|    |
#| 14 | here:   BSTART.STD IND
#|    |         ^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000101000005, TRAPNUM 5, CAUSE 0x101, TRAPARG0 0x10008, BI 0, TPC 0x10008
_start: C.BSTART.STD
        hl.liu  0x700000, ->a1
here:   BSTART.STD IND
        c.setc.tgt a1
        C.BSTOP
