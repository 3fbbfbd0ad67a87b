# A return whose address was never set.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-bad-target]: E_BLOCK(EC_CFI): 0x0 is not a block start marker (TRAPNO 0x4000000101000005, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> cfi-return-to-nothing.s:13:9
#|    |
#| 13 | here:   BSTART.STD RET
#|    |         ^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000101000005, TRAPNUM 5, CAUSE 0x101, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   BSTART.STD RET
        C.BSTOP
