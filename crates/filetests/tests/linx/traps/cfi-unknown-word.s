# A word that is not an instruction where a marker must stand.
#: machine: linx
#: run: --option check=on
#: fails 3:
#| error[cfi-missing-marker]: E_BLOCK(EC_CFI): a block start marker must stand at 0x10004 (TRAPNO 0x4000000103000005, TRAPARG0 0x10002, BI 0, TPC 0x10002)
#|   --> cfi-unknown-word.s:13:9
#|    |
#| 13 | here:   C.BSTOP
#|    |         ^^^^^^^ this instruction
#|    |
#|    = note: TRAPNO 0x4000000103000005, TRAPNUM 5, CAUSE 0x103, TRAPARG0 0x10002, BI 0, TPC 0x10002
_start: C.BSTART.STD
here:   C.BSTOP
        .word   0xfffffffd
