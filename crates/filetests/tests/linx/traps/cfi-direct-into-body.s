# A direct transfer into a body, whose first word is not a marker.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-bad-target]: E_BLOCK(EC_CFI): 0x10006 is not a block start marker (TRAPNO 0x4000000101000005, TRAPARG0 0x10000, BI 0, TPC 0x10000)
#|   --> cfi-direct-into-body.s:13:9
#|    |
#| 13 | here:   BSTART.STD DIRECT, body
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000101000005, TRAPNUM 5, CAUSE 0x101, TRAPARG0 0x10000, BI 0, TPC 0x10000
_start:
here:   BSTART.STD DIRECT, body
        C.BSTOP
body:   v.addi  zero.ud, 1, ->t.d
        C.BSTOP
