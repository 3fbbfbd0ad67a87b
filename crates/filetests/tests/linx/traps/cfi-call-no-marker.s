# A call whose target is data.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-bad-target]: E_BLOCK(EC_CFI): 0x10008 is not a block start marker (TRAPNO 0x4000000101000005, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> cfi-call-no-marker.s:13:9
#|    |
#| 13 | here:   BSTART.STD CALL, nowhere
#|    |         ^^^^^^^^^^^^^^^^^^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000101000005, TRAPNUM 5, CAUSE 0x101, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   BSTART.STD CALL, nowhere
        C.BSTOP
nowhere: .word 0xffffffff
